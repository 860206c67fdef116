// Bad input: each field of each request, absent, null, of a wrong type, empty, at its limit, one over, huge and twice. Nothing crashes, the
// code is the manual's (and of its gaps, the protocol notes'), the connection stays or closes as they say, and a refused request changes nothing.
// The tables are in fields/: a row is what is sent, the expected code and what becomes of the connection.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import * as admins from "./fields/admin.mjs";
import { UNKNOWN_ID, objectText, raw, wholeForms } from "./fields/json.mjs";
import * as logins from "./fields/login.mjs";
import * as publishing from "./fields/publish.mjs";
import { NOT_UTF8, NO_CODE, row, tooBig } from "./fields/rows.mjs";
import { assertNone, assertUnchanged, carry, runFresh, runOpen, runTogether, snapshot } from "./fields/run.mjs";
import * as settings from "./fields/settings.mjs";
import * as subscribing from "./fields/subscriber.mjs";
import { Cluster, until } from "./lib.mjs";

const MESSAGES_MOST = 24;
const MEMORY_MOST = 8 << 20;
let cluster, admin, holder, base, held;

/** A queue with a message in each place: held by holder (one of durability 0 too), delayed, dead. None waits. */
before(async () => {
  cluster = await Cluster.up({ nodes: 1,
    set: { "saved-session-timeout-secs": 3600, "max-messages": MESSAGES_MOST, "max-messages-memory": MEMORY_MOST } });
  base = logins.bases(cluster.info.logins);
  admin = await cluster.admin();
  holder = await cluster.subscriber(2);
  const publisher = await cluster.publisher();
  const publish = async (fields) => (await publisher.ask(fields)).id;
  held = { dead: await publish({ body: "dead" }) };
  await holder.message();
  await admin.ask({ cmd: "movetodlq", id: held.dead });
  await holder.take((f) => f.movedtodlq, "a notice");
  held = { ...held, durable: await publish({ body: "held" }), volatile: await publish({ body: "held", durability: 0 }),
    delayed: await publish({ body: "later", delay: 172800 }) };
  assert.deepEqual([(await holder.message()).id, (await holder.message()).id], [held.durable, held.volatile]);
  await publisher.drop();
}, { timeout: 60000 });
after(() => cluster?.down());

/** A group of rows: what they say, and that the queue looks as before when they are through. */
function group(name, body) {
  test(name, { timeout: 120000 }, async () => {
    await until(async () => (await admin.ask({ cmd: "getlivestats" })).csv === "4,0,1,0,1,2,1,1,3");
    const earlier = await snapshot(admin);
    await body(earlier);
    await assertUnchanged(admin, earlier);
  });
}

/** The connection of a role, for rows that leave it open. */
async function opened(role, more, use) {
  const c = await cluster.client(role, more);
  try {
    return await use(c);
  } finally {
    await c.drop();
  }
}

/** The rows on a connection of that role, which is there before and after. */
async function open(role, more, rows, each) {
  await opened(role, more, async (c) => {
    const earlier = await snapshot(admin);
    assertNone(await runOpen(c, rows, each), rows.length);
    await assertUnchanged(admin, earlier);
  });
}

async function fresh(rows, options) {
  assertNone(await runFresh(cluster, rows, options), rows.length);
}

/** The message is what the row says; then it is deleted. */
async function stored(r, reply) {
  const found = await admin.ask({ cmd: "getmsg", id: reply.id });
  const { body, type, publisherkey } = found.msg ?? {};
  const now = { body, type, publisherkey, delay: found.delay, durability: found.durability };
  const gone = await admin.ask({ cmd: "delmsg", id: reply.id });
  try {
    assert.deepEqual([now, gone], [r.message, { status: "Success." }]);
  } catch {
    return `stored otherwise: ${JSON.stringify(now).slice(0, 300)}`;
  }
  return "";
}

/** One more message is held by nobody: the counters with it are these. Then it is deleted. */
async function waits(csv) {
  const { id } = await admin.ask({ cmd: "addmsg", body: "waits" });
  assert.equal((await admin.ask({ cmd: "getlivestats" })).csv, csv);
  assert.equal((await admin.ask({ cmd: "delmsg", id })).status, "Success.");
}

// --- Login ---

group("login: the fields of every role", () => fresh(logins.common(base)));
group("login: capacity, sessionid and replay", () => fresh(logins.subscribing(base)));
group("login: what is no login",
  () => fresh([...logins.malformed(base, objectText(base.publisher)), ...NOT_UTF8,
    ...tooBig((size) => objectText([...base.publisher, ["nothing", raw("x".repeat(size - objectText(base.publisher).length - 13))]]))]));
group("login: what is taken", () => fresh(logins.taken(base)));

group("login: a refused resume leaves the saved session as it was", async () => {
  const subscriber = await cluster.subscriber(1);
  const publisher = await cluster.publisher();
  const { id } = await publisher.ask({ body: "held by a saved session" });
  await publisher.drop();
  assert.equal((await subscriber.message()).id, id);
  const { sessionid } = subscriber.loginReply;
  const rows = logins.resuming(base, sessionid);
  await fresh(rows.slice(0, 1).map((r) => ({ ...r, code: 109, name: "the session is not saved yet" })));
  await subscriber.drop();
  await until(async () => (await admin.ask({ cmd: "getlivestats" })).csv === "5,0,1,1,1,3,1,1,4");
  const earlier = await snapshot(admin);
  await fresh(rows);
  await assertUnchanged(admin, earlier);
  const again = await cluster.client("subscriber", { sessionid, replay: true });
  assert.equal((await again.message()).id, id);
  await fresh(rows.slice(0, 1).map((r) => ({ ...r, code: 109, name: "the session was resumed" })));
  // Its capacity too is the one it had: a second message waits.
  await waits("6,0,2,0,1,3,1,1,5");
  assert.equal((await again.ask({ id, ack: 1 })).status, "Success.");
  assert.equal((await again.ask({ logout: true })).status, "Logout Success.");
  assert.equal(await again.closed, 1000);
});

const inLogin = (to, rows) => carry(to, rows, { closes: NO_CODE });
group("login: a publish in it that is refused",
  () => fresh([...inLogin(base.publisher, publishing.REFUSED), ...inLogin(base.publisher, publishing.MALFORMED)]));
group("login: a publish in it that is taken", () => fresh(carry(base.publisher, publishing.TAKEN), { each: stored }));
group("login: a publish in it that a copy queue refuses",
  () => fresh(inLogin(base.copyPublisher, publishing.REFUSED_BY_COPY.filter((r) => r.code !== 206))));

// --- Publishers ---

group("publish: refused", () => open("publisher", {}, [...publishing.REFUSED, ...publishing.NO_BODY, ...publishing.MALFORMED]));
group("publish: taken", () => open("publisher", {}, publishing.TAKEN, stored));
group("publish: plain text and binary frames are messages", () => open("publisher", {}, publishing.WHOLE_FRAMES, stored));
const published = (size) => objectText([["body", raw("x".repeat(size - 11))]]);
group("publish: what closes the connection", () => fresh([...NOT_UTF8, ...tooBig(published)], { login: base.publisher }));
group("publish: a message of max-ws-msg-len",
  () => open("publisher", {}, [{ name: "at the limit", text: published(65536), code: 0,
    message: { body: "x".repeat(65525), type: 1, delay: 0, durability: 1, publisherkey: undefined } }], stored));

group("copy: refused", () => open("publisher", { queuetype: "copy" },
  [...publishing.REFUSED_BY_COPY, ...publishing.MALFORMED.filter((r) => r.code === 100)]));
group("copy: taken, and delivered as it was sent", () => opened("subscriber", { queuetype: "copy" }, async (copies) => {
  const delivered = async (r, reply) => {
    const { body, type, recdat, ...rest } = await copies.message();
    const isSame = body === r.message.body && type === r.message.type && Number.isInteger(recdat) && Object.keys(rest).length === 0;
    return isSame && reply.subscribers === 1 && reply.id === undefined ? "" : `delivered otherwise: ${JSON.stringify([type, recdat, rest, reply, body]).slice(0, 300)}`;
  };
  await open("publisher", { queuetype: "copy" }, [...publishing.TAKEN_ANYWHERE, ...publishing.WHOLE_FRAMES], delivered);
  assert.deepEqual(copies.frames, []);
}));

// --- Subscribers ---

group("subscriber: refused", async (earlier) => {
  const elsewhere = [held.delayed, held.dead, holder.loginReply.sessionid];
  const rows = subscribing.refused({ held: held.durable, nacked: held.volatile, elsewhere });
  assertNone(await runOpen(holder, rows), rows.length);
  await assertUnchanged(admin, earlier);
  // Its capacity too is what it was: a third message waits.
  await waits("5,0,1,0,1,2,1,1,4");
});
group("subscriber: a message that another one holds",
  () => open("subscriber", { capacity: 1 },
    [held.durable, held.volatile].flatMap((id) => ["0", "1"].map((ack) => row([["id", raw(id)]], "ack", ack, 301)))));
group("subscriber: what closes the connection",
  () => fresh([...subscribing.CLOSING, ...NOT_UTF8, ...tooBig((size) => `{"capacity":1,"a":"${"x".repeat(size - 20)}"}`)],
    { login: base.subscriber }));
group("subscriber: taken", () => opened("publisher", {}, (publisher) => opened("subscriber", { capacity: 1 }, async (subscriber) => {
  for (const [value, isAck] of wholeForms(0, 1)) {
    const { id } = await publisher.ask({ body: "taken" });
    assert.equal((await subscriber.message()).id, id);
    assertNone(await runOpen(subscriber, [{ ...row([["id", raw(id)]], "ack", value, 0, { context: "1.50" }), keys: ["context", "id", "status"] }]),
      1);
    assert.equal((await admin.ask({ cmd: isAck === 1 ? "getmsg" : "getdlqmsg", id })).code, isAck === 1 ? 301 : undefined, `ack ${value}`);
    if (isAck === 0) assert.equal((await admin.ask({ cmd: "deldlqmsg", id })).status, "Success.");
  }
  const capacities = wholeForms(1, 2, 1024).map(([value]) => ({ ...row([], "capacity", value, 0), keys: ["status"] }));
  assertNone(await runOpen(subscriber, capacities), capacities.length);
  subscriber.send({ logout: true, context: "bye" });
  assert.deepEqual(await subscriber.reply(), { context: "bye", status: "Logout Success." });
  assert.equal(await subscriber.closed, 1000);
})));

group("copy subscriber: refused", () => open("subscriber", { queuetype: "copy" }, subscribing.REFUSED_OF_COPY));
group("copy subscriber: what closes the connection", () => fresh([...subscribing.CLOSING, ...NOT_UTF8], { login: base.copySubscriber }));

// --- Administrators ---

const today = () => { const d = new Date(); return [d.getUTCFullYear(), d.getUTCMonth() + 1, d.getUTCDate()]; };

group("admin: cmd", () => open("admin", {}, [...admins.COMMAND, ...admins.COMMAND_TAKEN]));
group("admin: subscribe", () => open("admin", {}, admins.SUBSCRIBE));
group("admin: getstats", () => open("admin", {}, admins.history("getstats", "average", today())));
group("admin: getusage", () => open("admin", {}, admins.history("getusage", "totals", today())));
group("admin: getmsgs", () => open("admin", {}, admins.page("getmsgs", held.durable)));
group("admin: getdlqmsgs", () => open("admin", {}, admins.page("getdlqmsgs", held.dead)));
for (const [cmd, isOfDead] of [["getmsg", false], ["delmsg", false], ["movetodlq", false], ["getdlqmsg", true], ["deldlqmsg", true]]) {
  group(`admin: ${cmd}`, () => open("admin", {}, [
    ...admins.message(cmd, isOfDead ? held.dead : held.durable, isOfDead ? [held.durable, held.delayed] : [held.dead]),
    ...(cmd === "movetodlq" ? [row([["cmd", raw(cmd)]], "id", raw(held.volatile), 413)] : []),
  ]));
}
const added = [["cmd", '"addmsg"']];
group("admin: addmsg, refused", () => open("admin", {}, carry(added, [...publishing.REFUSED, ...publishing.NO_BODY])));
group("admin: addmsg, taken", () => open("admin", {}, carry(added, publishing.TAKEN), stored));
group("admin: what closes the connection", () => fresh([
  ...admins.CLOSING, ...carry(added, publishing.MALFORMED.filter((r) => r.code === 100), { closes: NO_CODE }), ...NOT_UTF8,
  ...tooBig((size) => `{"cmd":"getcfg","a":"${"x".repeat(size - 23)}"}`),
], { login: base.admin }));

group("admin: setcfg, refused", () => open("admin", {}, [...settings.REFUSED, ...settings.MIXED]));
group("admin: setcfg, taken", async ({ settings: { ...all } }) => {
  const original = Object.keys(settings.WRITABLE).map((name) => [name, raw(all[name][1])]);
  const restore = { name: "restore", members: [["cmd", '"setcfg"'], ...original], code: 0 };
  await open("admin", {}, settings.TAKEN.flatMap((r) => [{ ...r, keys: undefined }, restore]), async (r) => {
    if (r.settings === undefined) return "";
    const now = await admin.ask({ cmd: "getcfg" });
    const wrong = Object.entries(all).filter(([name, [, value]]) => now[name][1] !== (r.settings[name] ?? value));
    return wrong.length === 0 ? "" : `other values: ${JSON.stringify(now)}`;
  });
});

// --- Limits that an administrator moved ---

/** Settings for as long as use runs. */
async function having(changes, use) {
  const { settings: now } = await snapshot(admin);
  const set = async (values) => assert.deepEqual(await admin.ask({ cmd: "setcfg", ...values }), { status: "Success." });
  await set(changes);
  try {
    await use();
  } finally {
    await set(Object.fromEntries(Object.keys(changes).map((name) => [name, now[name][1]])));
  }
}

const messageOf = (body, type) => ({ body, type, delay: 0, durability: 1, publisherkey: undefined });
for (const size of [1024, 1048576]) {
  group(`limits: max-ws-msg-len of ${size}`, () => having({ "max-ws-msg-len": size }, async () => {
    const binary = Buffer.alloc(size, 0xa5);
    const atLimit = [
      { name: "an object", text: published(size), message: messageOf("x".repeat(size - 11), 1) },
      { name: "plain text", text: "x".repeat(size), message: messageOf("x".repeat(size), 1) },
      { name: "control characters", text: "\u0001".repeat(size), message: messageOf("\u0001".repeat(size), 1) },
      { name: "a binary frame", binary, message: messageOf(binary.toString("base64"), 2) },
    ];
    await open("publisher", {}, atLimit.map((r) => ({ ...r, code: 0 })), stored);
    const over = [{ text: published(size + 1) }, { text: "x".repeat(size + 1) }, { text: "\u0001".repeat(size + 1) },
      { binary: Buffer.alloc(size + 1) }];
    await fresh(over.map((r, i) => ({ ...r, name: `${atLimit[i].name}, one byte over`, closes: 1009 })), { login: base.publisher });
  }));
}
group("limits: max-subscriber-capacity of 5", () => having({ "max-subscriber-capacity": 5 }, async () => {
  await open("subscriber", { capacity: 5 },
    [...["6", "6.0", "1024", "1025", "0"].map((value) => row([], "capacity", value, 300)), row([], "capacity", "5", 0),
      row([], "capacity", "0.5e1", 0)]);
  await fresh(["6", "6.0", "1024", "1025", "0"].map((value) => ({ ...row(base.subscriber, "capacity", value, 300), closes: NO_CODE })));
}));

/** Rows for a queue that takes nothing more: code, whichever way it is published; what is wrong with a field comes first. */
async function full(code, body) {
  const base210 = [["body", raw(body)]];
  const rows = [
    row(base210, "nothing", "1", code), row(base210, "durability", "0", code, { context: "1.50" }), row(base210, "delay", "-1", 203),
    row(base210, "body", "5", 200), row(base210, "context", "null", 101),
  ];
  const whole = [{ name: "plain text", text: body, code }, { name: "a binary frame", binary: Buffer.from(body), code }];
  await open("publisher", {}, [...rows, ...whole]);
  await open("admin", {}, carry(added, rows));
  await fresh(inLogin(base.publisher, rows));
  await open("publisher", { queuetype: "copy" }, [{ ...row(base210, "nothing", "1", 0), keys: ["status", "subscribers"] }]);
}

/** Fills the queue with count messages of that body for as long as use runs. */
async function filled(count, body, use) {
  const ids = [];
  for (let i = 0; i < count; i++) ids.push((await admin.ask({ cmd: "addmsg", body, delay: 172800 })).id);
  try {
    await use();
  } finally {
    for (const id of ids) assert.deepEqual(await admin.ask({ cmd: "delmsg", id }), { status: "Success." });
  }
}

group("limits: as many messages as the queue can hold", () => filled(MESSAGES_MOST - 4, "x", () => full(210, "one more")));
group("limits: all the memory for messages",
  () => having({ "max-ws-msg-len": 1048576 }, () => filled(9, "x".repeat(900000), () => full(211, "x".repeat(300000)))));

// --- Requests that were sent at once ---

group("together: refused and taken requests are answered in order", async () => {
  const mixed = publishing.REFUSED.flatMap((r,
    i) => (i % 20 === 0 ? [{ name: "a good one between", members: [["body", '"x"'], ["delay", "7"]], code: 0, keys: ["id", "status"] }, r] : [r]));
  await opened("publisher", { queuetype: "copy" }, async (c) => {
    const rows = publishing.REFUSED_BY_COPY;
    assertNone(await runTogether(c, rows), rows.length);
  });
  await opened("admin", {}, async (c) => {
    const rows = [...settings.REFUSED, ...admins.COMMAND, ...admins.COMMAND_TAKEN, ...admins.page("getmsgs", held.durable)];
    assertNone(await runTogether(c, rows), rows.length);
  });
  await opened("publisher", {}, async (c) => {
    const count = mixed.filter((r) => r.code === 0).length;
    assertNone(await runTogether(c, mixed), mixed.length);
    const { csv } = await admin.ask({ cmd: "getmsgs", after: "", count: 1600 });
    const ids = csv.split("\n").filter((line) => line.split(",")[2] === "7").map((line) => line.split(",")[0]);
    for (const id of ids) await admin.ask({ cmd: "delmsg", id });
    assert.equal(ids.length, count);
  });
});
group("together: what comes behind a request that closes the connection is not done", async () => {
  const behind = async (role, more, bad, good) => {
    const c = await cluster.client(role, more);
    c.send(bad);
    c.send(good);
    assert.equal((await c.reply()).code, 100);
    assert.equal(await c.closed, NO_CODE);
    assert.deepEqual(c.frames, []);
  };
  const earlier = await snapshot(admin);
  for (const bad of ["Hello", '{"cmd":"getcfg","cmd":"getcfg"}']) {
    await behind("admin", {}, bad, { cmd: "setcfg", "no-reply-timeout-secs": 77 });
    await behind("admin", {}, bad, { cmd: "addmsg", body: "x" });
    await behind("admin", {}, bad, { cmd: "delmsg", id: held.durable });
    await behind("subscriber", { capacity: 1 }, bad, { capacity: 5 });
    await behind("subscriber", { queuetype: "copy" }, bad, { capacity: 5 });
  }
  await assertUnchanged(admin, earlier);
});

// --- Roles ---

group("roles: a request of another role is refused, or is a message", async () => {
  const requests = { publish: [["body", '"x"']], ack: [["id", raw(UNKNOWN_ID)], ["ack", "1"]], logout: [["logout", "true"]],
    command: [["cmd", '"setcfg"'], ["max-ws-msg-len", "2000"]] };
  const all = (list, code) => list.map((name) => ({ name, members: requests[name], code }));
  await open("publisher", {}, all(["ack", "logout", "command"], 206));
  await open("subscriber", { capacity: 1 }, all(["publish", "command"], 304));
  await open("admin", {}, all(["publish", "ack", "logout"], 400));
  await open("subscriber", { queuetype: "copy" }, all(["publish", "ack", "logout", "command"], 306));
});

test("nothing crashed: the same process still serves, ends in order, and its log names no fault", async () => {
  const { pid } = cluster.info.nodes[0];
  assert.equal(JSON.parse(cluster.run("status", "--json")).nodes[0].pid, pid);
  for (const id of [held.durable, held.volatile]) assert.equal((await holder.ask({ id, ack: 1 })).status, "Success.");
  await cluster.command("stop", "1");
  assert.doesNotMatch(cluster.run("logs", "1"), /runtime error|Sanitizer|[Aa]ssertion|level=error/);
});
