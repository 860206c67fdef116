#!/usr/bin/env node
// Full and slow disks: see the drill diskfull, which makes the file systems. What was confirmed must come,
// once its ack was confirmed it must not come again, and each step has its own expectations.
import { spawnSync } from "node:child_process";
import { closeSync, existsSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Rng } from "./rng.mjs";
import { makeBody, readBody } from "./body.mjs";
import { Link } from "./client.mjs";
import { Cluster, run } from "./cluster.mjs";

const { values: arg } = parseArgs({
  options: {
    dir: { type: "string" },
    seed: { type: "string", default: String(Date.now() % 1000000007) },
    "base-port": { type: "string", default: process.env.DRILL_PORT ?? "24240" },
    keep: { type: "boolean", default: false },
  },
});
const { dir, seed } = arg;
const root = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))));
const ctl = [process.env.HOLDFAST_BIN && join(process.env.HOLDFAST_BIN, "holdfastctl"), join(process.env.HOLDFAST_BIN ?? join(root, "build"), "src", "ctl", "holdfastctl")].find((p) => p && existsSync(p));
const print = (line) => console.log(line);
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const cluster = new Cluster({ script: process.env.QX_LOCAL_CLUSTER ?? join(root, "deploy", "local-cluster"), dir, basePort: Number(arg["base-port"]), nodes: 3 });
let phase = "";
let passed = 0;
let failed = 0;
function check(ok, text) {
  if (ok) passed++;
  else failed++;
  print(`${ok ? "good" : "FAILED"}: ${text}`);
}

function enterPhase(text) {
  phase = text;
  print(`--- ${text}`);
}

async function until(fn, what, ms = 30000) {
  const began = Date.now();
  for (;;) {
    const value = await fn();
    if (value) {
      check(true, `${what} (${((Date.now() - began) / 1000).toFixed(1)} s)`);
      return value;
    }
    if (Date.now() > began + ms) {
      check(false, `${what}: not within ${ms} ms`);
      return null;
    }
    await sleep(100);
  }
}

// ---- load: publishers with a ledger of what was confirmed, subscribers with one of what came and was acked
const confirmed = new Map(); // key -> durability
const received = new Set();
const acked = new Set();
let broken = 0; // bodies that came changed
let again = 0; // came after their ack was confirmed
let refused = 0; // 502
let otherCodes = 0;
let lastConfirmed = Infinity; // the first one ends no pause
let longestPause = 0;
let pausedIn = "";
let isRefusing = false; // no room anywhere: a pause is right
let loading = true;
let draining = true;
let publishing = true;
let subscribing = true;
let bodyBytes = 400;

async function enter(role, more, node, onFrame = () => {}) {
  const link = new Link({ url: node.url, ca: cluster.ca, onFrame });
  await link.ready;
  const { username, password } = cluster.info.logins[role];
  const reply = await link.request({ username, password, role, queuetype: "distribute", ...more });
  if (reply.status !== "Success.") throw new Error(`login refused: ${reply.code}`);
  return link;
}

function noteConfirmed(key, durability) {
  confirmed.set(key, durability);
  if (!isRefusing && Date.now() - lastConfirmed > longestPause) {
    longestPause = Date.now() - lastConfirmed;
    pausedIn = phase;
  }
  lastConfirmed = Date.now();
}

async function publisher(i) {
  const own = new Rng(seed, `p${i}`);
  for (let n = 0; loading;) {
    let link = null;
    try {
      link = await enter("publisher", {}, own.pick(cluster.nodes));
      while (loading && !link.shut) {
        if (!publishing) {
          await sleep(20);
          continue;
        }
        const key = `${seed}-p${i}-${++n}`;
        const durability = own.int(1, 2);
        const reply = await link.request({ body: makeBody(key, durability, 0, own.int(0, 2 * bodyBytes)), durability });
        if (reply.status === "Success.") noteConfirmed(key, durability);
        else if (reply.code === 502) refused++;
        else otherCodes++;
        await sleep(reply.code === 502 ? 50 : own.int(0, 20));
      }
      link.drop("bye");
    } catch {
      link?.drop("failed");
      await sleep(100);
    }
  }
}

async function subscriber(i) {
  const own = new Rng(seed, `s${i}`);
  while (draining) {
    if (!subscribing) {
      await sleep(50);
      continue;
    }
    let link = null;
    try {
      link = await enter("subscriber", { capacity: 60 }, own.pick(cluster.nodes), (frame) => {
        if (frame.body === undefined) return;
        const { k, bad } = readBody(frame.body);
        if (bad) broken++;
        if (acked.has(k)) again++;
        received.add(k);
        link?.request({ id: frame.id, ack: 1 }).then((reply) => reply.status === "Success." && acked.add(k), () => {});
      });
      while (draining && subscribing && !link.shut) await sleep(50);
      if (!link.shut) await link.request({ logout: true });
      link.drop("bye");
    } catch {
      link?.drop("failed");
      await sleep(100);
    }
  }
}

// ---- nodes and disks
function ask(id, ...words) {
  const socket = cluster.nodes.find((n) => String(n.id) === String(id)).socket;
  const result = spawnSync(ctl, ["--json", "--timeout", "5", "--socket", socket, ...words], { encoding: "utf8", timeout: 20000 });
  return result.status === 0 ? JSON.parse(result.stdout) : null;
}
const status = (id) => ask(id, "cluster", "status");
const nodeLog = (id) => readFileSync(join(dir, `node${id}`, "log"), "utf8");
const pidOf = (id) => readFileSync(join(dir, `node${id}`, "pid"), "utf8");
const fillerOf = (id) => join(dir, `node${id}`, "data", "filler");
/** The leader that serves, by its own word. */
const serving = () => cluster.ids().find((id) => status(id)?.serving) ?? null;

/** Every free block, in ever smaller pieces. */
function fillOnce(id) {
  const fd = openSync(fillerOf(id), "a");
  for (let size = 1 << 20; size >= 512; size >>= 1)
    for (;;) {
      try {
        writeSync(fd, Buffer.alloc(size));
      } catch {
        break;
      }
    }
  closeSync(fd);
}
/** Somebody who takes all the room, also what the node gives back. */
const greedy = new Set();
setInterval(() => greedy.forEach(fillOnce), 100).unref();
function fill(id) {
  greedy.add(id);
  fillOnce(id);
}
function free(id) {
  greedy.delete(id);
  rmSync(fillerOf(id), { force: true });
}

async function waiting() {
  const admin = await enter("admin", {}, cluster.nodes[0]).catch(() => null);
  if (!admin) return null;
  const reply = await admin.request({ cmd: "getlivestats" }).catch(() => null);
  admin.drop("bye");
  return reply?.csv ? Number(reply.csv.split(",")[0]) : null;
}

async function moreConfirmed(count, what, ms = 20000) {
  const mark = confirmed.size;
  await until(() => confirmed.size >= mark + count, `${what}: ${count} more are confirmed`, ms);
}

/** Nobody leads but this one, for so long. */
async function staysLeader(id, ms, what) {
  let moves = 0;
  let last = id;
  for (const end = Date.now() + ms; Date.now() < end; await sleep(250)) {
    const now = serving();
    if (now && now !== last) {
      moves++;
      last = now;
    }
  }
  check(moves === 0, `${what}: leadership stays for ${ms / 1000} s (${moves} moves)`);
}

// ---- the steps
async function fullFollower() {
  const leader = await until(serving, "there is a leader");
  const id = cluster.ids().find((x) => x !== leader);
  const pid = pidOf(id);
  enterPhase(`the follower ${id} is full`);
  fill(id);
  await until(() => status(id)?.disk_full, `node ${id} says so`);
  await until(() => status(leader)?.peers.find((p) => String(p.id) === id)?.disk_full, "its leader knows");
  check(status(leader).room === true, "two of three have room");
  // A backlog that no snapshot fits in: the reserve is used up, and it stops acknowledging.
  subscribing = false;
  bodyBytes = 28000;
  const lag = () => status(leader)?.peers.find((p) => String(p.id) === id)?.lag ?? 0;
  await until(() => lag() > 100, `node ${id} stops acknowledging`, 120000);
  const before = refused;
  await moreConfirmed(100, "the cluster goes on");
  bodyBytes = 400;
  check(refused === before, `no publisher is refused (${refused - before})`);
  check(lag() > 100, `node ${id} is still behind`);
  free(id);
  await until(() => lag() < 50 && status(id)?.disk_full === false, `node ${id} recovers when there is room`, 60000);
  check(pidOf(id) === pid, "without a restart");
  subscribing = true;
  await until(async () => (await waiting()) < 200, "the backlog is taken", 60000);
}

async function fullLeader() {
  const leader = await until(serving, "there is a leader");
  enterPhase(`the leader ${leader} is full`);
  fill(leader);
  const next = await until(() => {
    const now = serving();
    return now && now !== leader && now;
  }, "it hands over", 20000);
  await moreConfirmed(100, "publishing goes on");
  await staysLeader(next, 8000, "one full of three");
  check(/event=leader\.moves .*why=disk_full/.test(nodeLog(leader)), "the old leader says why");
  free(leader);
  await until(() => status(leader)?.disk_full === false, "it has room again");
  check(/event=disk\.full /.test(nodeLog(leader)) && /event=disk\.room /.test(nodeLog(leader)), "both are in its log");
}

async function restartAll() {
  enterPhase("all are restarted while full");
  const ids = cluster.ids();
  await Promise.all(ids.map((id, i) => cluster.verb(i === 1 ? "stop" : "kill", id)));
  for (const id of ids) {
    const examined = spawnSync(ctl, ["data", "check", join(dir, `node${id}`, "data")], { encoding: "utf8", timeout: 60000 });
    check(examined.status === 0, `node ${id}: its data is good`);
  }
  await Promise.all(ids.map((id) => cluster.verb("start", id)));
  await until(serving, "they have a leader", 20000);
}

async function deleteSome() {
  const admin = await enter("admin", {}, cluster.nodes[1]);
  const rows = (await admin.request({ cmd: "getmsgs", after: "", count: 20 })).csv.split("\n").filter(Boolean);
  let deleted = 0;
  for (const row of rows) {
    const id = row.split(",")[0];
    const message = await admin.request({ cmd: "getmsg", id });
    const reply = await admin.request({ cmd: "delmsg", id });
    if (reply.status !== "Success.") continue;
    deleted++;
    received.add(readBody(message.msg.body).k); // by an administrator, on purpose
  }
  admin.drop("bye");
  check(deleted === rows.length && deleted > 0, `${deleted} of ${rows.length} messages are deleted`);
}

async function fullAll() {
  subscribing = false;
  await sleep(500);
  await moreConfirmed(1500, "a backlog", 60000);
  enterPhase("all are full");
  isRefusing = true;
  for (const id of cluster.ids()) fill(id);
  const mark = refused;
  await until(() => refused > mark + 50, "publishers get 502");
  await staysLeader(serving(), 5000, "all full");
  const had = confirmed.size;
  await restartAll();
  const later = refused;
  await until(() => refused > later + 50, "publishers get 502 again");
  check(confirmed.size - had < 300, `what is confirmed meanwhile has an end (${confirmed.size - had})`);
  await deleteSome();
  subscribing = true;
  await until(async () => (await waiting()) === 0, "acks go on until nothing is left", 90000);
  check(cluster.ids().every((id) => status(id)?.disk_full), "and the disks are full all the time");
  const pids = cluster.ids().map(pidOf).join();
  for (const id of cluster.ids()) free(id);
  await moreConfirmed(200, "publishing works again");
  isRefusing = false;
  await until(() => cluster.ids().every((id) => status(id)?.disk_full === false), "all have room");
  check(cluster.ids().map(pidOf).join() === pids, "without a restart");
}

async function slowLeader() {
  const leader = await until(serving, "there is a leader");
  const file = join(dir, `node${leader}`, "sync-ms");
  enterPhase(`the leader ${leader} is slow`);
  writeFileSync(file, "1500");
  const next = await until(() => {
    const now = serving();
    return now && now !== leader && now;
  }, "leadership moves away", 15000);
  await moreConfirmed(200, "publishing goes on");
  await staysLeader(next, 15000, "one slow of three");
  check(/event=disk\.slow /.test(nodeLog(leader)) && /event=leader\.moves .*why=disk_slow/.test(nodeLog(leader)), "the old leader says why");
  check(status(leader)?.disk_slow === true, "it is shown");
  rmSync(file);
  await staysLeader(next, 5000, "slow no more");
}

async function compareDigests() {
  await until(() => {
    const states = cluster.ids().map((id) => ask(id, "cluster", "digest"));
    return states.every((s) => s && s.applied_index === states[0].applied_index && s.digest === states[0].digest);
  }, "the nodes have the same state");
}

try {
  const text = await run(cluster.script, ["up", "--nodes", "3", "--dir", dir, "--base-port", arg["base-port"], "--json"], { timeoutMs: 180000 });
  cluster.info = JSON.parse(text);
  cluster.nodes = cluster.info.nodes;
  cluster.ca = readFileSync(cluster.info.ca);
  print(`seed ${seed}, ${dir}`);
  const publishers = [publisher(0), publisher(1), publisher(2)];
  const subscribers = [subscriber(0), subscriber(1)];
  await moreConfirmed(200, "the load runs");
  await fullFollower();
  await fullLeader();
  await fullAll();
  await slowLeader();
  loading = false;
  await Promise.all(publishers);
  await until(async () => (await waiting()) === 0, "everything is taken", 60000);
  await compareDigests();
  draining = false;
  await Promise.all(subscribers);
} catch (error) {
  check(false, error.stack);
}
loading = draining = false;
const lost = [...confirmed.keys()].filter((key) => !received.has(key));
for (const key of lost.slice(0, 10)) print(`lost: ${key}, durability ${confirmed.get(key)}`);
check(lost.length === 0, `${confirmed.size} messages confirmed, ${lost.length} lost`);
check(broken === 0, `${broken} bodies came changed`);
check(again === 0, `${again} came after their ack was confirmed`);
check(otherCodes === 0, `${refused} publishes refused with 502, ${otherCodes} with another code`);
await cluster.downAll().catch((error) => check(false, error.message));
if (arg.keep || failed) print(`again: diskfull --seed ${seed}`);
print(`longest pause in publishing: ${(longestPause / 1000).toFixed(1)} s, while ${pausedIn}`);
print(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
