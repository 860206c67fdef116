// The manual's "Who gets a message", "Acknowledge or reject" and "Subscribers" but for sessions: the line and capacity,
// acks and nacks, notices, what a logout gives back, and what ends a connection.
import assert from "node:assert/strict";
import { after, before } from "node:test";
import { casesOf, isId, refused, succeeds } from "./cases.mjs";
import { Cluster, until } from "./lib.mjs";

const NOBODY = "01a1c09f-62da-7000-a30b-0817c9a42e3f";
const WRITE_QUEUE_BYTES = 262144;
let cluster;
before(async () => { cluster = await Cluster.up({ nodes: 3, set: { "max-write-queue-bytes": WRITE_QUEUE_BYTES, "saved-session-timeout-secs": 60 } }); }, { timeout: 120000 });
after(() => cluster?.down());
const it = casesOf(() => cluster);

const ids = (messages) => messages.map((m) => m.id);

it("frames have the text of the manual's examples", async (desk) => {
  const s = await desk.subscriber(2, { context: "s" });
  isId(s.sessionid);
  const p = await desk.publisher();
  const before = Math.floor(Date.now() / 1000);
  const id = await desk.publish(p, "Order \"1234\" is ready", { publisherkey: "order-1234" });
  const { recdat } = await s.message();
  assert.ok(recdat >= before - 1 && recdat <= Date.now() / 1000 + 1);
  await desk.ack(s, id);
  const other = await desk.publish(p, "x");
  await s.message();
  await desk.command("delmsg", { id: other });
  await s.notice();
  await desk.publish(p, "y");
  const { id: third } = await s.message();
  await desk.command("movetodlq", { id: third });
  await s.notice();
  await s.ask({ id: third, ack: 1 });
  await s.ask({ capacity: 2, context: 1 });
  await s.ask({ logout: true, context: "bye" });
  assert.equal(await s.closed, 1000);
  assert.deepEqual(s.texts.filter((text) => !text.includes("recdat")).concat(s.texts[1]), [
    `{"context":"s","status":"Success.","sessionid":"${s.sessionid}"}`,
    `{"id":"${id}","status":"Success."}`,
    `{"deleted":true,"id":"${other}"}`,
    `{"movedtodlq":true,"id":"${third}"}`,
    '{"status":"Failure.","code":301,"reason":"Invalid message id."}',
    '{"context":1,"status":"Success."}',
    '{"context":"bye","status":"Logout Success."}',
    `{"id":"${id}","publisherkey":"order-1234","type":1,"body":"Order \\"1234\\" is ready","recdat":${recdat}}`,
  ]);
});

it("a reply comes before the messages that it makes room for, a login's too", async (desk) => {
  const p = await desk.publisher();
  const all = await desk.publishAll(p, 8);
  const s = await desk.subscriber(1, {}, { node: 1 });
  await s.message();
  s.burst({ id: all[0], ack: 1 }, { capacity: 3 }, { id: all[1], ack: 0 }, { id: all[4], ack: 1, context: 1 });
  await s.replies(4);
  await s.messages(4);
  const order = s.texts.map((text) => JSON.parse(text)).map((f) => (f.body ? `message ${f.body}` : `${f.code ?? "reply"} ${f.id ? all.indexOf(f.id) : "-"}`));
  assert.deepEqual(order, ["reply -", "message 0", "reply 0", "message 1", "reply -", "message 2", "message 3", "reply 1", "message 4", "reply 4", "message 5"]);
});

it("the first in the line that has room, whatever happens to the line", async (desk) => {
  const p = await desk.publisher();
  const line = [];
  for (const node of [0, 1, 2, 0]) line.push(await desk.subscriber(1, {}, { node }));
  const [a, b, c, d] = line;
  const goesTo = async (s) => {
    const id = await desk.publish(p, "x");
    assert.equal((await s.message()).id, id);
    for (const other of line) if (other.closeCode === undefined) await other.hasNothing();
    return id;
  };
  const one = await goesTo(a);
  const two = await goesTo(b);
  succeeds(await a.ask({ capacity: 2 }));
  const three = await goesTo(a);
  await desk.ack(b, two);
  await desk.ack(a, one);
  await goesTo(a);
  succeeds(await a.ask({ capacity: 1 })); // holds two
  await goesTo(b);
  await goesTo(c);
  await desk.ack(a, three); // holds one: still no room
  await goesTo(d);
  const waiting = await desk.publish(p, "nobody has room");
  await a.hasNothing();
  succeeds(await b.ask({ capacity: 2 }));
  assert.equal((await b.message()).id, waiting);
  await desk.logout(b); // two messages, no room: they wait
  const e = await desk.subscriber(2);
  line.push(e);
  await e.messages(2);
  await desk.logout(a);
  const f = await desk.subscriber(2);
  line.push(f);
  await f.message();
  succeeds(await c.ask({ capacity: 2 }));
  await goesTo(c);
  await goesTo(f);
});

it("a capacity lowered below what is held: each answer and each notice counts down", async (desk) => {
  const p = await desk.publisher();
  const s = await desk.subscriber(5);
  const all = await desk.publishAll(p, 9);
  await s.messages(5);
  succeeds(await s.ask({ capacity: 1 }));
  await desk.ack(s, all[0]);
  await desk.nack(s, all[1]);
  await desk.command("delmsg", { id: all[2] });
  assert.deepEqual(await s.notice(), { deleted: true, id: all[2] });
  await desk.ack(s, all[3]);
  await s.hasNothing();
  await desk.command("movetodlq", { id: all[4] });
  assert.deepEqual(await s.notice(), { movedtodlq: true, id: all[4] });
  assert.equal((await s.message()).id, all[5]);
  await s.hasNothing();
  succeeds(await s.ask({ capacity: 1024.0 }));
  assert.deepEqual(ids(await s.messages(3)), all.slice(6));
});

it("max-subscriber-capacity binds new logins and changes, not who is there", async (desk) => {
  const p = await desk.publisher();
  const s = await desk.subscriber(10);
  succeeds(await desk.command("setcfg", { "max-subscriber-capacity": 3 }));
  try {
    const all = await desk.publishAll(p, 12);
    assert.deepEqual(ids(await s.messages(10)), all.slice(0, 10));
    refused(await s.ask({ capacity: 10 }), 300);
    await desk.ack(s, all[0]);
    assert.equal((await s.message()).id, all[10]);
    await desk.fails("subscriber", { capacity: 4 }, 300);
    await desk.subscriber(3);
    succeeds(await s.ask({ capacity: 3 }));
    await s.hasNothing();
  } finally {
    succeeds(await desk.command("setcfg", { "max-subscriber-capacity": 1024 }));
  }
});

it("301: only a message that this subscriber holds now", async (desk) => {
  const p = await desk.publisher();
  const a = await desk.subscriber(1);
  const b = await desk.subscriber(1);
  const [mine, other, waiting] = await desk.publishAll(p, 3);
  const delayed = await desk.publish(p, "delayed", { delay: 3600 });
  await a.message();
  await b.message();
  const copy = await desk.copySubscriber();
  for (const id of [other, waiting, delayed, NOBODY, mine.slice(0, -1), `${mine} `, ` ${mine}`, `{${mine}}`, mine.replaceAll("-", ""), "", 5, null, [mine]])
    for (const ack of [0, 1]) assert.equal(refused(await a.ask({ id, ack, context: 9 }), 301), 9);
  refused(await a.ask({ ack: 1 }), 301);
  refused(await a.ask({ id: NOBODY, ack: 7 }), 301);
  for (const ack of [2, -1, 0.5, "1", true, null, [1], {}]) refused(await a.ask({ id: mine, ack }), 302);
  refused(await a.ask({ id: mine }), 304);
  refused(await copy.ask({ id: mine, ack: 1 }), 306);
  assert.deepEqual(await a.ask(`{"ack":10e-1,"id":"${mine}"}`), { id: mine, status: "Success." });
  for (const ack of [0, 1]) refused(await a.ask({ id: mine, ack }), 301);
  assert.equal((await a.message()).id, waiting);
  await desk.nack(a, waiting);
  for (const ack of [0, 1]) refused(await a.ask({ id: waiting, ack }), 301);
  // Given back and handed to another: no longer the first one's.
  await desk.logout(b);
  assert.equal((await a.message()).id, other);
  await desk.logout(a);
  const c = await desk.subscriber(1);
  assert.equal((await c.message()).id, other);
  await desk.ack(c, other);
});

it("of several requests in one frame only the first of logout, ack and capacity is done", async (desk) => {
  const p = await desk.publisher();
  const s = await desk.subscriber(1);
  const [id, next] = await desk.publishAll(p, 2);
  await s.message();
  refused(await s.ask({ capacity: 2, ack: 1, id, logout: false }), 303);
  refused(await s.ask({ capacity: 2, ack: 5, id }), 302);
  refused(await s.ask({ capacity: 2, ack: 1, id: next }), 301);
  await s.hasNothing();
  assert.deepEqual(await s.ask({ capacity: 2, ack: 1, id }), { id, status: "Success." });
  assert.equal((await s.message()).id, next);
  await desk.publish(p, "no room, for the capacity is still 1");
  await s.hasNothing();
  assert.deepEqual(await s.ask({ capacity: 2, ack: 1, id: next, logout: true }), { status: "Logout Success." });
  assert.equal(await s.closed, 1000);
  assert.ok((await desk.list()).includes(next));
});

it("a nack is final: the dead letter queue has it, and nobody gets it again", async (desk) => {
  const p = await desk.publisher();
  const s = await desk.subscriber(3);
  const dead = [await desk.publish(p, "a"), await desk.publish(p, "b", { durability: 2, publisherkey: "k" })];
  await s.messages(2);
  for (const id of dead) await desk.nack(s, id);
  await s.hasNothing();
  await desk.logout(s);
  const other = await desk.subscriber(3);
  await other.hasNothing();
  assert.deepEqual(await desk.list("getdlqmsgs"), dead);
  assert.deepEqual(await desk.list(), []);
  const { msg } = await desk.command("getdlqmsg", { id: dead[1] });
  assert.deepEqual([msg.body, msg.publisherkey], ["b", "k"]);
});

it("305: a message of durability 0 cannot be rejected; it is still held, and can be acknowledged", async (desk) => {
  const p = await desk.publisher();
  const s = await desk.subscriber(1);
  const id = await desk.publish(p, "in memory", { durability: 0 });
  const next = await desk.publish(p, "next", { durability: 0 });
  await s.message();
  assert.equal(refused(await s.ask({ id, ack: 0, context: 3 }), 305), 3);
  refused(await s.ask({ id: next, ack: 0 }), 301);
  await s.hasNothing();
  assert.deepEqual([await desk.list("getdlqmsgs"), (await desk.stats()).durable], [[], 0]);
  await desk.ack(s, id);
  assert.equal((await s.message()).id, next);
});

it("notices go to the one who holds the message, and to nobody else", async (desk) => {
  const p = await desk.publisher();
  const a = await desk.subscriber(1);
  const b = await desk.subscriber(1, {}, { node: 1 });
  for (const [cmd, notice] of [["delmsg", { deleted: true }], ["movetodlq", { movedtodlq: true }]]) {
    const [held, other, waiting] = await desk.publishAll(p, 3);
    const delayed = await desk.publish(p, "delayed", { delay: 3600 });
    await a.message();
    await b.message();
    for (const id of [waiting, delayed]) succeeds(await desk.command(cmd, { id }));
    await a.hasNothing();
    await b.hasNothing();
    succeeds(await desk.command(cmd, { id: other }));
    assert.deepEqual(await b.notice(), { ...notice, id: other });
    for (const ack of [0, 1]) refused(await b.ask({ id: other, ack }), 301);
    await a.hasNothing();
    await desk.ack(a, held);
    refused(await desk.command("delmsg", { id: held }), 301);
    await a.hasNothing();
  }
});

it("a notice comes behind its message and before the next, and also for one of durability 0", async (desk) => {
  const p = await desk.publisher();
  const s = await desk.subscriber(1);
  const [a, b] = await desk.publishAll(p, 2, { durability: 0 });
  await s.message();
  s.texts.length = 0;
  succeeds(await desk.command("delmsg", { id: a }));
  assert.equal((await s.message()).id, b);
  assert.deepEqual(s.texts.map((text) => JSON.parse(text).id), [a, b]);
  assert.equal(s.texts[0], `{"deleted":true,"id":"${a}"}`);
});

it("a logout gives what is held to the first in the line with room, in its order and unchanged", async (desk) => {
  const p = await desk.publisher();
  const a = await desk.subscriber(4);
  const b = await desk.subscriber(1);
  const c = await desk.subscriber(2);
  const d = await desk.subscriber(5);
  await desk.publish(p, "0", { publisherkey: "k:0" });
  await desk.publish(p, "MQ==", { type: 2, durability: 2 });
  await desk.publish(p, "2", { delay: 0 });
  await desk.publish(p, "3", { durability: 1 });
  const held = await a.messages(4);
  const mine = await desk.publish(p, "b's own");
  assert.equal((await b.message()).id, mine);
  await desk.logout(a);
  assert.deepEqual(await c.messages(2), held.slice(0, 2));
  assert.deepEqual(await d.messages(2), held.slice(2));
  await b.hasNothing();
  for (const m of held.slice(2)) await desk.ack(d, m.id);
  await desk.failsToResume(a.sessionid);
});

it("what is given back goes behind all that waits, when nobody has room, and before what comes later", async (desk) => {
  const p = await desk.publisher();
  const a = await desk.subscriber(2);
  const [one, two, three, four] = await desk.publishAll(p, 4);
  await a.messages(2);
  await desk.logout(a);
  const five = await desk.publish(p, "5");
  const memory = await desk.publish(p, "6", { durability: 0 });
  const b = await desk.subscriber(10);
  assert.deepEqual(ids(await b.messages(6)), [three, four, one, two, five, memory]);
  await desk.logout(b);
  const seven = await desk.publish(p, "7");
  const c = await desk.subscriber(10);
  const got = ids(await c.messages(7));
  assert.deepEqual(got.filter((id) => id !== memory), [three, four, one, two, five, seven]);
  assert.ok(got.includes(memory));
});

it("a logout: the reply, close code 1000, and nothing after it counts", async (desk) => {
  const p = await desk.publisher();
  const s = await desk.subscriber(3);
  const all = await desk.publishAll(p, 3);
  await s.messages(3);
  s.burst({ id: all[0], ack: 1 }, { logout: 1 }, { id: all[1], ack: 0, context: 2 }, { logout: true, context: 3 }, { id: all[2], ack: 1, context: 4 }, "no JSON");
  assert.deepEqual(await s.reply(), { id: all[0], status: "Success." });
  refused(await s.reply(), 303);
  assert.deepEqual(await s.reply(), { context: 2, id: all[1], status: "Success." });
  assert.deepEqual(await s.reply(), { context: 3, status: "Logout Success." });
  assert.equal(await s.closed, 1000);
  assert.deepEqual(s.frames, []);
  assert.deepEqual([await desk.list(), await desk.list("getdlqmsgs")], [[all[2]], [all[1]]]);
  const { subscribers, saved } = await desk.stats();
  assert.deepEqual([subscribers, saved], [0, 0]);
});

it("what is JSON but no request is refused, and the connection goes on", async (desk) => {
  const p = await desk.publisher();
  const s = await desk.subscriber(1);
  for (const value of ["{}", "[]", "5", '"x"', "null", " false\n", { body: "x" }, { cmd: "getcfg" }, { id: NOBODY }, { Ack: 1, id: NOBODY }, { username: "x" }, { replay: true }]) refused(await s.ask(value), 304);
  for (const logout of [false, 1, 0, "true", null, {}, []]) refused(await s.ask({ logout }), 303);
  for (const capacity of [0, 1025, -1, 1.5, "2", null, true, [2]]) refused(await s.ask({ capacity }), 300);
  assert.equal(refused(await s.ask({ context: "mine" }), 304), "mine");
  const id = await desk.publish(p, "x");
  assert.equal((await s.message()).id, id);
});

it("what is not JSON gets 100 and ends the connection without a code; it is a drop", async (desk) => {
  const p = await desk.publisher();
  let sessionid;
  const id = await desk.publish(p, "held");
  const first = await desk.subscriber(1);
  await first.message();
  await first.drop();
  ({ sessionid } = first);
  for (const value of ["Hello", "", "{", `{"id":"${id}","ack":1}}`, `{"id":"${id}","ack":1,"ack":1}`, "\ufeff{}", "'x'", Buffer.from(`{"id":"${id}","ack":1}`), Buffer.alloc(0)]) {
    const s = await until(() => desk.resume(sessionid, { replay: true }));
    assert.equal((await s.message()).id, id);
    s.burst(value, { id, ack: 1 });
    refused(await s.reply(), 100);
    await s.endsWithoutCode();
    assert.deepEqual(s.frames, []);
    ({ sessionid } = s);
  }
  const s = await until(() => desk.resume(sessionid));
  await s.hasNothing();
  await desk.ack(s, id);
});

it("who does not read is paced: the next in the line gets the rest, and what waits is neither lost nor sent twice", async (desk) => {
  const p = await desk.publisher();
  const slow = await desk.subscriber(1024, {}, { perMessageDeflate: false });
  const next = await desk.subscriber(1024, {}, { node: 1 });
  slow.socket._socket.pause();
  const body = "w".repeat(60000);
  const all = [];
  const toNext = [];
  while (toNext.length < 5 && all.length < 600) {
    all.push(await desk.publish(p, body, { durability: all.length % 3 }));
    await next.fence();
    toNext.push(...next.frames.splice(0).map((m) => m.id));
  }
  assert.ok(toNext.length >= 5, `all ${all.length} messages went to one that does not read`);
  assert.equal((await desk.stats()).subscribers, 2);
  slow.socket._socket.resume();
  const got = ids(await slow.messages(all.length - toNext.length));
  assert.deepEqual([...got, ...toNext].sort(), [...all].sort());
  assert.deepEqual(got, [...got].sort());
  await slow.hasNothing();
  const last = await desk.publish(p, "the first one again");
  assert.equal((await slow.message()).id, last);
});

it("a large capacity and many messages: each exactly once, in order, while acks go on", async (desk) => {
  const p = await desk.publisher();
  const s = await desk.subscriber(1024, {}, { node: 2 });
  const count = 3000;
  p.burst(...[...Array(count).keys()].map((i) => ({ body: `${i}`, durability: 1 })));
  const bodies = [];
  while (bodies.length < count) {
    const m = await s.message();
    bodies.push(Number(m.body));
    s.send({ id: m.id, ack: 1 });
  }
  assert.deepEqual(bodies, [...Array(count).keys()]);
  assert.ok((await s.replies(count)).every((r) => r.status === "Success."));
  await s.hasNothing();
  assert.deepEqual(await desk.list(), []);
});
