#!/usr/bin/env node
// One bit of a stopped node's data directory is flipped, the node is started, and must be whole again: its
// data repaired from the others, or the flip was in nothing that counts. Load goes on all the time.
import { spawnSync } from "node:child_process";
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, readdirSync, readSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Rng } from "./rng.mjs";
import { makeBody, readBody } from "./body.mjs";
import { Link } from "./client.mjs";
import { Cluster, run } from "./cluster.mjs";

const { values: arg } = parseArgs({
  options: {
    count: { type: "string", default: "30" },
    seed: { type: "string", default: String(Date.now() % 1000000007) },
    "base-port": { type: "string", default: process.env.DRILL_PORT ?? "24200" },
    "wait-ms": { type: "string", default: "60000" }, // for a node to be whole again
    keep: { type: "boolean", default: false },
  },
});
const count = Number(arg.count);
const seed = arg.seed;
const rng = new Rng(seed, "flips");
const dir = mkdtempSync(join(tmpdir(), "holdfast-flips-"));
const root = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))));
const ctl = [process.env.HOLDFAST_BIN && join(process.env.HOLDFAST_BIN, "holdfastctl"), join(process.env.HOLDFAST_BIN ?? join(root, "build"), "src", "ctl", "holdfastctl")].find((p) => p && existsSync(p));
const print = (line) => console.log(line);
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const cluster = new Cluster({ script: process.env.QX_LOCAL_CLUSTER ?? join(root, "deploy", "local-cluster"), dir, basePort: Number(arg["base-port"]), nodes: 3 });
const failures = [];
const fail = (text) => { failures.push(text); print(`FAILED: ${text}`); };

async function until(fn, what, ms = Number(arg["wait-ms"])) {
  const end = Date.now() + ms;
  for (;;) {
    const value = await fn();
    if (value) return value;
    if (Date.now() > end) throw new Error(`${what}: not within ${ms} ms`);
    await sleep(100);
  }
}

// ---- load: publishers with a ledger of what was confirmed, subscribers with one of what came
const confirmed = new Map(); // key -> durability
const received = new Set();
let broken = 0; // bodies that came changed
let loading = true;
let draining = true;
let paused = false;

async function enter(role, more, node, onFrame = () => {}) {
  const link = new Link({ url: node.url, ca: cluster.ca, onFrame });
  await link.ready;
  const { username, password } = cluster.info.logins[role];
  const reply = await link.request({ username, password, role, queuetype: "distribute", ...more });
  if (reply.status !== "Success.") throw new Error(`login refused: ${reply.code}`);
  return link;
}

async function publisher(i) {
  const own = new Rng(seed, `p${i}`);
  for (let n = 0; loading;) {
    let link = null;
    try {
      link = await enter("publisher", {}, own.pick(cluster.nodes));
      while (loading && !link.shut) {
        if (paused) { await sleep(50); continue; }
        const key = `${seed}-p${i}-${++n}`;
        const durability = own.int(1, 2);
        const reply = await link.request({ body: makeBody(key, durability, 0, own.chance(0.1) ? own.int(5000, 40000) : own.int(0, 2000)), durability });
        if (reply.status === "Success.") confirmed.set(key, durability);
        await sleep(own.int(0, 25));
      }
      link.drop("bye");
    } catch {
      link?.drop("failed");
      await sleep(200);
    }
  }
}

async function subscriber(i) {
  const own = new Rng(seed, `s${i}`);
  while (draining) {
    let link = null;
    try {
      link = await enter("subscriber", { capacity: 30 }, own.pick(cluster.nodes), (frame) => {
        if (frame.body === undefined) return;
        const { k, bad } = readBody(frame.body);
        if (bad) broken++;
        received.add(k);
        // Some wait a while, so that the state is never empty.
        setTimeout(() => link?.request({ id: frame.id, ack: 1 }).catch(() => {}), own.chance(0.05) ? own.int(1000, 8000) : 0);
      });
      const end = Date.now() + own.int(5000, 40000);
      while (draining && !link.shut && Date.now() < end) await sleep(100);
      if (!link.shut) await link.request({ logout: true });
      link.drop("bye");
    } catch {
      link?.drop("failed");
      await sleep(200);
    }
  }
}

// ---- the nodes
const data = (id) => join(dir, `node${id}`, "data");
const nodeLog = (id) => readFileSync(join(dir, `node${id}`, "log"), "utf8");
function ask(id, ...words) {
  const socket = cluster.nodes.find((n) => String(n.id) === String(id)).socket;
  const result = spawnSync(ctl, ["--json", "--timeout", "5", "--socket", socket, ...words], { encoding: "utf8", timeout: 20000 });
  return result.status === 0 ? JSON.parse(result.stdout) : null;
}
const status = (id) => ask(id, "cluster", "status");

/** Whole again: gate open, and at least where the leader was when it was asked. */
async function isWhole(id) {
  const leader = await cluster.leader();
  const mark = leader && status(leader)?.commit_index;
  if (!mark) return false;
  const mine = status(id);
  return mine && mine.gate === "open" && !mine.rejoining && mine.applied_index >= mark;
}

async function compareDigests() {
  paused = true;
  try {
    await until(() => {
      const states = cluster.ids().map((id) => ask(id, "cluster", "digest"));
      if (!states.every((s) => s && s.applied_index === states[0].applied_index)) return false;
      if (states.every((s) => s.digest === states[0].digest)) return true;
      throw new Error(`digests differ at ${states[0].applied_index}: ${states.map((s) => s.digest)}`);
    }, "the nodes are at one entry");
  } finally {
    paused = false;
  }
}

// ---- a flip
const MARK = 48; // bytes of the record behind the last one that says that all is synced

/** The bytes up to the last one that is not zero. */
function used(file) {
  const bytes = readFileSync(file);
  let size = bytes.length;
  while (size > 0 && bytes[size - 1] === 0) size--;
  return bytes.subarray(0, size);
}

/** The same, but for what every start tidies up: room behind the last record, its mark, a segment made ahead. */
function isKept(file, was) {
  if (!existsSync(file)) return was.length <= 64;
  const is = used(file);
  return was.subarray(0, is.length).equals(is) && was.length - is.length <= MARK + 8;
}

const filesIn = (id, folder) => readdirSync(join(data(id), folder)).map((name) => join(folder, name));

/** Mostly where something is; now and then in the room behind it. */
function pickPlace(id) {
  const kind = rng.weighted({ log: 55, snapshots: 25, meta: 12, boot: 8 });
  let files = kind === "meta" ? ["meta-1", "meta-2"] : kind === "boot" ? ["boot"] : filesIn(id, kind);
  if (files.length === 0) files = ["meta-1"];
  const file = rng.pick(files);
  const bytes = readFileSync(join(data(id), file));
  let end = bytes.length;
  if (kind === "log" && rng.chance(0.85)) while (end > 64 && bytes[end - 1] === 0) end--;
  // Many of the flips in a log are near its end: the last records are the delicate ones.
  const from = kind === "log" && rng.chance(0.4) ? Math.max(0, end - 3000) : 0;
  return { kind, file, at: rng.int(from, end - 1), bit: rng.int(0, 7) };
}

function flip(id, { file, at, bit }) {
  const fd = openSync(join(data(id), file), "r+");
  const byte = Buffer.alloc(1);
  readSync(fd, byte, 0, 1, at);
  byte[0] ^= 1 << bit;
  writeSync(fd, byte, 0, 1, at);
  closeSync(fd);
}

/** What was set aside is all that was there. Then it goes, so that the next ones may be made. */
function checkAside(id, name, before) {
  for (const [file, bytes] of before)
    if (!isKept(join(data(id), name, file), bytes)) fail(`node ${id}: ${name} does not have ${file} as it was`);
  if (!existsSync(join(data(id), name, "why"))) fail(`node ${id}: ${name} does not say why`);
  rmSync(join(data(id), name), { recursive: true });
}

const tally = {};
async function oneFlip(n, id) {
  const how = rng.chance(0.35) ? "kill" : "stop";
  await cluster.verb(how, id);
  const place = pickPlace(id);
  flip(id, place);
  const before = [...filesIn(id, "log"), ...filesIn(id, "snapshots")].map((file) => [file, used(join(data(id), file))]);
  const examined = spawnSync(ctl, ["data", "check", data(id), "--json"], { encoding: "utf8", timeout: 60000 });
  const starts = JSON.parse(examined.stdout).starts;
  const logged = nodeLog(id).length;
  await cluster.verb("start", id);
  await until(() => isWhole(id), `node ${id} is whole again`);
  const said = nodeLog(id).slice(logged);
  const asides = readdirSync(data(id)).filter((name) => name.startsWith("aside"));
  const outcome = asides.length > 0 ? "set aside and repaired from the others"
    : said.includes("event=log.tail_cut") ? "cut off as a torn tail"
    : place.kind === "meta" ? "repaired from the other copy"
    : place.kind === "boot" ? "taken as a crash"
    : "harmless";
  const where = `flip ${n}: node ${id} after ${how}, ${place.file} byte ${place.at} bit ${place.bit}`;
  if (asides.length > 1) fail(`${where}: ${asides}`);
  if (starts !== (asides.length === 0)) fail(`${where}: data check said ${starts ? "good" : "damaged"}, and it was ${outcome}`);
  if ((said.match(/event=disk\.damaged/g) ?? []).length !== asides.length) fail(`${where}: not one log line for what was set aside`);
  for (const name of asides) checkAside(id, name, before);
  if (!asides.length) for (const [file] of before) if (file.endsWith(".snap") && !existsSync(join(data(id), file)) && filesIn(id, "snapshots").length === 0) fail(`${where}: ${file} is gone`);
  const key = `${place.kind}: ${outcome}`;
  tally[key] = (tally[key] ?? 0) + 1;
  print(`${where}: ${outcome}`);
}

async function drained() {
  const admin = await enter("admin", {}, cluster.nodes[0]);
  try {
    return (await admin.request({ cmd: "getlivestats" })).csv.startsWith("0,");
  } finally {
    admin.drop("bye");
  }
}

// ---- the drill
let done = 0;
try {
  const text = await run(cluster.script, ["up", "--nodes", "3", "--dir", dir, "--base-port", arg["base-port"], "--set", "snapshot-min-bytes=300000", "--set", "recovery-grace-secs=300", "--json"], { timeoutMs: 180000 });
  cluster.info = JSON.parse(text);
  cluster.nodes = cluster.info.nodes;
  cluster.ca = readFileSync(cluster.info.ca);
  print(`seed ${seed}, ${count} flips, ${dir}`);
  const publishers = [publisher(0), publisher(1), publisher(2)];
  const subscribers = [subscriber(0), subscriber(1)];
  await until(() => confirmed.size > 300, "the load runs");
  for (let last = null; done < count; done++) {
    const id = rng.pick(cluster.ids().filter((x) => x !== last));
    last = id;
    await oneFlip(done + 1, id);
    if (done % 10 === 9) await compareDigests();
    const mark = confirmed.size;
    await until(() => confirmed.size > mark + 10, "publishing goes on");
  }
  loading = false;
  await Promise.all(publishers);
  await until(() => drained().catch(() => false), "everything is taken", 120000);
  await compareDigests();
  draining = false;
  await Promise.all(subscribers);
} catch (error) {
  fail(error.message);
}
loading = draining = false;
const lost = [...confirmed.keys()].filter((key) => !received.has(key));
for (const key of lost.slice(0, 10)) fail(`lost: ${key}, durability ${confirmed.get(key)}`);
if (broken > 0) fail(`${broken} bodies came changed`);
await cluster.downAll().catch((error) => fail(error.message));
for (const id of failures.length ? [] : cluster.ids()) {
  const examined = spawnSync(ctl, ["data", "check", data(id)], { encoding: "utf8", timeout: 60000 });
  if (examined.status !== 0) fail(`node ${id} at the end: ${examined.stdout}`);
}
for (const key of Object.keys(tally).sort()) print(`${String(tally[key]).padStart(5)}  ${key}`);
print(`${done} of ${count} flips; ${confirmed.size} messages confirmed, ${lost.length} lost`);
if (!arg.keep && !failures.length) rmSync(dir, { recursive: true, force: true });
else print(`kept: ${dir}; again: bitflips --seed ${seed} --count ${count}`);
print(`${done} passed, ${failures.length} failed`);
process.exit(failures.length || done < count ? 1 : 0);
