#!/usr/bin/env node
// Drives a cluster under load and faults, records what every client saw, heals,
// drains, and checks the history. See tests/drills/README.md.
import { createWriteStream, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { performance } from "node:perf_hooks";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Rng } from "./rng.mjs";
import { makeBody, readBody } from "./body.mjs";
import { Link, Unknown } from "./client.mjs";
import { Cluster } from "./cluster.mjs";
import { KINDS, makeSchedule, perform } from "./schedule.mjs";
import { check, report } from "./checker.mjs";

const { values: arg } = parseArgs({
  options: {
    seed: { type: "string" },
    publishers: { type: "string", default: "4" },
    subscribers: { type: "string", default: "5" },
    auditors: { type: "string", default: "1" },
    durability: { type: "string", default: "1,4,3" }, // weights of 0, 1 and 2
    rate: { type: "string", default: "40" }, // publishes a second, each publisher
    seconds: { type: "string", default: "20" }, // at least this long; the schedule can make it longer
    faults: { type: "string", default: "4" },
    kinds: { type: "string", default: "" },
    "gap-ms": { type: "string", default: "2500,6000" },
    "length-ms": { type: "string", default: "800,6000" },
    custom: { type: "string", multiple: true, default: [] },
    "max-gap-ms": { type: "string", default: "15000" },
    "op-timeout-ms": { type: "string", default: "8000" },
    "heal-ms": { type: "string", default: "90000" },
    "drain-ms": { type: "string", default: "90000" },
    dir: { type: "string" },
    out: { type: "string" },
    "base-port": { type: "string", default: "23500" },
    nodes: { type: "string", default: "3" },
    servername: { type: "string" },
    power: { type: "boolean", default: false },
    keep: { type: "boolean", default: false },
    check: { type: "string" },
  },
});

const print = (line) => console.log(line);
const sleep = (ms) => new Promise((r) => setTimeout(r, ms));
const pair = (text) => text.split(",").map(Number);
const checkOptions = { power: arg.power, maxGapMs: Number(arg["max-gap-ms"]) };

function finish(result, seed, replay) {
  report(result, print);
  if (replay) print(`replay: ${replay}`);
  print(`seed ${seed}: publishes ${result.stats.publishes}, deliveries ${result.stats.deliveries}, faults ${result.stats.faults}`);
  print(`${result.passed} passed, ${result.failed} failed`);
  process.exitCode = result.failed ? 1 : 0;
}

if (arg.check) {
  const events = readFileSync(arg.check, "utf8").split("\n").filter(Boolean).map((l) => JSON.parse(l));
  const meta = events.find((e) => e.e === "meta");
  finish(check(events, checkOptions), meta?.seed ?? "unknown");
  process.exit();
}

const seed = arg.seed ?? String(Date.now() % 1000000007);
const stamp = `qx-drill-${seed}-${process.pid}`;
const out = arg.out ?? join(tmpdir(), `${stamp}-out`);
const dir = arg.dir ?? join(tmpdir(), `${stamp}-cluster`);
mkdirSync(out, { recursive: true });

const custom = {};
for (const text of arg.custom) {
  // NAME:CLASS:QUORUM=START::STOP, for example cut:net:yes=ip netns ... {leader}::ip netns ...
  const m = /^([\w-]+):(kill|pause|net|disk|power):(yes|no)=([\s\S]+?)::([\s\S]+)$/.exec(text);
  if (!m) throw new Error(`--custom ${text}: expected NAME:CLASS:QUORUM=START::STOP`);
  custom[m[1]] = { cls: m[2], quorum: m[3] === "yes", start: m[4], stop: m[5] };
}
const kinds = arg.kinds ? arg.kinds.split(",") : [...Object.keys(KINDS), ...Object.keys(custom)];
for (const k of kinds) if (!KINDS[k] && !custom[k]) throw new Error(`no such fault: ${k}. There are ${Object.keys(KINDS).join(", ")}`);
const schedule = makeSchedule(seed, { faults: Number(arg.faults), kinds, gapMs: pair(arg["gap-ms"]), lengthMs: pair(arg["length-ms"]), custom });

// ---- the history
const zero = performance.now();
const now = () => Math.round((performance.now() - zero) * 1000) / 1000;
const events = [];
const file = createWriteStream(join(out, "history.jsonl"));
function log(event) {
  const line = { t: now(), ...event };
  events.push(line);
  file.write(`${JSON.stringify(line)}\n`);
  return line;
}
const replayArgs = process.argv.slice(2).filter((a, i, all) => a !== "--seed" && all[i - 1] !== "--seed" && !a.startsWith("--seed="));
const replay = ["node tests/drills/lib/drill.mjs", "--seed", seed, ...replayArgs.map((a) => (/^[\w./,:-]+$/.test(a) ? a : JSON.stringify(a)))].join(" ");
log({ e: "meta", seed, options: arg, schedule });

// ---- the cluster
const cluster = new Cluster({ script: process.env.QX_LOCAL_CLUSTER ?? "deploy/local-cluster", dir, basePort: Number(arg["base-port"]), nodes: Number(arg.nodes) });
// Nothing could be tried: that is a failure too.
async function giveUp(why) {
  print(why);
  if (!arg.keep) await cluster.downAll().catch(() => {});
  print(`replay: ${replay}`);
  print(`seed ${seed}: the drill did not start`);
  print("0 passed, 1 failed");
  process.exit(1);
}
const info = await cluster.up().catch((error) => giveUp(`the cluster did not come up: ${error.message}`));
print(`seed ${seed}, ${info.nodes.length} nodes, history in ${out}`);
print(`schedule: ${schedule.map((s) => s.kind).join(", ") || "no faults"}`);

let serial = 0;
function connect(role, c, { node, onFrame, onShut, deflate }) {
  const x = ++serial;
  const at = node ?? null;
  const link = new Link({
    url: at ? at.url : info.url,
    ca: cluster.ca,
    servername: arg.servername,
    deflate,
    opTimeoutMs: Number(arg["op-timeout-ms"]),
    onFrame: (f) => onFrame?.(f, x),
    onShut: (how, code) => {
      log({ e: "shut", x, how, code });
      onShut?.(how);
    },
  });
  link.x = x;
  log({ e: "open", x, c, role, node: at ? String(at.id) : "any" });
  return link;
}
const someNode = (rng) => (rng.chance(0.2) ? null : rng.pick(cluster.nodes));
const login = (role, more = {}) => ({ username: info.logins[role].username, password: info.logins[role].password, role, queuetype: "distribute", ...more });
async function enter(link, fields) {
  await link.ready;
  const reply = await link.request(fields);
  if (reply.status !== "Success.") {
    link.drop("refused");
    const error = new Error(`login refused: ${reply.code} ${reply.reason}`);
    error.code = reply.code;
    throw error;
  }
  return reply;
}

// ---- publishers
let loading = true;
let listening = true;
const weights = Object.fromEntries(pair(arg.durability).map((w, d) => [d, w]));
async function publish(link, c, k, d, w, padLength) {
  log({ e: "pub", x: link.x, c, k, d, w });
  try {
    const fields = { body: makeBody(k, d, w, padLength), durability: d };
    if (w) fields.delay = w;
    if (padLength % 3 === 0) fields.publisherkey = k;
    const reply = await link.request(fields);
    if (reply.status === "Success." && reply.id) {
      log({ e: "pub-ok", x: link.x, k, id: reply.id });
      return reply;
    }
    log({ e: "pub-err", x: link.x, k, code: reply.code });
    return reply;
  } catch {
    log({ e: "pub-unk", x: link.x, k });
    return null;
  }
}

async function publisher(i) {
  const c = `p${i}`;
  const rng = new Rng(seed, c);
  let n = 0;
  while (loading) {
    const link = connect("publisher", c, { node: someNode(rng), deflate: rng.chance(0.5) });
    try {
      await enter(link, login("publisher"));
      const window = rng.int(1, 8);
      const going = new Set();
      const until = rng.int(20, 400);
      for (let m = 0; m < until && loading && !link.shut; m++) {
        const d = Number(rng.weighted(weights));
        const w = rng.chance(0.08) ? rng.int(1, 3) : 0;
        const size = rng.chance(0.02) ? rng.int(4000, 20000) : rng.int(0, 400);
        const job = publish(link, c, `${seed}-${c}-${++n}`, d, w, size).then((reply) => {
          going.delete(job);
          return reply;
        });
        going.add(job);
        if (going.size >= window) {
          const reply = await Promise.race(going);
          if (reply?.code === 210 || reply?.code === 211) await sleep(500);
        }
        await sleep((1000 / Number(arg.rate)) * (0.5 + rng.next()));
      }
      if (rng.chance(0.3)) link.drop("drop"); // with requests on the way
      await Promise.all(going);
      if (!link.shut) link.drop("bye");
    } catch {
      link.drop("failed");
      await sleep(200 + rng.next() * 400);
    }
  }
}

// ---- subscribers
const recentlyGone = []; // ids whose ack was just confirmed, for the auditor
async function subscriber(i) {
  const c = `s${i}`;
  const rng = new Rng(seed, c);
  let saved = null; // { sid, cap, tDrop, got }
  while (listening) {
    const timers = new Set();
    let leaving = false;
    let got = saved?.got ?? false;
    let cap = saved?.cap ?? rng.int(1, 32);
    const settle = async (link, id, d, ack) => {
      if (link.shut) return;
      log({ e: "set", x: link.x, id, ack });
      try {
        const reply = await link.request({ id, ack });
        if (reply.status === "Success.") {
          log({ e: "set-ok", x: link.x, id, ack });
          if (ack && d >= 1 && recentlyGone.push(id) > 200) recentlyGone.shift();
        } else {
          log({ e: "set-err", x: link.x, id, ack, code: reply.code });
          if (!ack && reply.code === 305) await settle(link, id, d, 1);
        }
      } catch {
        log({ e: "set-unk", x: link.x, id, ack });
      }
    };
    const link = connect("subscriber", c, {
      node: someNode(rng),
      deflate: rng.chance(0.5),
      onFrame: (frame, x) => {
        if (frame.body === undefined) {
          if (frame.id) log({ e: "note", x, id: frame.id, kind: frame.deleted ? "deleted" : "movedtodlq" });
          return;
        }
        const { k, d, bad } = readBody(frame.body);
        got = true;
        log({ e: "recv", x, id: frame.id, k, bad: bad || undefined, post: leaving || undefined });
        if (leaving) return;
        const r = rng.next();
        const ack = r >= 0.9 && r < 0.95 ? 0 : 1;
        const wait = r >= 0.95 ? rng.int(800, 6000) : rng.int(0, 25);
        const timer = setTimeout(() => {
          timers.delete(timer);
          settle(link, frame.id, d, ack);
        }, wait);
        timers.add(timer);
      },
    });
    const stopTimers = () => {
      for (const t of timers) clearTimeout(t);
      timers.clear();
    };
    try {
      const again = saved;
      const withReplay = rng.chance(0.6);
      const t0 = now();
      // Frames can follow the reply at once, so the session is logged as soon as it is known.
      const fields = again ? login("subscriber", { sessionid: again.sid, replay: withReplay }) : login("subscriber", { capacity: cap });
      let reply;
      try {
        reply = await enter(link, fields);
      } catch (error) {
        if (again && (error.code === 109 || error instanceof Unknown || error.code !== undefined)) {
          const passed = now() - again.tDrop;
          if (error.code === 109 && passed < 9000 && !again.late) {
            await sleep(700 + rng.next() * 600);
            continue;
          }
          if (error.code === 109) {
            if (!again.late && again.got) log({ e: "resume-fail", sid: again.sid, tDrop: again.tDrop });
            saved = null;
          } else if (passed > 9000) saved = null;
        }
        throw error;
      }
      log({ e: "sess", x: link.x, sid: reply.sessionid, prev: again?.sid, cap, replay: again ? withReplay : undefined, t0 });
      saved = null;
      const until = now() + rng.int(1500, 12000);
      while (listening && !link.shut && now() < until) {
        await sleep(100);
        if (rng.chance(0.01)) {
          cap = rng.int(1, 32);
          log({ e: "cap", x: link.x, cap });
          await link.request({ capacity: cap }).catch(() => {});
        }
      }
      const sid = reply.sessionid;
      if (link.shut) {
        stopTimers();
        if (rng.chance(0.85)) saved = { sid, cap, tDrop: now(), got, late: false };
        await sleep(200 + rng.next() * 600);
        continue;
      }
      const end = listening ? rng.weighted({ resume: 45, forget: 15, late: 5, logout: 35 }) : "logout";
      if (end === "logout") {
        leaving = true;
        stopTimers();
        await sleep(rng.chance(0.5) ? 150 : 0); // sometimes with acks on the way
        await link.request({ logout: true }).catch(() => {});
        link.drop("logout");
      } else {
        stopTimers();
        link.drop("drop");
        if (end !== "forget" && got) saved = { sid, cap, tDrop: now(), got, late: end === "late" };
        await sleep(end === "late" ? 11500 : rng.int(50, 4000));
      }
    } catch {
      stopTimers();
      link.drop("failed");
      await sleep(200 + rng.next() * 500);
    }
  }
}

// ---- the auditor: reads what it just wrote, through other connections
async function auditor(i) {
  const c = `a${i}`;
  const rng = new Rng(seed, c);
  let n = 0;
  const read = async (link, id) => {
    const t0 = now();
    const reply = await link.request({ cmd: "getmsg", id }).catch(() => null);
    if (reply?.status === "Success.") log({ e: "read", x: link.x, id, t0, found: true });
    else if (reply && reply.code >= 300 && reply.code < 500) log({ e: "read", x: link.x, id, t0, found: false });
  };
  while (loading) {
    const open = () => connect("admin", c, { node: someNode(rng), deflate: rng.chance(0.5) });
    const one = open();
    const two = open();
    try {
      await enter(one, login("admin"));
      await enter(two, login("admin"));
      for (let m = 0; m < 60 && loading && !one.shut && !two.shut; m++) {
        const k = `${seed}-${c}-${++n}`;
        const d = rng.pick([1, 2]);
        log({ e: "pub", x: one.x, c, k, d, w: 3600 });
        const reply = await one.request({ cmd: "addmsg", body: makeBody(k, d, 3600, 10), delay: 3600, durability: d }).catch(() => null);
        if (!reply) {
          log({ e: "pub-unk", x: one.x, k });
          break;
        }
        if (!reply.id) {
          log({ e: "pub-err", x: one.x, k, code: reply.code });
          await sleep(300);
          continue;
        }
        log({ e: "pub-ok", x: one.x, k, id: reply.id });
        await read(two, reply.id);
        if (recentlyGone.length) await read(rng.chance(0.5) ? one : two, rng.pick(recentlyGone));
        log({ e: "del", id: reply.id });
        const gone = await one.request({ cmd: "delmsg", id: reply.id }).catch(() => null);
        log({ e: !gone ? "del-unk" : gone.status === "Success." ? "del-ok" : gone.code >= 500 ? "del-unk" : "del-err", id: reply.id });
        if (gone?.status === "Success.") await read(two, reply.id);
        await sleep(rng.int(50, 300));
      }
    } catch {
      await sleep(300 + rng.next() * 400);
    }
    one.drop("bye");
    two.drop("bye");
  }
}

// ---- administration, tried again until it works
async function admin(work, deadline) {
  let last;
  for (let n = 0; now() < deadline; n++) {
    const link = connect("admin", "op", { node: cluster.nodes[n % cluster.nodes.length], deflate: false });
    try {
      await enter(link, login("admin"));
      const result = await work(async (cmd, more = {}) => {
        const reply = await link.request({ cmd, ...more });
        if (reply.status !== "Success." && (reply.code ?? 500) >= 500) throw new Error(`${cmd}: ${reply.code} ${reply.reason}`);
        return reply;
      });
      link.drop("bye");
      return result;
    } catch (error) {
      last = error;
      link.drop("failed");
      await sleep(400);
    }
  }
  throw last ?? new Error("out of time");
}
const columns = (csv) => String(csv ?? "").split(",").map(Number);
async function listAll(ask, cmd) {
  const rows = [];
  for (let after = ""; ; ) {
    const reply = await ask(cmd, { after, count: 1600 });
    const lines = String(reply.csv ?? "").split("\n").filter(Boolean);
    if (!lines.length) return rows;
    for (const line of lines) {
      const [id, length, delay, durability, type, received] = line.split(",");
      rows.push({ id, length: Number(length), delay: Number(delay), durability: Number(durability), type: Number(type), received: Number(received) });
    }
    after = rows[rows.length - 1].id;
  }
}

await admin((ask) => ask("setcfg", { "saved-session-timeout-secs": 10 }), now() + 60000).catch((error) => giveUp(`the cluster is not usable: ${error.message}`));

// ---- the run
const crew = [];
for (let i = 0; i < Number(arg.publishers); i++) crew.push(publisher(i));
for (let i = 0; i < Number(arg.auditors); i++) crew.push(auditor(i));
const ears = [];
for (let i = 0; i < Number(arg.subscribers); i++) ears.push(subscriber(i));
const started = now();
let operatorError = null;
try {
  for (const step of schedule) {
    await sleep(step.gap);
    print(`${(now() / 1000).toFixed(1)} s fault ${step.n}: ${step.kind}`);
    await perform(cluster, step, { log, custom });
  }
} catch (error) {
  operatorError = error;
  print(`the operator failed: ${error.message}`);
}
while (now() - started < Number(arg.seconds) * 1000) await sleep(200);
if (schedule.length) await sleep(4000);
log({ e: "load-end" });
loading = false;
await Promise.all(crew);
await sleep(2000);
listening = false;
await Promise.all(ears);

// ---- heal, drain, read the dead letter queue
let complete = false;
let counters = { equal: false };
try {
  await cluster.heal();
  log({ e: "heal" });
  await admin((ask) => ask("getlivestats"), now() + Number(arg["heal-ms"]));
  await sleep(11500); // the saved sessions end

  // Nobody is connected now but this administrator: the counters and the lists must agree.
  await admin(async (ask) => {
    const rows = await listAll(ask, "getmsgs");
    const dead = await listAll(ask, "getdlqmsgs");
    const [messages, , , , , held, dlq, , durable] = columns((await ask("getlivestats")).csv);
    const listed = [rows.length + dead.length, 0, dead.length, [...rows, ...dead].filter((row) => row.durability > 0).length];
    const told = [messages, held, dlq, durable];
    counters = { listed, told, equal: listed.join() === told.join() };
    print(`counters (messages, held, dead, durable): told ${told}, listed ${listed}`);
  }, now() + Number(arg["drain-ms"]));

  // The auditor's messages wait for an hour: count them, and delete them.
  await admin(async (ask) => {
    for (const row of await listAll(ask, "getmsgs")) {
      if (row.delay < 3600) continue;
      log({ e: "del", id: row.id });
      const reply = await ask("delmsg", { id: row.id });
      log({ e: reply.status === "Success." ? "del-ok" : "del-unk", id: row.id });
    }
  }, now() + Number(arg["drain-ms"]));

  const deadline = now() + Number(arg["drain-ms"]);
  let draining = true;
  let moved = now();
  const drainer = async (i) => {
    const c = `d${i}`;
    for (let n = i; draining; n++) {
      const link = connect("subscriber", c, {
        node: cluster.nodes[n % cluster.nodes.length],
        deflate: false,
        onFrame: (frame, x) => {
          if (frame.body === undefined) return;
          moved = now();
          const { k, bad } = readBody(frame.body);
          log({ e: "recv", x, id: frame.id, k, bad: bad || undefined });
          log({ e: "set", x, id: frame.id, ack: 1 });
          link.request({ id: frame.id, ack: 1 }).then(
            (reply) => log(reply.status === "Success." ? { e: "set-ok", x, id: frame.id, ack: 1 } : { e: "set-err", x, id: frame.id, ack: 1, code: reply.code }),
            () => log({ e: "set-unk", x, id: frame.id, ack: 1 }),
          );
        },
      });
      try {
        const reply = await enter(link, login("subscriber", { capacity: 256 }));
        log({ e: "sess", x: link.x, sid: reply.sessionid, cap: 256 });
        while (draining && !link.shut) await sleep(50);
        if (!link.shut) {
          await link.request({ logout: true }).catch(() => {});
          link.drop("logout");
        }
      } catch {
        link.drop("failed");
        await sleep(300);
      }
    }
  };
  const drainers = [drainer(0), drainer(1)];
  for (let empty = 0; empty < 3; ) {
    if (now() > deadline || now() - moved > 30000) break;
    await sleep(400);
    const csv = await admin(async (ask) => columns((await ask("getlivestats")).csv), deadline + 5000);
    empty = csv[0] - csv[6] === 0 ? empty + 1 : 0;
  }
  draining = false;
  await Promise.all(drainers);

  // What is left, and the dead letter queue: read, then deleted.
  await admin(async (ask) => {
    const rows = await listAll(ask, "getmsgs");
    for (const row of rows) log({ e: "left", id: row.id });
  }, now() + 30000);
  const dead = await admin((ask) => listAll(ask, "getdlqmsgs"), now() + 30000);
  for (const row of dead) {
    const reply = await admin((ask) => ask("getdlqmsg", { id: row.id }), now() + 30000);
    const { k, bad } = readBody(reply.msg?.body);
    log({ e: "dlq", id: row.id, k, bad: bad || undefined });
  }
  for (const row of dead) await admin((ask) => ask("deldlqmsg", { id: row.id }), now() + 30000);
  const rest = await admin((ask) => listAll(ask, "getdlqmsgs"), now() + 30000);
  complete = rest.length === 0 && !operatorError;
} catch (error) {
  print(`the drain failed: ${error.message}`);
}
log({ e: "drained", complete });

const result = check(events, checkOptions);
result.checks.push({ name: "counters-true", what: "getlivestats equals a count by listing", ok: counters.equal, seen: 4, allowed: 0, bad: counters.equal ? [] : [JSON.stringify(counters)] });
if (counters.equal) result.passed++;
else result.failed++;
await new Promise((resolve) => file.end(resolve));
writeFileSync(join(out, "result.json"), `${JSON.stringify({ seed, ...result }, null, 1)}\n`);
if (!arg.keep) await cluster.downAll().catch((error) => print(`down: ${error.message}`));
finish(result, seed, replay);
process.exit();
