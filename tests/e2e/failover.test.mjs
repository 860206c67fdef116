// The leader is killed in the middle of the work, stopped in order, and frozen.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Cluster, until } from "./lib.mjs";

let cluster;
before(async () => { cluster = await Cluster.up({ nodes: 3, set: { "saved-session-timeout-secs": 60, "election-ms": 1000 } }); }, { timeout: 120000 });
after(() => cluster?.down());

const LONGEST_MS = 10000; // without a confirm; a reply that never comes takes twice as long

/** Publishes until told to stop, at whatever node answers; gives the bodies that were confirmed. */
function publishing(name) {
  const confirmed = new Set();
  let going = true;
  let longest = 0;
  const work = (async () => {
    let client = null;
    let node = 0;
    let last = Date.now();
    for (let i = 0; going; i++) {
      const body = `${name}-${i}`;
      try {
        client ??= await cluster.publisher({ node: node++ % 3 });
        const reply = await client.ask({ body, durability: 1 + (i % 2) }, 2 * LONGEST_MS);
        if (reply.status !== "Success.") continue;
        confirmed.add(body);
        longest = Math.max(longest, Date.now() - last);
        last = Date.now();
      } catch {
        client?.drop();
        client = null;
      }
    }
    client?.drop();
  })();
  return { confirmed, stop: async () => { going = false; await work; return longest; } };
}

async function drain() {
  const bodies = new Set();
  const subscriber = await until(() => cluster.subscriber(1000, { node: 0 }));
  const admin = await until(() => cluster.admin({ node: 0 }));
  await until(async () => {
    for (;;) {
      let message;
      try { message = await subscriber.message(300); } catch { break; }
      bodies.add(message.body);
      await subscriber.ask({ id: message.id, ack: 1 });
    }
    return (await admin.ask({ cmd: "getlivestats" })).csv.startsWith("0,");
  }, 60000);
  await subscriber.ask({ logout: true });
  admin.drop();
  return bodies;
}

for (const how of ["kill", "stop"]) {
  test(`nothing confirmed is lost when the leader is ended by ${how}`, async () => {
    const leader = await cluster.waitLeader();
    const work = publishing(how);
    await until(() => work.confirmed.size > 100);
    await cluster.command(how, String(leader));
    const before = work.confirmed.size;
    await until(() => work.confirmed.size > before + 100);
    const longest = await work.stop();
    assert.notEqual(await cluster.waitLeader(leader), leader);
    await cluster.command("start", String(leader));
    const got = await drain();
    assert.deepEqual([...work.confirmed].filter((body) => !got.has(body)), []);
    assert.ok(longest < LONGEST_MS, `${longest} ms without a confirm`);
  });
}

test("a session is resumed on the new leader with what it held and its place in the line", async () => {
  const leader = await cluster.waitLeader();
  const at = cluster.info.nodes.findIndex((n) => n.id === leader);
  const first = await cluster.subscriber(2, { node: at });
  const second = await cluster.subscriber(10, { node: (at + 1) % 3 });
  const publisher = await cluster.publisher({ node: (at + 2) % 3 });
  const ids = [];
  for (const durability of [1, 2]) ids.push((await publisher.ask({ body: `held ${durability}`, durability })).id);
  for (let i = 0; i < 2; i++) await first.message();
  await cluster.command("kill", String(leader));
  await first.closed;
  await second.closed;
  const again = await until(() => cluster.client("subscriber", { node: (at + 1) % 3, sessionid: first.loginReply.sessionid, replay: true }), undefined, 300);
  const replayed = [await again.message(), await again.message()].map((m) => m.id);
  assert.deepEqual(replayed.sort(), ids.sort());
  for (const id of ids) assert.equal((await again.ask({ id, ack: 1 })).status, "Success.");
  await again.ask({ logout: true });
  await cluster.command("start", String(leader));
});

test("a frozen leader confirms nothing, and another one takes over", async () => {
  const leader = await cluster.waitLeader();
  const at = cluster.info.nodes.findIndex((n) => n.id === leader);
  const publisher = await cluster.publisher({ node: at });
  await cluster.command("pause", String(leader));
  publisher.send({ body: "into the ice", durability: 0, context: 1 });
  const next = await cluster.waitLeader(leader);
  assert.notEqual(next, leader);
  const other = await until(() => cluster.publisher({ node: cluster.info.nodes.findIndex((n) => n.id === next) }));
  assert.equal((await other.ask({ body: "meanwhile" })).status, "Success.");
  await cluster.command("resume", String(leader));
  await publisher.closed;
  assert.deepEqual(publisher.frames, []);
  await drain();
});
