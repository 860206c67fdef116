// The manual's quick start through each of three nodes, and three clients on three nodes that pass
// messages to one another.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Cluster, until } from "./lib.mjs";

let cluster;
before(async () => { cluster = await Cluster.up({ nodes: 3 }); }, { timeout: 120000 });
after(() => cluster?.down());

for (const node of [0, 1, 2]) {
  test(`the manual's quick start through node ${node + 1}`, async () => {
    const subscriber = await cluster.subscriber(1, { node });
    assert.match(subscriber.loginReply.sessionid, /^[0-9a-f]{8}-[0-9a-f]{4}-7/);
    const publisher = await cluster.publisher({ node });
    assert.deepEqual(publisher.loginReply, { status: "Success." });
    const reply = await publisher.ask({ body: "Hello" });
    assert.equal(reply.status, "Success.");
    const message = await subscriber.message();
    assert.deepEqual({ id: message.id, type: message.type, body: message.body }, { id: reply.id, type: 1, body: "Hello" });
    assert.deepEqual(await subscriber.ask({ id: message.id, ack: 1 }), { id: message.id, status: "Success." });
    assert.deepEqual(await subscriber.ask({ logout: true }), { status: "Logout Success." });
    assert.equal(await subscriber.closed, 1000);
    publisher.drop();
  });
}

test("three clients on three nodes pass messages to one another", async () => {
  const rounds = 30;
  const publishers = [];
  const subscribers = [];
  for (const node of [0, 1, 2]) {
    publishers.push(await cluster.publisher({ node }));
    subscribers.push(await cluster.subscriber(1, { node }));
  }
  // Whoever gets a message acknowledges it and passes the next number on through its own node.
  await publishers[0].ask({ body: "0" });
  const seen = [];
  const work = subscribers.map(async (subscriber, i) => {
    while (seen.length < rounds) {
      let message;
      try { message = await subscriber.message(1000); } catch { continue; }
      const number = Number(message.body);
      seen.push(number);
      assert.equal((await subscriber.ask({ id: message.id, ack: 1 })).status, "Success.");
      if (number + 1 < rounds) assert.equal((await publishers[i].ask({ body: String(number + 1), durability: number % 3 })).status, "Success.");
    }
  });
  await Promise.all(work);
  assert.deepEqual(seen, [...Array(rounds).keys()]);
  for (const c of [...publishers, ...subscribers]) c.drop();
});

test("all nodes have applied the same log", async () => {
  await until(() => {
    const all = cluster.info.nodes.map((n) => cluster.ctl(n.id, "cluster", "status"));
    return all.every((s) => s.applied_index === all[0].applied_index && s.chain === all[0].chain);
  });
});
