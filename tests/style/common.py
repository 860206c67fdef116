"""What the style checks share: the project's files, its exceptions, and how a check ends.

Exceptions are in the file `exceptions`, one a line: KIND WHAT  # reason. A reason is required, and an
exception that nothing needs any more is an error: limits tighten, never loosen.

For shell scripts: `common.py [FOLDER...]` prints the files, each ended by a zero byte.
"""
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
os.chdir(ROOT)


def files(*folders, ends=()):
    """Files that are in the repository or would be, under the given folders."""
    if os.path.exists(".git"):
        git = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z", "--", *folders],
                             stdout=subprocess.PIPE, check=True)
        names = git.stdout.decode().split("\0")
    else:  # an unpacked release
        names = [os.path.join(d, f) for top in folders or ["."] for d, _, fs in os.walk(top) for f in fs
                 if "/build" not in d and "node_modules" not in d]
        names = [n.removeprefix("./") for n in names]
    return sorted({n for n in names if n and os.path.isfile(n) and (not ends or n.endswith(tuple(ends)))})


def read(name):
    with open(name, encoding="utf-8", errors="replace") as f:
        return f.read()


def code_only(text):
    """C source with comments and the insides of strings blanked out; line numbers stay."""
    out, i, n = [], 0, len(text)
    while i < n:
        two = text[i:i + 2]
        if two == "//":
            end = text.find("\n", i)
            i = n if end < 0 else end
        elif two == "/*":
            end = text.find("*/", i + 2)
            end = n if end < 0 else end + 2
            out.append("\n" * text.count("\n", i, end) or " ")
            i = end
        elif text[i] in "\"'":
            quote, start = text[i], i
            i += 1
            while i < n and text[i] != quote and text[i] != "\n":
                i += 2 if text[i] == "\\" else 1
            i += 1
            out.append(quote * 2 if i - start > 1 else quote)
        else:
            out.append(text[i])
            i += 1
    return "".join(out)


class Check:
    def __init__(self, *kinds):
        self.errors, self.exceptions, self.used = [], {}, set()
        path = os.path.join("tests", "style", "exceptions")
        for number, line in enumerate(read(path).splitlines(), 1):
            entry, _, reason = line.partition("#")
            words = entry.split()
            if not words:
                continue
            if not reason.strip():
                self.errors.append(f"{path}:{number}: an exception needs its reason")
            if words[0] in kinds:
                self.exceptions[(words[0], " ".join(words[1:]))] = f"{path}:{number}"

    def excused(self, kind, what):
        key = (kind, what)
        if key in self.exceptions:
            self.used.add(key)
            return True
        return False

    def error(self, text):
        self.errors.append(text)

    def end(self, looked_at, unbuilt=()):
        """Prints and exits. Exceptions of the kinds in unbuilt were not looked for: nothing was built."""
        for key, where in self.exceptions.items():
            if key not in self.used and key[0] not in unbuilt:
                self.errors.append(f"{where}: nothing needs this exception any more: take it out")
        for text in self.errors:
            print(text)
        print(f"looked at {looked_at}; {len(self.errors)} to mend")
        sys.exit(1 if self.errors else 0)


if __name__ == "__main__":
    sys.stdout.write("".join(f"{name}\0" for name in files(*sys.argv[1:])))
