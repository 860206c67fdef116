// Connections of every role come and go through all nodes, in order and in every other way; afterwards nothing of them
// is left: no counter, no descriptor, no memory. CHURN=10000 by environment for the long run.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { after, before, test } from "node:test";
import { CAPACITY, cutMidMessage, kinds } from "./churn_kinds.mjs";
import { Cluster, sleep, until } from "./lib.mjs";

const TOTAL = Number(process.env.CHURN ?? 1500);
const IS_LONG = TOTAL >= 10000;
const WAVE = 84; // a multiple of the kinds and of the nodes: every kind comes through every node
const CUT = { connections: IS_LONG ? 500 : 150, rounds: IS_LONG ? 20 : 6 };
const TASKS = CUT.connections + 20;
const RESIDENTS = 2; // the administrator and the publisher that stay
const LOG_CACHE_BYTES = 32 << 20;
const ALLOWED_KIB = IS_LONG ? 2048 : 1536; // what the log and an allocator may keep: 1.5 KiB a connection in the short run, 0.2 in the long one

let cluster;
let admin;
let publisher;
const patient = []; // connections that wait until the server closes them
before(async () => {
  cluster = await Cluster.up({ nodes: 3, set: { "max-tasks": TASKS, "saved-session-timeout-secs": 4 } });
  admin = await cluster.admin({ node: 0 });
  publisher = await cluster.publisher({ node: 1 });
  await fillLogCache();
}, { timeout: 120000 });
after(() => cluster?.down());

const pids = () => cluster.info.nodes.map((node) => node.pid);
const descriptors = (pid) => readdirSync(`/proc/${pid}/fd`).length;
const residentKib = (pid) => Number(readFileSync(`/proc/${pid}/status`, "utf8").match(/^VmRSS:\s+(\d+)/m)[1]);

async function live() {
  const columns = (await admin.ask({ cmd: "getlivestats" })).csv.split(",").map(Number);
  const [messages, publishers, subscribers, saved, admins, held, dead, delayed, durable] = columns;
  return { messages, publishers, subscribers, saved, admins, held, dead, delayed, durable };
}

async function publish(count, fields) {
  for (let i = 0; i < count; i++) publisher.send({ durability: i % 3, ...fields });
  for (let i = 0; i < count; i++) assert.equal((await publisher.reply()).status, "Success.");
}

/** Takes and acknowledges what is there until the queue is empty and only the residents are left. */
async function settle() {
  const drain = await cluster.subscriber(1024, { node: 2 });
  drain.socket.on("message", (data) => {
    const { id, body } = JSON.parse(String(data));
    if (body !== undefined) drain.send({ id, ack: 1 });
  });
  const wanted = { messages: 0, publishers: 1, subscribers: 1, saved: 0, admins: 1, held: 0, dead: 0, delayed: 0, durable: 0 };
  await until(async () => { assert.deepEqual(await live(), wanted); return true; });
  await drain.ask({ logout: true });
  await drain.closed;
}

/** Each node keeps the newest entries of its log in memory, up to a limit: what it keeps grows until that is reached. */
async function fillLogCache() {
  const body = "x".repeat(60000);
  for (let bytes = 0; bytes < LOG_CACHE_BYTES * 1.1; bytes += 50 * body.length) {
    await publish(50, { body, durability: 1 }); // in large entries, which leave no holes behind
    await settle();
  }
}

/** What each node has in use; the least of a few readings, because checking a password takes 32 MiB for a moment. */
async function inUse() {
  const readings = [];
  for (let i = 0; i < 5; i++) {
    readings.push(pids().map((pid) => ({ fds: descriptors(pid), kib: residentKib(pid) })));
    await sleep(50);
  }
  const least = (what) => pids().map((_, i) => Math.min(...readings.map((reading) => reading[i][what])));
  return { fds: least("fds"), kib: least("kib") };
}

/** Waits until all clients but the residents are gone, and what the nodes use is back at the base. */
async function sample(t, what, base) {
  await admin.ask({ cmd: "setcfg", "no-reply-timeout-secs": 1 });
  await Promise.all(patient.splice(0));
  await admin.ask({ cmd: "setcfg", "no-reply-timeout-secs": 10 });
  await settle();
  let now;
  await until(async () => {
    now = await inUse();
    if (!base) return true;
    assert.deepEqual(now.fds, base.fds, "descriptors are left");
    const growth = now.kib.map((kib, i) => kib - base.kib[i]);
    assert.ok(Math.max(...growth) <= ALLOWED_KIB, `the nodes grew by ${growth.join(", ")} KiB; at most ${ALLOWED_KIB}`);
    return true;
  });
  t.diagnostic(`${what}: descriptors ${now.fds.join(" ")}, resident KiB ${now.kib.join(" ")}`);
  return now;
}

async function wave() {
  const names = Object.keys(kinds);
  const waiting = CAPACITY * WAVE / 2;
  await publish(waiting, { body: "waiting" });
  const jobs = Array.from({ length: WAVE }, (_, i) => {
    const name = names[i % names.length];
    const job = kinds[name](cluster, Math.floor(i / names.length) % 3).catch((error) => { throw new Error(`${name}: ${error.message}`, { cause: error }); });
    job.catch(() => {}); // whoever waits for it is told
    return name.endsWith("waits") ? void patient.push(job) : job;
  });
  for (const result of await Promise.allSettled(jobs)) if (result.status === "rejected") throw result.reason;
}

test(`${TOTAL} connections come and go, and nothing of them is left`, async (t) => {
  const waves = Math.ceil(TOTAL / WAVE);
  let base;
  for (let i = 1; i <= waves; i++) {
    await wave();
    if (i % 6 === 0 || i === waves) {
      const now = await sample(t, `wave ${i}`, base);
      base ??= now;
    }
  }
});

test(`${CUT.connections} compressed connections cut in a message, ${CUT.rounds} times, leave nothing`, async (t) => {
  let base;
  const roles = ["publisher", "subscriber", "admin", ""];
  for (let i = 1; i <= CUT.rounds; i++) {
    await Promise.all(Array.from({ length: CUT.connections }, (_, k) => cutMidMessage(cluster, k % 3, roles[k % roles.length])));
    const now = await sample(t, `round ${i}`, base);
    base ??= now;
  }
});

test("every place for a connection is free again", async () => {
  const clients = [];
  for (let i = RESIDENTS; i < TASKS; i++) clients.push(await cluster.publisher({ node: i % 3, queuetype: i % 2 ? "copy" : "distribute" }));
  await assert.rejects(cluster.publisher(), /closed|hang up|ECONNRESET/);
  for (const client of clients) client.drop();
  await settle();
});
