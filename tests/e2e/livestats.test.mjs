// The live counters are what is there: after a bit of everything, with the leader killed in the middle of it and another
// one that hands over, each column equals what a count by listing gives, and what the clients themselves hold.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Cluster, sleep, until } from "./lib.mjs";
import { Administrator, LONG_DELAY, Publisher, Subscriber } from "./livestats_load.mjs";

const PAGE = 100;
const SAVED_SECS = 60; // a session that nobody can resume, its id being lost, is gone after that

let cluster;
let publishers;
let subscribers;
let administrators;
before(async () => { cluster = await Cluster.up({ nodes: 3, set: { "saved-session-timeout-secs": SAVED_SECS } }); }, { timeout: 120000 });
after(() => cluster?.down());

const admin = () => administrators[0].client;
const actors = () => [...publishers, ...subscribers, ...administrators];

async function live() {
  const columns = (await admin().ask({ cmd: "getlivestats" })).csv.split(",").map(Number);
  const [messages, publisherCount, subscriberCount, saved, admins, held, dead, delayed, durable] = columns;
  return { messages, publishers: publisherCount, subscribers: subscriberCount, saved, admins, held, dead, delayed, durable };
}

/** All rows of a list, from the start, or from the end. */
async function list(cmd, isBackwards) {
  const rows = [];
  for (let id = ""; ;) {
    const { csv } = await admin().ask({ cmd, count: PAGE, [isBackwards ? "before" : "after"]: id });
    const page = csv.split("\n").slice(0, -1).map((row) => {
      const [name, , delay, durability] = row.split(",");
      return { id: name, delay: Number(delay), durability: Number(durability) };
    });
    if (page.length === 0) return rows;
    if (isBackwards) rows.unshift(...page);
    else rows.push(...page);
    id = page.at(isBackwards ? 0 : -1).id;
  }
}

/** The counters, as a count of everything gives them. */
async function count(saved) {
  const [rows, dead] = [await list("getmsgs"), await list("getdlqmsgs")];
  assert.deepEqual(await list("getmsgs", true), rows);
  assert.deepEqual(await list("getdlqmsgs", true), dead);
  const held = subscribers.flatMap((subscriber) => [...subscriber.held]);
  const ids = new Set(rows.map(({ id }) => id));
  assert.equal(new Set(held).size, held.length, "a message is held twice");
  assert.deepEqual(held.filter((id) => !ids.has(id)), [], "messages are held that are not listed");
  const delayed = rows.filter(({ delay }) => delay === LONG_DELAY).length;
  const waiting = rows.length - held.length - delayed;
  if (waiting > 0) for (const { held: mine, capacity } of subscribers) assert.ok(mine.size >= capacity, `${waiting} wait, and a subscriber with ${mine.size} of ${capacity} gets none`);
  return {
    messages: rows.length + dead.length, publishers: publishers.length, subscribers: subscribers.length - saved, saved, admins: administrators.length,
    held: held.length, dead: dead.length, delayed, durable: [...rows, ...dead].filter(({ durability }) => durability > 0).length,
  };
}

/** Waits until what was on its way has arrived: the counters are the counted ones. */
async function compare(t, what, saved = 0) {
  const counters = await until(async () => { const now = await live(); assert.deepEqual(now, await count(saved)); return now; }, (SAVED_SECS + 30) * 1000, 100);
  t.diagnostic(`${what}: ${Object.entries(counters).map(([name, value]) => `${name} ${value}`).join(", ")}`);
  return counters;
}

async function load() {
  publishers = [0, 1, 2].map((i) => new Publisher(cluster, i));
  subscribers = [0, 1, 2, 3, 4, 5].map((i) => new Subscriber(cluster, i, 1 + 5 * i));
  administrators = [0, 1].map((i) => new Administrator(cluster, i));
  await sleep(3000);
  const leader = await cluster.waitLeader();
  await cluster.command("kill", String(leader));
  await cluster.waitLeader(leader);
  await sleep(3000);
  await cluster.command("start", String(leader));
  await Promise.all(actors().map((actor) => actor.stop()));
  await publishers[0].publish(500); // more than the subscribers may hold
  await sleep(1200); // the short delays end
}

test("the live counters equal a count of everything", async (t) => {
  await load();
  const counters = await compare(t, "after the load and a killed leader");
  assert.ok(Math.min(counters.held, counters.dead, counters.delayed, counters.durable) > 0 && counters.messages > counters.held + counters.dead + counters.delayed, "there is something of each kind");

  await subscribers[5].leave();
  await until(async () => (await live()).saved === 1);
  await compare(t, "with a saved session", 1);

  const leader = await cluster.waitLeader();
  cluster.ctl(leader, "cluster", "step-down");
  await cluster.waitLeader(leader);
  await until(() => actors().every(({ client }) => client === null || client.closeCode !== undefined));
  await Promise.all(actors().map((actor) => actor.comeBack()));
  assert.deepEqual(await compare(t, "after a hand-over, all back"), counters); // durability 0 too
});
