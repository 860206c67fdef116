// holdfastctl as its users and their scripts meet it: one JSON document from every command, exit codes by kind of failure,
// help, options that are refused, contexts, logins, questions, completions, tables.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Cluster, program as programOf, root, until } from "./lib.mjs";

const program = programOf("ctl", "holdfastctl");
const hasProgram = (name, ...args) => spawnSync(name, args).error === undefined;
const hasJq = hasProgram("jq", "--version");
const canScript = hasProgram("script", "--version");
const EXIT = { done: 0, failed: 1, usage: 2, noLeader: 3, notFound: 4, exists: 5, unreachable: 6, refused: 7, denied: 8, timeout: 9 };

let cluster, home, socket, logins;

/** Without what the caller's environment says of queues. */
function environment(more = {}) {
  const env = { PATH: process.env.PATH, HOME: home, ...more };
  if (process.env.ASAN_OPTIONS) env.ASAN_OPTIONS = process.env.ASAN_OPTIONS;
  return env;
}
function ctl(args, { env = {}, input = "" } = {}) {
  const r = spawnSync(program, args, { encoding: "utf8", timeout: 60000, input, env: environment(env), cwd: cluster?.dir });
  assert.equal(r.error, undefined, `${args.join(" ")}: ${r.error}`);
  return r;
}
async function ctlAsync(args) {
  const child = spawn(program, args, { env: environment(), stdio: ["ignore", "pipe", "pipe"] });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (d) => { stdout += d; });
  child.stderr.on("data", (d) => { stderr += d; });
  return new Promise((done) => child.on("close", (status) => done({ status, stdout, stderr })));
}
const wss = () => ["--url", cluster.info.url, "--ca", cluster.info.ca, "--login-file", logins];
const node = () => ["--socket", socket];

/** Standard output as its one document; a failure says what and how. */
function document(r, what) {
  let value;
  assert.doesNotThrow(() => { value = JSON.parse(r.stdout); }, `${what}: no one document: '${r.stdout}' (${r.stderr})`);
  assert.equal(typeof value, "object", what);
  if (hasJq) {
    const jq = spawnSync("jq", ["-s", "-e", "length == 1"], { input: r.stdout, encoding: "utf8" });
    assert.equal(jq.status, 0, `${what}: jq does not read one document`);
  }
  if (r.status !== 0 && value.good === undefined) {
    assert.equal(typeof value.error, "string", `${what}: no error in ${r.stdout}`);
    assert.notEqual(value.error, "", what);
    assert.equal(value.exit, r.status, what);
  }
  return value;
}
const words = (c) => (c.verb ? [c.noun, c.verb] : [c.noun]);
const name = (c) => words(c).join(" ");
const table = () => JSON.parse(ctl(["help", "--json"]).stdout).commands;
const anyArguments = (c) => {
  const required = c.arguments.replace(/\[[^\]]*\]+/g, "").trim();
  return required === "" ? [] : required.split(" ").map((w) => ({ "NAME=VALUE...": "a=1", "HOST:PORT": "127.0.0.1:1", ROLE: "admin", DATE: "2026-11-30" })[w] ?? "9");
};

before(async () => {
  home = mkdtempSync(join(tmpdir(), "holdfast-ctl-"));
  cluster = await Cluster.up({ nodes: 1 });
  socket = cluster.info.nodes[0].socket;
  logins = join(home, "logins.json");
  writeFileSync(logins, JSON.stringify(cluster.info.logins), { mode: 0o600 });
}, { timeout: 60000 });
after(() => {
  cluster?.down();
  rmSync(home, { recursive: true, force: true });
});

test("every command has help with all its options, as text and as a document", () => {
  for (const c of table()) {
    const r = ctl([...words(c), "--help"]);
    assert.equal(r.status, 0, name(c));
    assert.ok(r.stdout.startsWith(`usage: holdfastctl ${name(c)}`), r.stdout);
    for (const option of c.options) assert.match(r.stdout, new RegExp(`^  --${option}\\b`, "m"), name(c));
    const d = document(ctl([...words(c), "--help", "--json"]), name(c));
    assert.deepEqual(d.commands[0], c);
    assert.equal(ctl(["help", ...words(c)]).stdout, r.stdout);
  }
});

test("a noun alone is explained by help, and needs a verb else", () => {
  for (const noun of new Set(table().filter((c) => c.verb).map((c) => c.noun))) {
    const help = ctl(["help", noun]);
    assert.equal(help.status, 0);
    for (const c of table().filter((d) => d.noun === noun && d.verb)) assert.match(help.stdout, new RegExp(`^  ${name(c)}\\b`, "m"));
    if (!table().some((c) => c.noun === noun && !c.verb)) {
      assert.equal(ctl([noun, "help"]).stdout, help.stdout);
      assert.equal(ctl([noun]).status, EXIT.usage);
    }
  }
});

/** {option: a value that it takes, or null for a flag}, from the help of all commands. */
function optionValues(commands) {
  const values = {};
  for (const c of commands)
    for (const [, option, value] of ctl([...words(c), "--help"]).stdout.matchAll(/^  --([a-z-]+)(?: (\S+))? *(?: {2}|\n)/gm))
      values[option] = value === undefined ? null : value.includes("|") ? value.split("|")[0] : "1";
  return values;
}

test("an option that a command does not take is refused by name", () => {
  const commands = table();
  const values = optionValues(commands);
  const all = Object.keys(values);
  let turn = 0;
  for (const c of commands) {
    const refused = all.filter((option) => !c.options.includes(option));
    for (const option of [refused[turn % refused.length], refused[(turn * 7 + 3) % refused.length]]) {
      const given = values[option] === null ? `--${option}` : `--${option}=${values[option]}`;
      const r = ctl([...words(c), ...anyArguments(c), given, "--json"]);
      assert.equal(r.status, EXIT.usage, `${name(c)} ${given}: ${r.stdout}`);
      assert.equal(document(r, name(c)).error, `${name(c)} does not take --${option}`);
    }
    turn++;
  }
});

test("what is no command, no option or too much is one document too", () => {
  for (const [args, error] of [
    [[], /a command is wanted/], [["nonsense"], /no command 'nonsense'/], [["queue", "nonsense"], /no command 'queue nonsense'/], [["queue"], /wants a verb/],
    [["queue", "list", "more"], /usage: holdfastctl queue list/], [["queue", "show"], /usage: holdfastctl queue show NAME/], [["--nonsense"], /no option --nonsense/],
    [["queue", "list", "--timeout", "0"], /--timeout takes a whole number from 1 to 86400/], [["queue", "create", "a", "--tier", "gold"], /--tier takes standard\|dev/],
    [["help", "nonsense"], /no command 'nonsense'/], [["completion", "csh"], /usage: holdfastctl completion/], [["cfg", "set", "a", ...wss()], /no NAME=VALUE/],
    [["queue", "show", "\xff".repeat(3), "--socket"], /--socket needs a value/], [["stats", "day", "yesterday", ...wss()], /no day/],
  ]) {
    const r = ctl(["--json", ...args]);
    assert.equal(r.status, EXIT.usage, args.join(" "));
    assert.match(document(r, args.join(" ")).error, error);
    assert.match(r.stderr, /^holdfastctl: /);
  }
});

test("every command that finds nobody fails with one document", () => {
  const nowhere = join(home, "nowhere");
  for (const c of table().filter((d) => d.noun !== "help" && d.noun !== "context")) {
    const given = [...words(c), ...anyArguments(c), "--json"];
    if (c.options.includes("yes")) given.push("--yes");
    if (c.options.includes("config")) given.push("--config", nowhere);
    const ways = [];
    if (c.socket) ways.push(["--socket", nowhere]);
    if (c.wss) ways.push(["--url", "wss://127.0.0.1:1/", "--login-file", logins, "--timeout", "5"]);
    if (c.machine && !c.socket) ways.push([]);
    for (const way of ways) {
      const r = ctl([...given, ...way], { env: { HOME: home } });
      if (c.machine) document(r, name(c));
      else {
        assert.ok([EXIT.unreachable, EXIT.usage, EXIT.failed].includes(r.status), `${name(c)} ${way}: ${r.status} ${r.stderr}`);
        document(r, name(c));
      }
      if (!c.machine && c.wss && way[0] === "--url") assert.equal(r.status === EXIT.usage || r.status === EXIT.unreachable, true, r.stderr);
    }
  }
}, { timeout: 120000 });

/** Every command against a queue or node, once: what to give it, and the exit code when it is not 0. */
function calls() {
  const id = ctl(["pub", "one", ...wss()]).stdout.trim();
  const dead = ctl(["pub", "two", ...wss()]).stdout.trim();
  return [
    ["cluster status"], ["cluster leader"], ["cluster digest"], ["cluster members"], ["cluster level"],
    ["queue create", ["second", "--tier", "dev"]], ["queue list"], ["queue show", ["demo"]],
    ["msg list", ["--count", "10"]], ["msg get", [id]], ["msg add", ["three"]], ["dlq move", [dead]], ["dlq list"], ["dlq get", [dead]], ["dlq delete", [dead, "--yes"]],
    ["msg delete", [id, "--yes"]], ["cfg get"], ["cfg set", ["stats-frequency-secs=300"]], ["stats live"], ["stats day", ["--average"]], ["usage day", ["--totals"]],
    ["context set", ["json", ...wss()]], ["context list"], ["context use", ["json"]], ["context show"], ["context delete", ["json", "--yes"]],
    ["bench", ["--yes", "--count", "20", "--publishers", "1", "--subscribers", "1", "--seconds", "5"]], ["help"],
    ["data check", [join(cluster.dir, "node1", "data")], EXIT.exists], ["data repair", [join(cluster.dir, "node1", "data"), "--yes"], EXIT.exists],
    ["data init", ["--config", join(cluster.dir, "node1", "holdfast.conf")], EXIT.exists],
    ["msg history", [id, "--queue", "demo"], EXIT.notFound], ["msg purge", ["--queue", "demo", "--dry-run"]], ["dlq redrive", ["--all", "--queue", "demo", "--dry-run"]],
    ["dlq purge", ["--queue", "demo", "--yes"]], ["session list", ["--queue", "demo"]], ["session end", ["77", "--queue", "demo", "--yes"], EXIT.notFound],
    ["login list", ["--queue", "demo"]], ["login rotate", ["subscriber", "--queue", "second", "--yes"]], ["queue delete", ["second", "--yes"]],
    ["backup", [join(home, "backup"), "--yes"]], ["backup verify", [join(home, "backup")]], ["restore", [join(home, "backup"), "--config", join(home, "none")], EXIT.notFound],
    ["cert ca", [join(home, "ca")]], ["cert show", [cluster.info.ca]],
    ["cluster step-down", [], EXIT.refused], ["cluster remove", ["9", "--yes"], undefined], ["cluster add", ["1"], undefined],
    ["cluster recover", ["--config", join(home, "none"), "--yes"], EXIT.notFound], ["cluster join", ["--config", join(home, "none")], EXIT.notFound],
    ["top", ["--count", "1"]], ["pub", ["four"]], ["sub", ["--count", "1"]],
  ];
}
/** Tested where what they need is there; here only that they fail with one document. */
const elsewhere = ["cluster replace", "cluster invite", "cert node", "cert client-tls"];

test("every command prints one document with --json", () => {
  const commands = table();
  const called = [];
  for (const [which, args = [], ...status] of calls()) {
    const c = commands.find((d) => name(d) === which);
    assert.ok(c, `${which}: no such command`);
    const way = c.noun === "context" ? [] : c.socket ? node() : c.wss ? wss() : [];
    const r = ctl([...words(c), ...args, ...way, "--json"]);
    if (status.length === 0 || status[0] !== undefined) assert.equal(r.status, status[0] ?? 0, `${which}: ${r.stdout} ${r.stderr}`);
    document(r, which);
    called.push(which);
  }
  assert.deepEqual(commands.map(name).filter((c) => !called.includes(c) && !elsewhere.includes(c)), [], "commands without a call here");
});

test("what works over the control socket and over wss does the same", () => {
  const publish = (body) => ctl(["pub", body, ...wss()]).stdout.trim();
  const ways = [[...node(), "--queue", "demo"], wss()];
  const json = (...args) => document(ctl([...args, "--json"]), args.join(" "));
  ctl(["msg", "purge", "--yes", ...wss()]);
  for (const way of ways) {
    const ids = [publish("a"), publish("b"), publish("c")];
    for (const id of ids) assert.equal(ctl(["dlq", "move", id, ...wss()]).status, 0);
    assert.equal(json("dlq", "redrive", "--all", "--dry-run", ...way).redriven, 3);
    assert.equal(json("dlq", "redrive", ids[0], ...way).redriven, 1);
    assert.equal(json("dlq", "redrive", "--count", "1", ...way).redriven, 1);
    assert.equal(ctl(["dlq", "redrive", ids[0], ...way]).status, EXIT.notFound);
    assert.equal(ctl(["dlq", "redrive", ids[2], "--all", ...way]).status, EXIT.usage);
    assert.equal(ctl(["dlq", "redrive", ...way]).status, EXIT.usage);
    const history = json("msg", "history", ids[0], ...way);
    assert.deepEqual(history.events.map((e) => [e.event, e.reason]), [["received", undefined], ["dead", "moved"], ["redriven", undefined]]);
    assert.match(ctl(["msg", "history", ids[0], ...way]).stdout, /waiting, deliveries 0\n\S+Z +received\n\S+Z +dead \(moved\)\n\S+Z +redriven/);
    assert.equal(json("dlq", "purge", "--filter", "reason=nack", "--yes", ...way).purged, 0);
    assert.equal(ctl(["dlq", "purge", "--filter", "nonsense=1", "--yes", ...way]).status, EXIT.usage);
    assert.equal(json("dlq", "purge", "--filter", "reason=moved", "--yes", ...way).purged, 1);
    assert.equal(json("msg", "purge", "--dry-run", ...way).purged, 2);
    assert.equal(ctl(["msg", "purge", ...way]).status, EXIT.usage); // nobody can be asked
    assert.equal(json("msg", "purge", "--yes", ...way).purged, 2);
  }
  assert.equal(ctl(["msg", "purge", "--queue", "demo", "--yes", ...wss()]).status, EXIT.usage);
});

test("a message that standard output does not take is not acknowledged", () => {
  ctl(["msg", "purge", "--all", "--yes", ...node()]); // whatever is there
  assert.equal(ctl(["pub", "kept", ...wss()]).status, 0);
  const full = spawnSync("sh", ["-c", 'exec "$0" "$@" >/dev/full', program, "sub", "--count", "1", ...wss()], { encoding: "utf8", timeout: 60000, env: environment() });
  assert.equal(full.status, EXIT.failed);
  assert.match(full.stderr, /not acknowledged/);
  assert.equal(ctl(["sub", "--count", "1", ...wss()]).stdout, "kept\n");
});

test("commands that go on print a document a line", () => {
  const lines = (r) => r.stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
  const pub = ctl(["pub", "-", "--json", ...wss()], { input: "a\nb\n" });
  assert.equal(pub.status, 0, pub.stderr);
  assert.equal(lines(pub).length, 2);
  for (const line of lines(pub)) assert.equal(line.status, "Success.");
  assert.equal(lines(ctl(["sub", "--count", "2", "--json", ...wss()])).length, 2);
  ctl(["msg", "purge", "--all", "--yes", ...node()]); // whatever else is there
  ctl(["pub", "-", ...wss()], { input: "1\n2\n3\n4\n5\n6\n7\n8\n" });
  const bodies = (r) => lines(r).map((m) => m.body).join("");
  assert.equal(bodies(ctl(["sub", "--count", "3", "--json", ...wss()])), "123", "no more than asked for, though more come");
  // The last acknowledgement makes room for one, which goes back; no other is disturbed.
  assert.match(bodies(ctl(["sub", "--count", "5", "--json", ...wss()])), /^(45678|56784)$/);
  const none = ctl(["sub", "--count", "1", "--timeout", "1", "--json", ...wss()]);
  assert.equal(none.status, EXIT.timeout);
  document(none, "sub");
  assert.equal(ctl(["sub", "--no-ack", "--count", "300", ...wss()]).status, EXIT.usage);
  const top = ctl(["top", "--count", "2", "--json", ...node()]);
  assert.equal(top.status, 0, top.stderr);
  assert.deepEqual(lines(top).map((d) => d.status.node), [1, 1]);
  assert.equal(lines(top)[1].queues.queues[0].queue, "demo");
  assert.match(ctl(["top", "--count", "2", ...node()]).stdout, /in\/s[^]*demo +\d+ +\d+ +\d+ +- [^]*demo +\d+ +\d+ +\d+ +0 /);
});

/** A control socket that answers with one exit code, or with nothing. */
async function fakeNode(code) {
  const path = join(home, `fake${code}.sock`);
  const server = net.createServer((c) => {
    c.on("error", () => {});
    c.on("data", () => { if (code !== null) c.write(`${JSON.stringify({ exit: code, json: { error: "said", exit: code }, text: "said" })}\n`); });
  });
  await new Promise((done) => server.listen(path, done));
  return { path, close: () => server.close() };
}

test("each kind of failure has its exit code", async () => {
  for (const code of [1, 3, 5]) {
    const fake = await fakeNode(code);
    const r = await ctlAsync(["queue", "list", "--json", "--socket", fake.path]);
    assert.equal(r.status, code);
    assert.equal(document(r, "queue list").error, "said");
    fake.close();
  }
  const silent = await fakeNode(null);
  const mute = net.createServer((c) => c.once("data", () => c.destroy())); // as a node that knows no leader
  await new Promise((done) => mute.listen(0, "127.0.0.1", done));
  const wrong = join(home, "wrong.json");
  const login = { username: cluster.info.logins.admin.username, password: "wrong" };
  writeFileSync(wrong, JSON.stringify({ admin: login, publisher: login, subscriber: login }));
  for (const [code, args] of [
    [EXIT.done, ["queue", "list", ...node()]],
    [EXIT.usage, ["queue", "delete", "demo", ...node()]],
    [EXIT.notFound, ["queue", "show", "nowhere", ...node()]],
    [EXIT.notFound, ["msg", "get", "01a1c09f-62da-7000-a30b-0817c9a42e3f", ...wss()]],
    [EXIT.notFound, ["cfg", "get", "no-such-setting", ...wss()]],
    [EXIT.notFound, ["data", "check", home]],
    ...["data init --config", "cluster join --config", "cluster recover --yes --config", "cert show", "backup verify", "data check"].map((c) => [EXIT.notFound, [...c.split(" "), join(home, "nowhere")]]),
    [EXIT.notFound, ["restore", program, "--config", join(home, "nowhere")]],
    [EXIT.notFound, ["cert", "node", "9", "--ca-cert", join(home, "nowhere"), "--ca-key", join(home, "nowhere"), "--out", home]],
    [EXIT.usage, ["cert", "client-tls", "--ca-cert", cluster.info.ca, "--ca-key", cluster.info.ca, "--out", join(home, "certs"), "--dns", "no,DNS:*"]],
    [EXIT.notFound, ["stats", "live", ...wss(), "--ca", join(home, "nowhere")]],
    [EXIT.failed, ["stats", "live", ...wss(), "--ca", logins]],
    [EXIT.failed, ["stats", "live", ...wss(), "--login-file", cluster.info.ca]],
    [EXIT.notFound, ["stats", "live", ...wss(), "--login-file", join(home, "nowhere")]],
    [EXIT.notFound, ["stats", "live", "--context", "nowhere"]],
    ...["ws://localhost/", "localhost:443", "wss://localhost:x/", "wss://"].map((url) => [EXIT.usage, ["stats", "live", ...wss(), "--url", url]]),
    ...[["msg", "get"], ["msg", "delete", "--yes"], ["msg", "history"], ["dlq", "get"], ["dlq", "move"], ["dlq", "delete", "--yes"], ["dlq", "redrive"], ["msg", "list", "--after"], ["dlq", "list", "--before"]]
      .map((c) => [EXIT.usage, [...c, "zz", ...wss()]]),
    [EXIT.usage, ["dlq", "redrive", "zz", ...node()]],
    [EXIT.usage, ["msg", "history", "zz", ...node()]],
    [EXIT.usage, ["top", "--count", "0", ...node()]],
    [EXIT.usage, ["dlq", "list", "--count", "0", ...wss()]],
    [EXIT.notFound, ["cfg", "set", "no-such-setting=1", ...wss()]],
    [EXIT.notFound, ["cfg", "set", "stats-frequency-secs=300", "no-such-setting=1", ...wss()]],
    [EXIT.notFound, ["cluster", "step-down", "--to", "9", ...node()]],
    [EXIT.refused, ["cluster", "level", "1", ...node()]],
    [EXIT.refused, ["cluster", "level", "99", ...node()]],
    [EXIT.noLeader, ["stats", "live", ...wss(), "--url", `wss://127.0.0.1:${mute.address().port}/`]],
    [EXIT.exists, ["queue", "create", "demo", ...node()]],
    [EXIT.unreachable, ["queue", "list", "--socket", join(home, "none.sock")]],
    [EXIT.unreachable, ["stats", "live", "--url", "wss://127.0.0.1:1/", "--login-file", logins]],
    [EXIT.unreachable, ["stats", "live", "--url", cluster.info.url, "--login-file", logins]], // a CA that is not known
    [EXIT.refused, ["cfg", "set", "stats-frequency-secs=1", ...wss()]],
    [EXIT.denied, ["stats", "live", "--url", cluster.info.url, "--ca", cluster.info.ca, "--login-file", wrong]],
    [EXIT.denied, ["pub", "x", "--url", cluster.info.url, "--ca", cluster.info.ca, "--login-file", wrong]],
    [EXIT.timeout, ["queue", "list", "--timeout", "1", "--socket", silent.path]],
  ]) {
    const r = await ctlAsync([...args, "--json"]);
    assert.equal(r.status, code, `${args.join(" ")}: ${r.stderr}`);
    document(r, args.join(" "));
  }
  silent.close();
  mute.close();
});

test("a file that may not be read is no right, wherever it is given", () => {
  const file = join(home, "closed");
  writeFileSync(file, "x", { mode: 0o000 });
  const isRoot = process.getuid() === 0; // who may read all: another one, to whom the folder is closed
  for (const args of [["cert", "show", file], ["data", "init", "--config", file], ["backup", "verify", file], ["restore", program, "--config", file],
    ["stats", "live", "--url", cluster.info.url, "--login-file", file]]) {
    const r = spawnSync(program, args, { encoding: "utf8", timeout: 60000, cwd: "/", env: environment({ HOME: "/" }), ...(isRoot ? { uid: 65534, gid: 65534 } : {}) });
    assert.equal(r.status, EXIT.denied, `${args.join(" ")}: ${r.stderr}`);
  }
});

test("a failure says what it was about and what helps", () => {
  const error = (...args) => document(ctl([...args, "--json"]), args.join(" ")).error;
  assert.match(error("stats", "live", "--url", cluster.info.url, "--login-file", logins), /pass --ca FILE/);
  assert.match(error("stats", "live", "--context", "nowhere"), /there is no context 'nowhere'/);
  assert.match(error("stats", "live", ...wss(), "--login-file", cluster.info.ca), /ca\.pem: is no JSON object/);
  assert.match(error("cluster", "level", "1", ...node()), /the level is \d+, and never goes down/);
  const config = join(home, "bad.conf");
  writeFileSync(config, "node-id = 1\nnode-name = x\n");
  for (const args of [["restore", program], ["data", "init"], ["cluster", "join"]])
    assert.match(error(...args, "--config", config), /bad\.conf:2: unknown key 'node-name'/);
});

test("a new node that is not reached is named with its address", () => {
  const r = ctl(["cluster", "replace", "1", "9", "127.0.0.1:9", "--yes", "--timeout", "1", "--json", ...node()]);
  assert.equal(r.status, EXIT.timeout);
  assert.match(document(r, "cluster replace").error, /node 9 is not reached at 127\.0\.0\.1:9 .*cluster-listen.*give this command again/);
  assert.match(ctl(["cluster", "members", ...node()]).stdout, / 9 +stand-by +NO +- +127\.0\.0\.1:9\n/);
  assert.equal(ctl(["cluster", "remove", "9", "--yes", ...node()]).status, 0);
});

test("a body that the queue does not take is said to be too long", () => {
  for (const size of [70000, 3000000]) {
    const r = ctl(["pub", "-", "--json", ...wss()], { input: "x".repeat(size) });
    assert.equal(r.status, EXIT.refused, r.stderr);
    assert.match(document(r, "pub").error, /code 1009.*too long.*max-ws-msg-len/);
  }
  const add = ctl(["msg", "add", "x".repeat(70000), "--json", ...wss()]);
  assert.equal(add.status, EXIT.refused);
  assert.match(document(add, "msg add").error, /too long/);
});

const sessions = () => JSON.parse(ctl(["session", "list", "--json", ...node()]).stdout).sessions;

test("sub leaves no session behind, however it ends", async () => {
  ctl(["msg", "purge", "--all", "--yes", ...node()]);
  ctl(["pub", "-", ...wss()], { input: "1\n2\n3\n" });
  assert.equal(ctl(["sub", "--count", "9", "--timeout", "1", ...wss()]).status, EXIT.timeout);
  assert.deepEqual(sessions(), []);
  const child = spawn(program, ["sub", "--no-ack", ...wss()], { env: environment(), stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((done) => child.on("close", done));
  ctl(["pub", "held", ...wss()]);
  await until(() => sessions().some((x) => x.state === "connected" && x.held === 1));
  child.kill("SIGINT");
  assert.equal(await ended, 0);
  assert.deepEqual(sessions(), []);
  assert.equal(ctl(["sub", "--count", "1", ...wss()]).stdout, "held\n");
});

test("bench leaves a queue in use alone unless told otherwise", async () => {
  const bench = (...more) => ctl(["bench", "--publishers", "1", "--subscribers", "1", "--count", "5", "--json", ...wss(), ...more]);
  ctl(["msg", "purge", "--all", "--yes", ...node()]);
  assert.equal(bench().status, 0);
  ctl(["pub", "precious", ...wss()]);
  const refused = bench();
  assert.equal(refused.status, EXIT.usage);
  assert.match(document(refused, "bench").error, /messages 1, subscribers 0.*--yes/);
  assert.equal(bench("--subscribers", "0").status, 0); // it consumes nothing
  assert.equal(ctl(["sub", "--count", "1", ...wss()]).stdout, "precious\n");
  ctl(["msg", "purge", "--all", "--yes", ...node()]);
  const one = join(home, "subscriber.json");
  writeFileSync(one, JSON.stringify({ publisher: cluster.info.logins.publisher, subscriber: cluster.info.logins.subscriber }));
  assert.equal(bench("--login-file", one).status, EXIT.usage); // it cannot look
  assert.equal(bench("--login-file", one, "--yes").status, 0);
  const other = await cluster.subscriber(1);
  assert.match(document(bench(), "bench").error, /subscribers 1/);
  other.send({ logout: true });
  await other.closed;
});

test("what login rotate printed is a login file, and a context keeps its other logins", () => {
  assert.equal(ctl(["queue", "create", "third", "--tier", "dev", ...node()]).status, 0);
  const rotated = ctl(["login", "rotate", "publisher", "--queue", "demo", "--yes", "--json", ...node()]);
  const file = join(home, "rotated.json");
  writeFileSync(file, rotated.stdout, { mode: 0o600 });
  const there = ["--url", cluster.info.url, "--ca", cluster.info.ca];
  assert.equal(ctl(["pub", "x", ...there, "--login-file", file]).status, 0);
  assert.equal(ctl(["stats", "live", ...there, "--login-file", file]).status, EXIT.usage);
  assert.equal(ctl(["context", "set", "two", ...wss()]).status, 0);
  assert.equal(ctl(["pub", "x", "--context", "two"]).status, EXIT.denied);
  const set = document(ctl(["context", "set", "two", "--login-file", file, "--json"]), "context set");
  assert.deepEqual(set.logins, ["publisher", "subscriber", "admin"]);
  assert.equal(ctl(["pub", "x", "--context", "two"]).status, 0);
  assert.equal(ctl(["stats", "live", "--context", "two"]).status, 0);
  assert.match(ctl(["context", "delete", "two", "--yes"]).stdout, /^context two is deleted\n$/);
  cluster.info.logins.publisher.password = JSON.parse(rotated.stdout).password;
  writeFileSync(logins, JSON.stringify(cluster.info.logins), { mode: 0o600 });
  assert.equal(ctl(["queue", "delete", "third", "--yes", ...node()]).status, 0);
});

test("what was made is said, as text and as a document", () => {
  const make = (folder, id) => {
    const conf = readFileSync(join(cluster.dir, "node1", "holdfast.conf"), "utf8").replaceAll(join(cluster.dir, "node1"), join(home, folder)).replace(/^node-id = 1$/m, `node-id = ${id}`);
    mkdirSync(join(home, folder));
    writeFileSync(join(home, `${folder}.conf`), conf);
    return ["--config", join(home, `${folder}.conf`)];
  };
  assert.match(ctl(["data", "init", ...make("made1", 1)]).stdout, /^node 1: \S*made1\S* is made, for a new cluster\n$/);
  const made = document(ctl(["data", "init", ...make("made2", 1), "--json"]), "data init");
  assert.deepEqual([made.node, made.made], [1, "a new cluster"]);
  assert.match(ctl(["cluster", "join", ...make("made3", 2)]).stdout, /^node 2: \S*made3\S* is made, for a cluster that takes it in\n$/);
});

test("tables have heads, and times for people", () => {
  ctl(["msg", "purge", "--all", "--yes", ...node()]);
  ctl(["pub", "x", "--delay", "5400", ...wss()]);
  const list = ctl(["msg", "list", ...wss()]).stdout.trimEnd().split("\n");
  assert.match(list[0], /^id +bytes +delay +dur +type +received \(UTC\)$/);
  assert.match(list[1], / 1h(30m|29m) .* \d\d-\d\d \d\d:\d\d:\d\d$/);
  for (const line of list) assert.ok(line.length <= 80, line);
  const [message] = JSON.parse(ctl(["msg", "list", "--json", ...wss()]).stdout).messages;
  assert.ok(message.delay > 5000 && message.recdat > 1e9, "raw in the document");
  const got = ctl(["msg", "get", message.id, ...wss()]).stdout;
  assert.match(got, /^recdat +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/m);
  assert.match(got, /^delay +1h(30m|29m\d*s?)/m);
  assert.match(ctl(["login", "list", ...node()]).stdout, /^queue +role +username +connections\n/);
  assert.match(ctl(["cluster", "members", ...node()]).stdout, /^node +role +reached +lag +address\n +1 +leader +yes/);
  const folder = join(home, "shown");
  assert.match(ctl(["cert", "ca", folder, "--days", "7"]).stdout, /CN=Holdfast CA shown\n[^]* [67] days left\n/); // whole ones: a second later 6
});

test("a login comes from the environment, and never from an argument", () => {
  const { admin, publisher } = cluster.info.logins;
  const env = { HOLDFAST_URL: cluster.info.url, HOLDFAST_CA: cluster.info.ca, HOLDFAST_USERNAME: admin.username, HOLDFAST_PASSWORD: admin.password };
  assert.equal(ctl(["stats", "live"], { env }).status, 0);
  assert.equal(ctl(["pub", "x"], { env }).status, EXIT.denied);
  assert.equal(ctl(["pub", "x"], { env: { ...env, HOLDFAST_USERNAME: publisher.username, HOLDFAST_PASSWORD: publisher.password } }).status, 0);
  // A file goes before the environment, and without any there is nobody to ask.
  assert.equal(ctl(["pub", "x", "--login-file", logins], { env }).status, 0);
  const none = ctl(["stats", "live", "--json"], { env: { ...env, HOLDFAST_USERNAME: "" } });
  assert.equal(none.status, EXIT.usage);
  assert.match(document(none, "stats live").error, /HOLDFAST_USERNAME/);
  assert.match(ctl(["stats", "live"]).stderr, /where is the queue/);
  for (const c of table()) assert.ok(!c.options.some((option) => /pass/.test(option)), name(c));
});

test("contexts keep address and logins where only their owner reads them", () => {
  const file = join(home, ".config", "holdfast", "contexts", "one.json");
  assert.equal(ctl(["context", "set", "one"]).status, EXIT.usage);
  const set = ctl(["context", "set", "one", ...wss(), "--json"]);
  assert.equal(set.status, 0, set.stderr);
  assert.deepEqual(document(set, "context set").logins, ["publisher", "subscriber", "admin"]);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.equal(statSync(join(home, ".config", "holdfast")).mode & 0o777, 0o700);
  for (const args of [["list"], ["show", "one"], ["list", "--json"], ["show", "one", "--json"]])
    for (const { password } of Object.values(cluster.info.logins)) assert.ok(!ctl(["context", ...args]).stdout.includes(password));
  assert.equal(ctl(["stats", "live"]).status, EXIT.usage); // none is in use
  assert.equal(ctl(["stats", "live", "--context", "one"]).status, 0);
  assert.equal(ctl(["context", "use", "one"]).status, 0);
  assert.equal(ctl(["stats", "live"]).status, 0);
  assert.equal(ctl(["pub", "x"]).status, 0);
  // What works here too must say which queue it means.
  const which = ctl(["dlq", "purge", "--yes", "--json"]);
  assert.equal(which.status, EXIT.usage);
  assert.match(document(which, "dlq purge").error, /--socket PATH, --url or --context/);
  assert.equal(ctl(["dlq", "purge", "--yes", "--context", "one"]).status, 0);
  assert.equal(ctl(["dlq", "purge", "--yes", ...node()]).status, 0);
  // Another address gets no password of it.
  assert.equal(ctl(["stats", "live", "--url", cluster.info.url, "--ca", cluster.info.ca]).status, EXIT.usage);
  assert.equal(ctl(["stats", "live"], { env: { HOLDFAST_URL: cluster.info.url, HOLDFAST_CA: cluster.info.ca } }).status, EXIT.usage);
  // Changed in part: the logins stay.
  assert.equal(ctl(["context", "set", "one", "--url", "wss://127.0.0.1:1/"]).status, 0);
  assert.equal(ctl(["stats", "live"]).status, EXIT.unreachable);
  assert.equal(ctl(["context", "set", "one", "--url", cluster.info.url]).status, 0);
  assert.equal(ctl(["stats", "live"]).status, 0);
  for (const mode of [0o640, 0o604, 0o620]) {
    chmodSync(file, mode);
    const r = ctl(["stats", "live", "--json"]);
    assert.equal(r.status, EXIT.denied);
    assert.match(document(r, "stats live").error, /one\.json: others may read/);
  }
  chmodSync(file, 0o600);
  writeFileSync(file, "{\"url\":7}");
  assert.equal(ctl(["stats", "live"]).status, EXIT.failed);
  assert.equal(ctl(["context", "delete", "one"]).status, EXIT.usage); // nobody can be asked
  assert.equal(ctl(["context", "delete", "one", "--yes"]).status, 0);
  assert.equal(ctl(["context", "show", "one"]).status, EXIT.notFound);
  assert.equal(ctl(["context", "show"]).status, EXIT.notFound);
  for (const bad of ["../one", ".one", "", "a/b", "a".repeat(65)]) assert.equal(ctl(["context", "show", bad]).status, EXIT.usage, bad);
});

/** Runs a line on a terminal of some width, with keys typed when the output has what is waited for. */
async function onTerminal(args, columns, steps, env = {}) {
  const line = `stty cols ${columns} rows 20; exec "$CTL" "$@"`;
  const quoted = args.map((a) => `'${a}'`).join(" ");
  const child = spawn("script", ["-qec", `sh -c '${line}' sh ${quoted.replaceAll("'", "\"")}`, "/dev/null"], { env: environment({ CTL: program, TERM: "xterm", SHELL: "/bin/sh", ...env }) });
  let out = "";
  child.stdout.on("data", (d) => { out += d; });
  const ended = new Promise((done) => child.on("close", done));
  for (const [wanted, keys] of steps) {
    await until(() => out.includes(wanted), 15000).catch(() => assert.fail(`'${wanted}' does not come: ${out}`));
    child.stdin.write(keys);
  }
  const status = await ended;
  return { status, out };
}

test("a terminal is asked before something is destroyed", { skip: !canScript }, async () => {
  assert.equal(ctl(["queue", "create", "doomed", ...node()]).status, 0);
  const no = await onTerminal(["queue", "delete", "doomed", ...node()], 100, [["[y/N]", "n\n"]]);
  assert.equal(no.status, EXIT.usage);
  assert.equal(ctl(["queue", "show", "doomed", ...node()]).status, 0);
  const yes = await onTerminal(["queue", "delete", "doomed", ...node()], 100, [["Delete the queue doomed with all its messages? [y/N]", "y\n"]]);
  assert.equal(yes.status, 0, yes.out);
  assert.equal(ctl(["queue", "show", "doomed", ...node()]).status, EXIT.notFound);
});

test("a purge asks about the queue and the number of messages", { skip: !canScript }, async () => {
  ctl(["msg", "purge", "--all", "--yes", ...node()]);
  ctl(["dlq", "purge", "--yes", ...node()]);
  const ids = ["a", "b", "c"].map((body) => ctl(["pub", body, ...wss()]).stdout.trim());
  ctl(["dlq", "move", ids[2], ...wss()]);
  const no = async (args, question) => {
    const r = await onTerminal(args, 100, [[`${question} [y/N]`, "n\n"]]);
    assert.equal(r.status, EXIT.usage, r.out);
  };
  await no(["msg", "purge", ...node()], "Delete 2 waiting messages of the queue demo?");
  await no(["msg", "purge", "--count", "1", ...node()], "Delete 1 waiting message of the queue demo?");
  await no(["dlq", "purge", ...node()], "Delete 1 dead letter of the queue demo?");
  await no(["dlq", "purge", "--filter", "reason=nack", ...wss()], `Delete 0 dead letters of the queue at ${cluster.info.url}?`);
  const yes = await onTerminal(["msg", "purge", ...wss()], 100, [["Delete 2 waiting messages", "y\n"]]);
  assert.equal(yes.status, 0, yes.out);
  assert.match(yes.out, /purged: 2 messages/);
  const wrong = await onTerminal(["dlq", "purge", "--queue", "nowhere", ...node()], 100, []);
  assert.equal(wrong.status, EXIT.notFound, wrong.out);
});

test("a password is asked for without showing it", { skip: !canScript }, async () => {
  const { username, password } = cluster.info.logins.admin;
  const r = await onTerminal(["stats", "live", "--url", cluster.info.url, "--ca", cluster.info.ca], 100, [["Username: ", `${username}\n`], ["Password: ", `${password}\n`]]);
  assert.equal(r.status, 0, r.out);
  assert.match(r.out, /dead_letter +\d/);
  assert.ok(r.out.includes(username) && !r.out.includes(password));
});

test("tables are cut to the terminal, and are whole in a file", { skip: !canScript }, async () => {
  const long = "a-queue-whose-name-is-long-enough-to-be-cut-somewhere";
  assert.equal(ctl(["queue", "create", long, ...node()]).status, 0);
  assert.ok(ctl(["queue", "list", ...node()]).stdout.includes(long));
  const r = await onTerminal(["queue", "list", ...node()], 90, []);
  assert.equal(r.status, 0);
  const lines = r.out.trimEnd().split(/\r?\n/);
  for (const line of lines) assert.ok([...line].length <= 90, `'${line}' has ${[...line].length} columns`);
  assert.match(r.out, /a-queue-whose-\S*… /);
  assert.equal(ctl(["queue", "delete", long, "--yes", ...node()]).status, 0);
});

test("top is a live view that q ends, and puts the terminal back", { skip: !canScript }, async () => {
  const r = await onTerminal(["top", ...node()], 80, [["demo", ""], ["\x1b[J\x1b[H", "q"]]);
  assert.equal(r.status, 0, r.out);
  assert.ok(r.out.startsWith("\x1b[?1049h") && r.out.trimEnd().endsWith("\x1b[?1049l"), JSON.stringify(r.out.slice(-80)));
  assert.match(r.out, /node 1 \(leader\), leader 1/);
});

test("rolling says why a node does not answer, and what is wrong with its line", () => {
  const rolling = (...args) => spawnSync(join(root, "deploy", "rolling"), args, { encoding: "utf8", timeout: 60000, env: environment() });
  for (const args of [[], ["--nonsense"], ["--via"], ["--wait", "soon", "a"]]) {
    const r = rolling(...args);
    assert.equal(r.status, EXIT.usage, args.join(" "));
    assert.match(r.stderr, /--help/);
  }
  const silent = rolling("--via", "sh -c", "--ctl", `${program} --socket ${join(home, "nobody.sock")}`, "--dry-run", "a");
  assert.equal(silent.status, 1);
  assert.match(silent.stderr, /a does not answer: .*nobody\.sock: No such file or directory \(exit 6\): nothing was done/);
  const good = rolling("--via", "sh -c", "--ctl", `${program} --socket ${socket}`, "--dry-run", "a");
  assert.equal(good.stdout, "order: a\n", good.stderr);
});

test("the completions are those of the table, and complete", () => {
  const folder = join(root, "deploy", "completion");
  for (const [shell, file] of [["bash", "holdfastctl"], ["zsh", "_holdfastctl"], ["fish", "holdfastctl.fish"]])
    assert.equal(ctl(["completion", shell]).stdout, readFileSync(join(folder, file), "utf8"), `${file}: tests/style/deploy --write brings it up to date`);
  const complete = (line) => spawnSync("bash", ["-c", `source "$1"; read -ra COMP_WORDS <<<"$2"; [[ $2 == *" " ]] && COMP_WORDS+=("")
    COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _holdfastctl; printf '%s\\n' "\${COMPREPLY[@]}"`, "_", join(folder, "holdfastctl"), line], { encoding: "utf8" }).stdout.trim().split("\n");
  assert.deepEqual(complete("holdfastctl qu"), ["queue"]);
  assert.deepEqual(complete("holdfastctl --socket /x --json queue del"), ["delete"]);
  assert.deepEqual(complete("holdfastctl queue create x --tier "), ["standard", "dev"]);
  assert.deepEqual(complete("holdfastctl context set x --"), table().find((c) => name(c) === "context set").options.map((o) => `--${o}`));
  if (hasProgram("fish", "--version")) {
    const fish = (line) => spawnSync("fish", ["--no-config", "-c", `source ${join(folder, "holdfastctl.fish")}; complete -C '${line}'`], { encoding: "utf8" }).stdout;
    assert.match(fish("holdfastctl --socket /x queue cr"), /^create\t/);
    assert.doesNotMatch(fish("holdfastctl queue list --"), /--tier/);
  }
});

test("the path of a run that writes stays as it was when the disk says no", () => {
  const blocked = join(home, "blocked");
  mkdirSync(blocked);
  writeFileSync(join(blocked, "holdfast"), "a file where a folder should be");
  const r = ctl(["context", "set", "x", ...wss(), "--json"], { env: { XDG_CONFIG_HOME: blocked } });
  assert.notEqual(r.status, 0);
  document(r, "context set");
  assert.ok(existsSync(join(blocked, "holdfast")));
});
