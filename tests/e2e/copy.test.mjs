// The manual's copy queues: who gets a message, what the replies say, what is refused, and that nothing is kept.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { casesOf, refused, succeeds } from "./cases.mjs";
import { Cluster, until } from "./lib.mjs";

const WRITE_QUEUE_BYTES = 262144;
let cluster;
before(async () => { cluster = await Cluster.up({ nodes: 3, set: { "max-write-queue-bytes": WRITE_QUEUE_BYTES } }); }, { timeout: 120000 });
after(() => cluster?.down());
const it = casesOf(() => cluster);

const got = (subscribers) => ({ status: "Success.", subscribers });

it("replies and messages have the text of the manual's examples", async (desk) => {
  const s = await desk.login("subscriber", { queuetype: "copy", context: "s" });
  const p = await desk.login("publisher", { queuetype: "copy", context: 1.0 });
  const begin = Date.now() / 1000;
  await p.ask({ body: "é\n\u0000", context: "7" });
  assert.deepEqual(p.texts, ['{"context":1,"status":"Success."}', '{"context":"7","status":"Success.","subscribers":1}']);
  const { recdat } = await s.message();
  assert.ok(recdat > begin - 3 && recdat < Date.now() / 1000 + 3);
  assert.deepEqual(s.texts, ['{"context":"s","status":"Success."}', `{"type":1,"body":"é\\n\\u0000","recdat":${recdat}}`]);
});

it("every subscriber at every node gets it, through whichever node it was published", async (desk) => {
  const publishers = [];
  const subscribers = [];
  for (const node of [0, 1, 2]) publishers.push(await desk.copyPublisher({ node }));
  for (const [i, node] of [0, 1, 2, 0, 1].entries()) {
    subscribers.push(await desk.copySubscriber({ node }));
    for (const [k, p] of publishers.entries()) {
      assert.deepEqual(await p.ask({ body: `${i} ${k}` }), got(i + 1));
      for (const s of subscribers) assert.equal((await s.message()).body, `${i} ${k}`);
    }
  }
  for (const s of subscribers) await s.hasNothing();
  for (let left = 4; left >= 3; left--) {
    await subscribers[left].drop();
    await until(async () => (await publishers[0].ask({ body: "who is there" })).subscribers === left);
  }
});

it("each subscriber gets all messages of a publisher in their order, and the replies keep theirs", async (desk) => {
  const subscribers = [await desk.copySubscriber(), await desk.copySubscriber({ node: 1 })];
  const p = await desk.copyPublisher({ node: 2 });
  p.burst(...[...Array(200).keys()].map((i) => ({ body: i % 9 === 4 ? i : `${i}`, context: i })));
  const replies = await p.replies(200);
  assert.deepEqual(replies.map((r) => [r.context, r.code ?? r.subscribers]), [...Array(200).keys()].map((i) => [i, i % 9 === 4 ? 200 : 2]));
  const bodies = [...Array(200).keys()].filter((i) => i % 9 !== 4).map(String);
  for (const s of subscribers) {
    assert.deepEqual((await s.messages(bodies.length)).map((m) => m.body), bodies);
    await s.hasNothing();
  }
});

it("all three forms of a message, and the largest", async (desk) => {
  const s = await desk.copySubscriber();
  const p = await desk.copyPublisher({ perMessageDeflate: false });
  const values = [
    [Buffer.alloc(0), "", 2], [Buffer.from('{"body":"x"}'), "eyJib2R5IjoieCJ9", 2], [{ body: "aGVsbG8=", type: 2 }, "aGVsbG8=", 2], [{ body: "", type: 2 }, "", 2],
    ["", "", 1], ["Hello", "Hello", 1], ["[1]", "[1]", 1], [{ body: "" }, "", 1], [{ body: "x", type: 1.0 }, "x", 1], ["p".repeat(65536), "p".repeat(65536), 1], [Buffer.alloc(65536), Buffer.alloc(65536).toString("base64"), 2],
  ];
  for (const [value, body, type] of values) {
    assert.deepEqual(await p.ask(value), got(1));
    const { recdat, ...m } = await s.message();
    assert.deepEqual(m, { type, body });
  }
  p.send("p".repeat(65537));
  assert.equal(await p.closed, 1009);
});

it("delay, durability and publisherkey are refused when they are there, whatever they say", async (desk) => {
  const s = await desk.copySubscriber();
  const p = await desk.copyPublisher();
  for (const [field, code] of [["delay", 207], ["durability", 208], ["publisherkey", 209]])
    for (const value of [0, 1, null, "", "k", -1, [], {}, true]) assert.equal(refused(await p.ask({ body: "x", context: 3, [field]: value }), code), 3);
  const all = { delay: 0, durability: 1, publisherkey: "k" };
  refused(await p.ask({ ...all, body: "x" }), 207);
  refused(await p.ask(all), 206);
  refused(await p.ask({ ...all, body: "x", type: 3 }), 201);
  refused(await p.ask({ ...all, body: "!", type: 2 }), 202);
  refused(await p.ask({ ...all, body: 1 }), 200);
  await s.hasNothing();
  assert.deepEqual(await p.ask({ body: "the connection goes on" }), got(1));
});

it("a message in the login: the publish's reply or its refusal", async (desk) => {
  const s = await desk.copySubscriber();
  const p = await desk.open(1);
  assert.deepEqual(await p.ask(cluster.login("publisher", { queuetype: "copy", body: "aGk=", type: 2, context: 5 })), { context: 5, ...got(1) });
  const { recdat, ...m } = await s.message();
  assert.deepEqual(m, { type: 2, body: "aGk=" });
  assert.deepEqual(await p.ask("and on"), got(1));
  await s.message();
  for (const [fields, code] of [[{ delay: 0 }, 207], [{ durability: 0 }, 208], [{ publisherkey: "k" }, 209], [{ type: 0 }, 201], [{ password: "wrong" }, 107]])
    assert.equal((await desk.fails("publisher", { queuetype: "copy", body: "x", context: "c", ...fields }, code)).context, "c");
  await s.hasNothing();
});

it("a subscriber's JSON is refused with 306, and it goes on receiving", async (desk) => {
  const s = await desk.copySubscriber();
  const p = await desk.copyPublisher();
  for (const value of ["{}", "[]", '"x"', "5", "null", " true ", { logout: true }, { id: "01a1c09f-62da-7000-a30b-0817c9a42e3f", ack: 1 }, { capacity: 1 }, { body: "x" }, { cmd: "getcfg" }]) refused(await s.ask(value), 306);
  assert.equal(refused(await s.ask({ logout: true, context: "bye" }), 306), "bye");
  refused(await s.ask({ context: null }), 101);
  assert.deepEqual(await p.ask({ body: "x" }), got(1));
  assert.equal((await s.message()).body, "x");
});

it("a subscriber's frame that is not JSON gets 100, and the connection ends without a code", async (desk) => {
  const p = await desk.copyPublisher();
  for (const value of ["Hello", "", " ", "{", '{"a":1}}', '{"a":1,"a":1}', "\ufeff{}", Buffer.alloc(0), Buffer.from("{}")]) {
    const s = await desk.copySubscriber();
    refused(await s.ask(value), 100);
    await s.endsWithoutCode();
    await until(async () => (await p.ask({ body: "x" })).subscribers === 0);
  }
});

it("capacity, sessionid and replay are nothing to a copy subscriber, and it leaves no session", async (desk) => {
  const s = await desk.login("subscriber", { queuetype: "copy", capacity: 0, sessionid: "x", replay: "y" });
  assert.deepEqual(s.loginReply, { status: "Success." });
  const p = await desk.copyPublisher();
  await p.ask({ body: "x" });
  await s.message();
  await s.drop();
  await until(async () => (await p.ask({ body: "x" })).subscribers === 0);
  const { saved, subscribers, messages } = await desk.stats();
  assert.deepEqual([saved, subscribers, messages], [0, 0, 0]);
});

it("the two types have nothing of each other", async (desk) => {
  const d = await desk.subscriber(5);
  const c = await desk.copySubscriber();
  const pd = await desk.publisher();
  const pc = await desk.copyPublisher();
  assert.deepEqual(await pc.ask({ body: "copy" }), got(1));
  const id = await desk.publish(pd, "distribute");
  assert.equal((await c.message()).body, "copy");
  assert.equal((await d.message()).id, id);
  await c.hasNothing();
  await d.hasNothing();
  assert.deepEqual(await desk.list(), [id]);
  // Without a subscriber of its own type the one waits, the other is gone.
  await desk.ack(d, id);
  await desk.logout(d);
  const waits = await desk.publish(pd, "waits");
  await c.hasNothing();
  await c.drop();
  await until(async () => (await pc.ask({ body: "gone" })).subscribers === 0);
  const later = await desk.copySubscriber();
  await later.hasNothing();
  assert.equal((await (await desk.subscriber(1)).message()).id, waits);
});

it("a subscriber that does not read is cut off when it is over max-write-queue-bytes, and not before", async (desk) => {
  const slow = await desk.copySubscriber({ perMessageDeflate: false });
  const good = await desk.copySubscriber();
  const p = await desk.copyPublisher();
  slow.socket.pause();
  slow.socket._socket.pause();
  const body = "w".repeat(60000);
  let sent = 0;
  for (; sent < 1000; sent++) {
    const { subscribers } = succeeds(await p.ask({ body }));
    await good.message();
    if (subscribers === 1) break;
  }
  assert.ok(sent * body.length > WRITE_QUEUE_BYTES && sent < 1000, `${sent} messages`);
  slow.socket._socket.resume();
  slow.socket.resume();
  assert.equal(await slow.closed, 1006);
  assert.ok(slow.frames.length < sent);
  assert.ok(slow.frames.every((m) => m.body === body));
  assert.deepEqual(await p.ask({ body: "still there" }), got(1));
  assert.equal((await good.message()).body, "still there");
});

it("a publisher that does not read its replies is not read from; none is lost, and it is not cut off", async (desk) => {
  const p = await desk.copyPublisher({ perMessageDeflate: false, node: 1 });
  const count = 20000; // their replies are four times max-write-queue-bytes
  p.socket._socket.pause();
  for (let i = 0; i < count; i++) p.send({ body: "x", context: i });
  const other = await desk.copyPublisher();
  assert.deepEqual(await other.ask({ body: "meanwhile" }), got(0));
  p.socket._socket.resume();
  const replies = await p.replies(count);
  assert.ok(replies.every((r, i) => r.context === i && r.subscribers === 0));
});

test("after the leader's death copy clients begin anew at any node", { timeout: 90000 }, async () => {
  const leader = await cluster.waitLeader();
  const old = await cluster.client("subscriber", { queuetype: "copy", node: leader % 3 });
  await cluster.command("kill", String(leader));
  assert.equal(await old.closed, 1006);
  await cluster.waitLeader(leader);
  const nodes = [leader % 3, (leader + 1) % 3];
  const subscribers = [];
  for (const node of nodes) subscribers.push(await until(() => cluster.client("subscriber", { queuetype: "copy", node })));
  const p = await until(() => cluster.client("publisher", { queuetype: "copy", node: nodes[0] }));
  assert.deepEqual(await p.ask({ body: "again" }), got(2));
  for (const s of subscribers) assert.equal((await s.message()).body, "again");
  for (const c of [p, ...subscribers]) await c.drop();
});
