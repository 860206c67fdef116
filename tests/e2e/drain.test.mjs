// TERM: leadership goes to another node, clients are let go over drain-secs, the node ends with 0.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Cluster, Client, program, sleep, until } from "./lib.mjs";
import { get, parseLogfmt, readLog } from "./ops.mjs";

const DRAIN_SECS = 8;
const SOON_MS = 6000; // what takes longer has waited for drain-secs
const CLIENTS = 60;

let cluster;
const children = [];
before(async () => {
  cluster = await Cluster.up({ nodes: 3, set: { "drain-secs": DRAIN_SECS } });
  await cluster.waitLeader();
}, { timeout: 120000 });
after(() => {
  for (const child of children) if (child.exitCode === null) child.kill("SIGKILL");
  cluster?.down();
});

const nodeOf = (id) => cluster.info.nodes.find((n) => n.id === id);

/** Who serves, as the nodes themselves say: a child of this test is not known to local-cluster. */
async function serving() {
  for (const node of cluster.info.nodes) {
    const page = await get(`${node.http}/status`).catch(() => null);
    if (page && JSON.parse(page.text).serving) return node.id;
  }
  return 0;
}

async function makeLeader(id) {
  await until(async () => {
    const leader = await serving();
    if (leader !== id && leader !== 0)
      spawnSync(program("ctl", "holdfastctl"), ["--socket", nodeOf(leader).socket, "cluster", "step-down", "--to", String(id)]);
    return leader === id;
  }, undefined, 300);
}

/** Stops a node of the cluster and runs it again as a child of this test, which learns its exit code. */
async function adopt(id) {
  const node = nodeOf(id);
  cluster.run("stop", String(id));
  const child = spawn(program("server", "holdfastd"), ["--config", join(node.dir, "holdfast.conf")], { stdio: ["ignore", "ignore", "pipe"] });
  children.push(child);
  child.text = "";
  child.stderr.on("data", (d) => { child.text += d; });
  child.ended = new Promise((done) => child.on("exit", (code, signal) => done({ code, signal })));
  await until(async () => (await get(`${node.http}/readyz`)).status === 200, 30000);
  return child;
}

async function term(child) {
  const from = performance.now();
  child.kill("SIGTERM");
  const end = await child.ended;
  return { ...end, ms: performance.now() - from };
}

test("a follower lets its relays go one after the other, and ends with 0", async () => {
  const leader = await cluster.waitLeader();
  const id = [1, 2, 3].find((n) => n !== leader);
  const child = await adopt(id);
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => Client.open(nodeOf(id).url, cluster.ca)));
  for (const c of clients) c.send(cluster.login("publisher"));
  for (const c of clients) assert.equal((await c.reply()).status, "Success.");
  const times = clients.map((c) => c.closed.then(() => Date.now()));
  const ended = term(child);
  const draining = await until(() => child.text.split("\n").slice(0, -1).find((line) => line.includes("event=node.draining")));
  const from = Date.parse(parseLogfmt(draining).ts);
  const refused = await until(() => Client.open(nodeOf(id).url, cluster.ca).then((c) => c.drop().then(() => false), () => true));
  assert.ok(refused, "nobody new is taken");
  assert.match((await get(`${nodeOf(id).http}/readyz`)).text, /stopping/);
  await sleep(300);
  const isThere = (c) => c.closeCode === undefined;
  assert.ok(clients.filter(isThere).length > CLIENTS / 2, "most are there still");
  await until(async () => { // the one that is asked may be the next to go
    const reply = await clients.findLast(isThere).ask({ body: "while draining", durability: 1 });
    assert.equal(reply.status, "Success.");
    return true;
  }, DRAIN_SECS * 1000, 0);
  const at = (await Promise.all(times)).map((t) => t - from).sort((a, b) => a - b);
  const end = await ended;
  assert.deepEqual([end.code, end.signal], [0, null], child.text);
  const windowMs = DRAIN_SECS * 1000;
  for (const part of [0.25, 0.5, 0.75]) {
    const closed = at.filter((t) => t < windowMs * part).length / CLIENTS;
    assert.ok(Math.abs(closed - part) < 0.2, `${closed} of all were closed after ${part} of the time`);
  }
  assert.ok(at.at(-1) < 1.5 * windowMs && end.ms < 2 * windowMs, `${at.at(-1)} ms, ${end.ms} ms`);
  cluster.run("start", String(id));
});

test("a follower without clients does not wait", async () => {
  const leader = await cluster.waitLeader();
  const id = [1, 2, 3].find((n) => n !== leader);
  const child = await adopt(id);
  const end = await term(child);
  assert.deepEqual([end.code, end.signal], [0, null], child.text);
  assert.ok(end.ms < SOON_MS, `${end.ms} ms`);
  cluster.run("start", String(id));
});

test("a leader hands over first, then lets its clients go at once, and ends with 0", async () => {
  const id = await cluster.waitLeader();
  const child = await adopt(id); // another one leads now
  await makeLeader(id);
  const c = await cluster.publisher({ node: id - 1 });
  let gap = 0;
  const relayed = await until(() => cluster.publisher({ node: (id % 3) }));
  c.closed.then(() => { gap = performance.now(); });
  const end = await term(child);
  assert.deepEqual([end.code, end.signal], [0, null], child.text);
  assert.ok(end.ms < SOON_MS, `${end.ms} ms`);
  assert.match(child.text, /event=node\.draining/);
  assert.match(child.text, /event=node\.stopped clean=yes/);
  await c.closed;
  await relayed.closed;
  assert.ok(gap > 0);
  const next = await cluster.waitLeader(id);
  assert.notEqual(next, id);
  const again = await until(() => cluster.publisher({ node: (id % 3) }));
  assert.equal((await again.ask({ body: "after", durability: 2 })).status, "Success.");
  await again.drop();
  cluster.run("start", String(id));
  for (const node of cluster.info.nodes) readLog(node);
});

test("without a majority a node ends all the same, with 0", async () => {
  const leader = await cluster.waitLeader();
  const id = [1, 2, 3].find((n) => n !== leader);
  const child = await adopt(id);
  for (const other of [1, 2, 3]) if (other !== id) cluster.run("kill", String(other));
  await until(async () => (await get(`${nodeOf(id).http}/readyz`)).status === 503);
  const end = await term(child);
  assert.deepEqual([end.code, end.signal], [0, null], child.text);
  assert.ok(end.ms < SOON_MS, `${end.ms} ms`);
});
