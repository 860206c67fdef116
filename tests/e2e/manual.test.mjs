// The manual's own words, run: its quick start frame by frame, and its six programs. manual/ has them as the
// manual prints them; only the placeholders are filled in here, and one import where Python's package is old.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { Client, Cluster, root, until } from "./lib.mjs";

const here = join(root, "tests", "e2e");
const original = (name) => readFileSync(join(here, "manual", name), "utf8");
const ADDRESS = "wss://QUEUE-ID.q.CLUSTER.thequeueexpert.com/";
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const HELLO = { "publisher.mjs": "Hello from Node.js", "publisher.py": "Hello from Python" };

let cluster;
let admin;
let folder; // the filled-in programs, beside a node_modules with ws
before(async () => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-manual-"));
  symlinkSync(join(here, "node_modules"), join(folder, "node_modules"));
  cluster = await Cluster.up({ nodes: 3 });
  admin = await cluster.admin();
}, { timeout: 120000 });
after(() => {
  admin?.drop();
  cluster?.down();
  rmSync(folder, { recursive: true, force: true });
});

const running = new Set();
afterEach(async () => {
  for (const program of running) await program.kill();
  for (const [list, remove] of [["getmsgs", "delmsg"], ["getdlqmsgs", "deldlqmsg"]]) {
    const { csv } = await admin.ask({ cmd: list, after: "", count: 1600 });
    for (const row of csv.split("\n").filter(Boolean)) await admin.ask({ cmd: remove, id: row.split(",")[0] });
  }
});

/** How many messages the queue has, dead letters too. */
async function count() {
  const { csv } = await admin.ask({ cmd: "getlivestats" });
  return Number(csv.split(",")[0]);
}

/** The manual's placeholders, replaced; every placeholder that is there must be known. */
function fillIn(text, { address = cluster.info.nodes[0].url, logins = cluster.info.logins } = {}) {
  let filled = text.replaceAll(ADDRESS, address);
  for (const [role, login] of Object.entries(logins)) {
    filled = filled.replaceAll(`"${role.toUpperCase()}-NAME"`, JSON.stringify(login.username));
    filled = filled.replaceAll(`"${role.toUpperCase()}-PASSWORD"`, JSON.stringify(login.password));
  }
  assert.doesNotMatch(filled, /[A-Z]+-(NAME|PASSWORD|ID\.)/);
  return filled;
}

/** A python3 that has the package websockets (HOLDFAST_PYTHON, or the first on PATH), and whether that is an old one. */
function findPython() {
  const named = process.env.HOLDFAST_PYTHON;
  const all = named ? [named] : process.env.PATH.split(delimiter).map((dir) => join(dir, "python3"));
  const has = (python, module) => spawnSync(python, ["-c", `import ${module}`], { stdio: "ignore" }).status === 0;
  const path = all.find((python) => existsSync(python) && has(python, "websockets"));
  assert.ok(path, `${named ?? "no python3 on PATH"}: the package websockets is needed; deploy/install-deps installs it`);
  return { path, isOld: !has(path, "websockets.asyncio.client") };
}

const NEW_IMPORT = "from websockets.asyncio.client import connect\n";
let python;

/** Starts one of the six. out grows; ended gives the exit code. */
function start(name, options) {
  let text = fillIn(original(name), options);
  let command = process.execPath;
  if (name.endsWith(".py")) {
    python ??= findPython();
    command = python.path;
    assert.ok(text.includes(NEW_IMPORT));
    if (python.isOld) text = text.replace(NEW_IMPORT, "from websockets.client import connect\n");
  }
  const file = join(folder, name);
  writeFileSync(file, text);
  const { NODE_OPTIONS, NODE_TEST_CONTEXT, NODE_EXTRA_CA_CERTS, SSL_CERT_FILE, ...env } = process.env;
  if (options?.trust !== false) Object.assign(env, { NODE_EXTRA_CA_CERTS: cluster.info.ca, SSL_CERT_FILE: cluster.info.ca });
  const child = spawn(command, [file], { env, stdio: ["ignore", "pipe", "pipe"] });
  const program = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (text) => { program.out += text; });
  child.stderr.setEncoding("utf8").on("data", (text) => { program.err += text; });
  program.ended = new Promise((done, fail) => {
    child.on("error", fail);
    child.on("close", (code) => { program.code = code; running.delete(program); done(code); });
  });
  program.kill = () => { child.kill("SIGKILL"); return program.ended; };
  running.add(program);
  return program;
}

/** What one of the programs that end by themselves printed. */
async function run(name, options) {
  const program = start(name, options);
  await until(() => program.code !== undefined, 60000);
  assert.deepEqual([program.code, program.err], [0, ""]);
  return program.out;
}

test("the quick start, frame by frame", async () => {
  const terminals = { S: [], P: [] };
  const clients = {};
  for (const who of ["S", "P"]) {
    clients[who] = await Client.open(cluster.info.nodes[0].url, cluster.ca);
    clients[who].socket.on("message", (data) => terminals[who].push(String(data)));
  }
  const ours = new Map(); // the manual's ids: ours
  let messageId;
  for (const line of original("quickstart.txt").split("\n").filter((line) => line && !line.startsWith("#"))) {
    const [, who, direction, frame] = line.match(/^([SP])([<>]) (.*)$/);
    if (direction === ">") {
      clients[who].send(fillIn(frame).replace("MESSAGE-ID", messageId));
      continue;
    }
    const got = await until(() => terminals[who].shift());
    for (const [i, id] of (frame.match(UUID) ?? []).entries()) {
      if (!ours.has(id)) ours.set(id, got.match(UUID)?.[i]);
    }
    const { recdat, id } = JSON.parse(got);
    assert.equal(got, frame.replace(UUID, (theirs) => ours.get(theirs)).replace(/"recdat":\d+/, `"recdat":${recdat}`));
    if (recdat !== undefined) {
      assert.ok(Math.abs(recdat - Date.now() / 1000) < 60, `received at ${recdat}`);
      messageId = id;
    }
  }
  assert.equal(new Set(ours.values()).size, 2, "a session's id and a message's");
  assert.equal(await clients.S.closed, 1000);
  clients.P.drop();
  assert.deepEqual([...terminals.S, ...terminals.P], []);
  assert.equal(await count(), 0);
});

for (const name of ["publisher.mjs", "publisher.py"]) {
  test(`${name} publishes and shows the id`, async () => {
    const out = await run(name, { address: cluster.info.nodes[1].url });
    const [, id] = out.match(/^Published\. The message id is (\S+)\n$/) ?? assert.fail(`printed ${JSON.stringify(out)}`);
    const shown = await admin.ask({ cmd: "getmsg", id });
    assert.deepEqual([shown.msg?.body, shown.msg?.type, shown.durability, shown.delay], [HELLO[name], 1, 1, 0]);
    const subscriber = await cluster.subscriber(1);
    const message = await subscriber.message();
    assert.deepEqual([message.id, message.body], [id, HELLO[name]]);
    await subscriber.ask({ id, ack: 1 });
    await subscriber.ask({ logout: true });
  });
}

for (const name of ["subscriber.mjs", "subscriber.py"]) {
  test(`${name} prints what it receives and acknowledges it`, async () => {
    const publisher = await cluster.publisher();
    await publisher.ask({ body: "before it came" });
    const program = start(name, { address: cluster.info.nodes[2].url });
    await until(() => program.out.includes("\n"), 60000);
    const bodies = ["one", "zwei ü", "three \"quoted\" \\ and\ttab"];
    for (const body of bodies) assert.equal((await publisher.ask({ body })).status, "Success.");
    const expected = ["before it came", ...bodies].map((body) => `Received: ${body}\n`).join("");
    await until(() => program.out.length >= expected.length);
    assert.equal(program.out, expected);
    await until(async () => (await count()) === 0);
    assert.deepEqual([program.code, program.err], [undefined, ""], "it goes on listening");
    publisher.drop();
  });
}

for (const name of ["admin.mjs", "admin.py"]) {
  test(`${name} prints how many messages there are`, async () => {
    assert.equal(await run(name), "Messages in the queue: 0\n");
    const publisher = await cluster.publisher();
    for (const delay of [0, 0, 100]) await publisher.ask({ body: "counted", delay });
    assert.equal(await run(name, { address: cluster.info.nodes[1].url }), "Messages in the queue: 3\n");
    publisher.drop();
  });
}

const SIX = ["publisher", "subscriber", "admin"].flatMap((role) => [`${role}.mjs`, `${role}.py`]);

for (const name of SIX) {
  test(`${name} with a wrong password prints 107 and its reason`, async () => {
    const role = name.split(".")[0];
    const logins = { ...cluster.info.logins, [role]: { ...cluster.info.logins[role], password: "wrong" } };
    assert.match(await run(name, { logins }), /^Failed: 107 Authentication failed\..*\n/);
  });
}

/** A port of the loopback that nobody listens on. */
async function deadPort() {
  const server = net.createServer();
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

for (const name of SIX) {
  test(`${name} where nobody listens prints a connection error`, async () => {
    assert.match(await run(name, { address: `wss://localhost:${await deadPort()}/` }), /^Connection error: \S.*\n$/);
  });
}

for (const name of ["publisher.mjs", "publisher.py"]) {
  test(`${name} does not publish to a server that it cannot trust`, async () => {
    assert.match(await run(name, { trust: false }), /^Connection error: .*(CERT|SIGN|ISSUER|certificate).*\n$/);
    assert.equal(await count(), 0);
  });
}
