"""The commands and options of holdfastctl, read from its two tables in src/ctl."""
import re

from common import read

TABLE, OPTIONS = "src/ctl/table.c", "src/ctl/options.c"


class Command:
    def __init__(self, row, ways):
        def text(field):
            m = re.search(rf'\.{field} = "([^"]*)"', row)
            return m[1] if m else None
        self.noun, self.verb, self.arguments, self.help = text("noun"), text("verb"), text("arguments"), text("help")
        self.own = set(re.findall(r"OPT\((\w+)\)", row))
        self.ways = set(re.findall(r"ON_\w+", row))
        self.options = self.own.union(*(ways.get(w, set()) for w in self.ways))
        self.name = f"{self.noun} {self.verb}" if self.verb else self.noun


def options():
    """{OPTION_ID: (name, kind of value or None)}"""
    found = re.findall(r'^    (\w+)\((\w+), \w+, "([a-z-]+)"', read(OPTIONS), re.M)
    kinds = {"FLAG": None, "NODE_FLAG": None, "EVERYWHERE": None}
    return {key: (name, kinds.get(macro, macro)) for macro, key, name in found}


def commands():
    """All rows, with the names of the options that each takes."""
    text = read(TABLE)
    ways = {"ON_SOCKET": "SOCKET_OPTIONS", "ON_WSS": "WSS_OPTIONS"}
    ways = {way: set(re.findall(r"OPT\((\w+)\)", re.search(rf"#define {name}((?:.*\\\n)*.*)", text)[1])) for way, name in ways.items()}
    rows = text.partition("COMMANDS[] = {\n")[2].partition("\n};")[0]
    table, found = options(), []
    everywhere = set(re.findall(r"^    EVERYWHERE\((\w+),", read(OPTIONS), re.M))
    for row in re.split(r"^    (?=\{\.noun = \")", rows, flags=re.M)[1:]:
        command = Command(row.partition("{.noun = NULL}")[0], ways)
        command.options = {table[key][0] for key in command.options | everywhere}
        found.append(command)
    return found


def nouns():
    return re.findall(r'^    \{"([a-z]+)", "', read(TABLE).partition("COMMANDS[] = {")[0], re.M)
