// What a node says when it cannot start: one clear line that names the thing, exit 1, nothing changed.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Cluster, program, until } from "./lib.mjs";

let cluster;
before(async () => { cluster = await Cluster.up({ nodes: 1 }); }, { timeout: 60000 });
after(() => cluster?.down());

const server = program("server", "holdfastd");
const config = () => readFileSync(join(cluster.dir, "node1", "holdfast.conf"), "utf8");

/** Starts holdfastd with a changed config; gives what it printed. */
function start(name, change, ...options) {
  const file = join(cluster.dir, `${name}.conf`);
  writeFileSync(file, change(config()), { mode: 0o600 });
  const result = spawnSync(server, ["--config", file, ...options], { encoding: "utf8", timeout: 60000 });
  return { ...result, file };
}
const replace = (key, value) => (text) => text.replace(new RegExp(`^${key} *=.*$`, "m"), `${key} = ${value}`);
const elsewhere = (text) => {
  const dir = join(cluster.dir, "elsewhere");
  mkdirSync(dir, { recursive: true });
  return replace("control-socket", join(dir, "control.sock"))(text);
};

test("an unknown key is an error that names file and line", () => {
  const r = start("unknown", (text) => `${text}\nmax-mesages = 5\n`, "--check-config");
  assert.equal(r.status, 1);
  assert.match(r.stderr, /unknown\.conf:\d+: unknown key 'max-mesages'/);
});

test("a bad value is an error that names file and line", () => {
  const r = start("bad", replace("node-id", "one"), "--check-config");
  assert.equal(r.status, 1);
  assert.match(r.stderr, /bad\.conf:\d+: node-id: bad value 'one'/);
});

test("--check-config says that a good config is good", () => {
  const r = start("good", (text) => text, "--check-config");
  assert.deepEqual([r.status, r.stderr, r.stdout], [0, "", `${r.file}: good\n`]);
});

test("--check-config opens the files that are named: all that is wrong is said", () => {
  const key = (name) => config().match(new RegExp(`^${name} *= *(.*)$`, "m"))[1];
  const missing = start("missing", (text) => replace("cluster-ca", "/nowhere/ca.pem")(replace("client-cert", "/nowhere/c.pem")(text)), "--check-config");
  assert.deepEqual([missing.status, missing.stdout], [1, ""]);
  assert.match(missing.stderr, /client-cert: \/nowhere\/c\.pem: No such file/);
  assert.match(missing.stderr, /cluster-ca: \/nowhere\/ca\.pem: No such file/);
  const mixed = start("mixed", replace("client-key", key("cluster-key")), "--check-config");
  assert.equal(mixed.status, 1);
  assert.match(mixed.stderr, /client-key: .*: it is not the key of client-cert/);
  const other = start("other", replace("node-id", "2"), "--check-config");
  assert.equal(other.status, 1);
  assert.match(other.stderr, /cluster-cert.*not this node's name/);
  const garbage = start("garbage", replace("cluster-ca", join(cluster.dir, "node1", "holdfast.conf")), "--check-config");
  assert.equal(garbage.status, 1);
  assert.match(garbage.stderr, /cannot use CA file/);
});

test("an empty data directory never starts, and stays empty", () => {
  const dir = join(cluster.dir, "empty");
  mkdirSync(dir);
  const r = start("empty", (text) => elsewhere(replace("data-dir", dir)(text)));
  assert.equal(r.status, 1);
  assert.match(r.stderr, /data init/);
  assert.deepEqual(readdirSync(dir), []);
});

test("a data directory of another cluster is refused by name", () => {
  const dir = join(cluster.dir, "copy");
  cpSync(join(cluster.dir, "node1", "data"), dir, { recursive: true });
  const r = start("foreign", (text) => elsewhere(replace("cluster-token", "another")(replace("data-dir", dir)(text))));
  assert.equal(r.status, 1);
  assert.match(r.stderr, /another cluster/);
});

test("a data directory in use is refused", () => {
  const r = start("twice", elsewhere);
  assert.equal(r.status, 1);
  assert.match(r.stderr, /in use/);
});

test("a port in use is named", () => {
  const dir = join(cluster.dir, "fresh");
  const init = start("init", (text) => replace("data-dir", dir)(text), "--init");
  assert.deepEqual([init.status, init.stderr], [0, ""]);
  const r = start("port", (text) => elsewhere(replace("data-dir", dir)(text)));
  assert.equal(r.status, 1);
  const port = config().match(/^cluster-listen *= *.*:(\d+)$/m)[1];
  assert.match(r.stderr, new RegExp(port));
});

test("a data directory that is not empty is not made again", () => {
  const r = start("again", (text) => text, "--init");
  assert.equal(r.status, 5);
  assert.match(r.stderr, /data/);
});

test("a certificate that does not match its key is named", () => {
  const dir = join(cluster.dir, "fresh2");
  const fresh = replace("data-dir", dir);
  assert.equal(start("init2", fresh, "--init").status, 0);
  const free = (text) => replace("cluster-listen", "127.0.0.1:0")(replace("initial-cluster", "1=127.0.0.1:1")(text));
  const r = start("mismatch", (text) => elsewhere(free(replace("cluster-key", join(cluster.dir, "server.key"))(fresh(text)))));
  assert.equal(r.status, 1);
  assert.match(r.stderr, /server\.key|cluster\.pem/);
});

test("a stop while queues are being made ends in order", async () => {
  const ctl = program("ctl", "holdfastctl");
  const { socket } = cluster.info.nodes[0];
  cluster.run("stop", "1");
  const node = spawn(server, ["--config", join(cluster.dir, "node1", "holdfast.conf")], { stdio: ["ignore", "ignore", "ignore"] });
  const ended = new Promise((done) => node.on("exit", (code, signal) => done({ code, signal })));
  await until(() => cluster.ctl(1, "cluster", "status").serving);
  // Their logins take a second of scrypt in the pool: the signal comes before they are made.
  const asking = ["a", "b", "c", "d"].map((name) => spawn(ctl, ["--socket", socket, "queue", "create", name], { stdio: "ignore" }));
  const answered = asking.map((child) => new Promise((done) => child.on("exit", done)));
  await until(() => readdirSync(`/proc/${node.pid}/task`).some((id) => readFileSync(`/proc/${node.pid}/task/${id}/stat`, "utf8").includes(") R ")), undefined, 5);
  node.kill("SIGTERM");
  assert.deepEqual(await ended, { code: 0, signal: null });
  await Promise.all(answered);
  cluster.run("start", "1");
});
