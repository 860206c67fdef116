// Backup and restore: taken under load from any node, nothing confirmed is missing in it, what is damaged is refused,
// and three nodes that were restored from one file are a cluster in which clients log in as before.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { closeSync, copyFileSync, existsSync, openSync, readFileSync, readdirSync, renameSync, rmSync, statSync, truncateSync, writeFileSync, writeSync } from "node:fs";
import net from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Cluster, root, sleep, until } from "./lib.mjs";

const bin = (folder, name) => {
  const base = process.env.HOLDFAST_BIN;
  const places = base ? [join(base, name), join(base, "src", folder, name)] : [join(root, "build", "src", folder, name)];
  return places.find(existsSync);
};
const ctl = (...args) => spawnSync(bin("ctl", "holdfastctl"), args, { encoding: "utf8", timeout: 60000 });
/** Without holding up this process: clients go on meanwhile. */
const ctlBeside = (...args) => new Promise((done) => {
  const child = spawn(bin("ctl", "holdfastctl"), args, { stdio: ["ignore", "pipe", "pipe"] });
  const result = { stdout: "", stderr: "" };
  child.stdout.on("data", (data) => { result.stdout += data; });
  child.stderr.on("data", (data) => { result.stderr += data; });
  child.on("close", (status) => done({ ...result, status }));
});

let cluster, leader, follower;
const facts = {}; // what the tests tell each other
const nodeOf = (id) => cluster.info.nodes.find((n) => n.id === id);
const path = (name) => join(cluster.dir, name);
const config = (id) => path(`node${id}/holdfast.conf`);
const logOf = (id) => readFileSync(path(`node${id}/log`), "utf8");
const ids = () => cluster.info.nodes.map((n) => n.id);
const ok = (reply) => { assert.equal(reply.status, "Success.", JSON.stringify(reply)); return reply; };

before(async () => {
  cluster = await Cluster.up({ nodes: 3 });
  leader = await cluster.waitLeader();
  follower = ids().find((id) => id !== leader);
}, { timeout: 120000 });
after(() => cluster?.down());

const backup = (id, name, ...more) => ctl("--socket", nodeOf(id).socket, "backup", path(name), ...more);

function verify(name) {
  const result = ctl("--json", "backup", "verify", path(name));
  return { status: result.status, stderr: result.stderr, ...JSON.parse(result.stdout) };
}

/** Publishes until told to stop; the bodies that were confirmed. */
function publishing() {
  const confirmed = new Set();
  let going = true;
  const work = (async () => {
    const client = await cluster.publisher();
    for (let i = 0; going; i++) {
      const body = `load-${i}-${"x".repeat(500)}`;
      ok(await client.ask({ body, durability: 1 + (i % 2) }));
      confirmed.add(body);
    }
    client.drop();
  })();
  return { confirmed, stop: async () => { going = false; await work; } };
}

test("a backup from a follower and one from the leader, under load, have all that was confirmed before", { timeout: 120000 }, async () => {
  const admin = await cluster.admin();
  const publisher = await cluster.publisher();
  const subscriber = await cluster.subscriber(1);
  ok(await publisher.ask({ body: "dead one", durability: 2 }));
  const dead = await subscriber.message();
  ok(await subscriber.ask({ id: dead.id, ack: 0 }));
  await subscriber.ask({ logout: true });
  ok(await admin.ask({ cmd: "setcfg", "max-ws-msg-len": 200000 }));
  facts.dead = dead.id;
  admin.drop();
  publisher.drop();
  const load = publishing();
  for (const [name, id] of [["of-follower", follower], ["of-leader", leader]]) {
    await until(() => load.confirmed.size >= 200);
    const before = new Set(load.confirmed);
    const result = await ctlBeside("--json", "--socket", nodeOf(id).socket, "backup", path(name));
    assert.equal(result.status, 0, result.stderr);
    const said = JSON.parse(result.stdout);
    assert.equal(said.file, path(name));
    assert.equal(said.node, id);
    assert.ok(said.messages > before.size, `${said.messages} messages, ${before.size} were confirmed`);
    await until(() => load.confirmed.size > before.size); // publishing goes on
    facts[name] = before;
  }
  await load.stop();
  for (const name of ["of-follower", "of-leader"]) {
    const found = verify(name);
    assert.equal(found.status, 0);
    assert.equal(found.dead_letter, 1);
    assert.equal(found.all_queues, true);
    assert.deepEqual(found.queues.map((q) => q.queue), ["demo"]);
    assert.equal(statSync(path(name)).mode & 0o777, 0o600);
  }
  assert.deepEqual(readdirSync(cluster.dir).filter((name) => name.includes(".part")), []);
});

test("what is there is replaced with --yes only", () => {
  writeFileSync(path("precious"), "mine");
  const refused = backup(leader, "precious");
  assert.equal(refused.status, 5);
  assert.match(refused.stderr, /exists: --yes replaces it/);
  assert.equal(readFileSync(path("precious"), "utf8"), "mine");
  assert.equal(backup(leader, "precious", "--yes").status, 0);
  assert.equal(verify("precious").status, 0);
});

test("where there is no room for it, that is said and nothing is left", () => {
  const line = `ulimit -f 4; trap "" XFSZ; exec "$0" "$@"`;
  const full = spawnSync("bash", ["-c", line, bin("ctl", "holdfastctl"), "--socket", nodeOf(leader).socket, "backup", path("big")], { encoding: "utf8", timeout: 30000 });
  assert.equal(full.status, 1);
  assert.match(full.stderr, /big\.partial: File too large/);
  assert.equal(existsSync(path("big")) || existsSync(path("big.partial")), false);
});

/** Node 1's configuration with a data directory that is not there. */
function elsewhere() {
  writeFileSync(path("elsewhere.conf"), readFileSync(config(1), "utf8").replace(/^data-dir = .*/m, `data-dir = ${path("elsewhere")}`));
  return path("elsewhere.conf");
}

test("a flipped byte and a cut are found, with the place, by verify and by restore", () => {
  const size = statSync(path("of-leader")).size;
  const spoil = {
    head: () => flip("spoiled", 100),
    middle: () => flip("spoiled", Math.floor(size / 2)),
    end: () => flip("spoiled", size - 10),
    cut: () => truncateSync(path("spoiled"), size - 1),
    half: () => truncateSync(path("spoiled"), Math.floor(size / 2)),
    longer: () => writeFileSync(path("spoiled"), "x", { flag: "a" }),
  };
  for (const [how, damage] of Object.entries(spoil)) {
    copyFileSync(path("of-leader"), path("spoiled"));
    damage();
    const found = verify("spoiled");
    assert.equal(found.status, 1, how);
    assert.match(found.error, /spoiled: at offset \d+: /, how);
    const restored = ctl("restore", path("spoiled"), "--config", elsewhere());
    assert.equal(restored.status, 1, how);
    assert.match(restored.stderr, /at offset \d+: /, how);
  }
  assert.equal(verify("no-such-file").status, 4);
});

function flip(name, at) {
  const bytes = readFileSync(path(name));
  const fd = openSync(path(name), "r+");
  writeSync(fd, Buffer.from([bytes[at] ^ 0x10]), 0, 1, at);
  closeSync(fd);
}

test("one queue of two", () => {
  assert.equal(ctl("--socket", nodeOf(leader).socket, "queue", "create", "other").status, 0);
  assert.equal(backup(follower, "only-other", "--queue", "other").status, 0);
  const found = verify("only-other");
  assert.equal(found.all_queues, false);
  assert.deepEqual(found.queues.map((q) => [q.queue, q.messages]), [["other", 0]]);
  assert.equal(backup(follower, "only-demo", "--queue", "demo").status, 0);
  assert.deepEqual(verify("only-demo").queues.map((q) => q.queue), ["demo"]);
  const missing = backup(leader, "none", "--queue", "nobody");
  assert.equal(missing.status, 4);
  assert.match(missing.stderr, /there is no queue 'nobody'/);
  assert.equal(existsSync(path("none")), false);
  assert.equal(existsSync(path("none.partial")), false);
  assert.equal(backup(leader, "both").status, 0);
  assert.equal(verify("both").queues.length, 2);
});

/** Asks for a backup and hands over the socket when its first answer is there. */
async function ask(id) {
  const socket = net.connect(nodeOf(id).socket);
  const head = await new Promise((done, fail) => {
    let text = "";
    socket.on("error", fail);
    socket.on("data", function take(data) {
      text += data.toString("latin1");
      if (!/"stream":\d+/.test(text)) return;
      socket.pause();
      socket.off("data", take);
      done(text);
    });
    socket.write('{"argv":["backup","stream"]}\n');
  });
  return { socket, size: Number(/"stream":(\d+)/.exec(head)[1]) };
}

test("a client that goes away, and one that does not read, cost nothing but themselves", { timeout: 120000 }, async () => {
  const publisher = await cluster.publisher();
  const body = "y".repeat(100000);
  for (let i = 0; i < 80; i++) ok(await publisher.ask({ body, durability: 1 }));
  for (let i = 0; i < 5; i++) (await ask(leader)).socket.destroy();
  const { socket, size } = await ask(leader);
  assert.ok(size > 8000000);
  const begin = Date.now();
  const closed = new Promise((done) => socket.once("close", done));
  assert.equal(backup(leader, "beside").status, 0); // another one is not held up
  for (let last = 0; logOf(leader).includes("control.stream_stuck") === false;) {
    assert.ok(Date.now() - begin < 60000, "it is never ended");
    const at = Date.now();
    ok(await publisher.ask({ body: "meanwhile", durability: 2 }));
    last = Math.max(last, Date.now() - at);
    assert.ok(last < 10000, `the leader did not serve for ${last} ms`);
    await sleep(500);
  }
  assert.ok(Date.now() - begin > 25000, "it had half a minute");
  socket.resume();
  await closed;
  publisher.drop();
  assert.equal(backup(leader, "afterwards").status, 0);
});

test("a restore into the same cluster, or over data, is refused", () => {
  const same = ctl("restore", path("of-leader"), "--config", elsewhere());
  assert.equal(same.status, 1);
  assert.match(same.stderr, /Choose another token/);
  writeFileSync(path("other.conf"), readFileSync(config(1), "utf8").replace(/^cluster-token = .*/m, "cluster-token = the-restored-one"));
  const full = ctl("restore", path("of-leader"), "--config", path("other.conf"));
  assert.equal(full.status, 5);
  assert.match(full.stderr, /node1\/data: not empty .*a node's data are there already; nothing changed; a restore makes a new/);
});

test("three nodes restored from one file are a cluster with everything in it; one from another file is refused by name", { timeout: 180000 }, async () => {
  cluster.run("down");
  for (const id of ids()) {
    writeFileSync(config(id), readFileSync(config(id), "utf8").replace(/^cluster-token = .*/m, "cluster-token = the-restored-one"));
    renameSync(path(`node${id}/data`), path(`node${id}/before`));
  }
  const restore = (id, name) => {
    const result = ctl("--json", "restore", path(name), "--config", config(id));
    assert.equal(result.status, 0, result.stderr);
    return JSON.parse(result.stdout).origin;
  };
  assert.equal(restore(1, "of-follower"), restore(2, "of-follower"));
  assert.notEqual(restore(3, "of-leader"), undefined);
  assert.equal(ctl("data", "check", path("node1/data")).status, 0);
  const third = cluster.command("start", "3").catch(() => {}); // it waits for what does not come
  await Promise.all([1, 2].map((id) => cluster.command("start", String(id))));
  await cluster.waitLeader();
  await until(() => /restored from another backup/.test(logOf(3)), 30000);
  assert.ok([1, 2].includes(await cluster.waitLeader()));
  await cluster.command("stop", "3");
  await third;
  rmSync(path("node3/data"), { recursive: true });
  restore(3, "of-follower");
  await cluster.command("start", "3");
  const admin = await until(() => cluster.admin(), 30000, 300); // with the password of before
  const cfg = await admin.ask({ cmd: "getcfg" });
  assert.equal(cfg["max-ws-msg-len"][1], 200000);
  assert.match((await admin.ask({ cmd: "getdlqmsgs", after: "", count: 10 })).csv, new RegExp(`^${facts.dead},`));
  const bodies = new Set();
  const subscriber = await until(() => cluster.subscriber(200, { node: 2 }));
  for (const wanted = facts["of-follower"]; ;) {
    const message = await subscriber.message();
    bodies.add(message.body);
    ok(await subscriber.ask({ id: message.id, ack: 1 }));
    if ([...wanted].every((body) => bodies.has(body))) break;
  }
  subscriber.drop();
  admin.drop();
  const digests = await until(() => {
    const all = ids().map((id) => JSON.parse(ctl("--json", "--socket", nodeOf(id).socket, "cluster", "digest").stdout));
    return all.every((d) => d.applied_index === all[0].applied_index) && all;
  }, 20000, 200);
  assert.deepEqual(digests.map((d) => d.digest), digests.map(() => digests[0].digest));
});

test("without a leader there is no backup, and the exit code says so", { timeout: 60000 }, async () => {
  for (const id of [2, 3]) await cluster.command("kill", String(id));
  await until(() => {
    const result = backup(1, "lonely");
    assert.notEqual(result.status, 0);
    return result.status === 3;
  }, 40000, 300);
  assert.equal(existsSync(path("lonely")), false);
  assert.equal(existsSync(path("lonely.partial")), false);
});
