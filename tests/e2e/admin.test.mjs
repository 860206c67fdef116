// The manual's "Administrators": every command, exactly as it is written there, and what it does to others.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Cluster, until } from "./lib.mjs";
import { Raw, closeFrame, frame } from "./raw.mjs";

const UNKNOWN = "01a1c09f-62da-7000-a30b-0817c9a42e3f"; // the manual's own
const DELAY = 3600;

let cluster, admin, publisher;
before(async () => {
  cluster = await Cluster.up({ nodes: 1 });
  admin = await cluster.admin();
  publisher = await cluster.publisher();
}, { timeout: 90000 });
after(() => {
  admin?.drop();
  publisher?.drop();
  cluster?.down();
});

const ok = (reply) => { assert.equal(reply.status, "Success.", JSON.stringify(reply)); return reply; };
const ask = async (cmd, more = {}) => ok(await admin.ask({ cmd, ...more }));
const code = async (cmd, more = {}) => (await admin.ask({ cmd, ...more })).code;
const publish = async (body, more = {}) => ok(await publisher.ask({ body, ...more })).id;
const rowsOf = (csv) => csv.split("\n").slice(0, -1).map((line) => line.split(","));
const list = async (cmd, more = { after: "", count: 1600 }) => rowsOf((await ask(cmd, more)).csv);
const ids = async (cmd, more) => (await list(cmd, more)).map(([id]) => id);
const settings = async () => { const { status, ...all } = await ask("getcfg"); return all; };

async function empty() {
  for (const id of await ids("getmsgs")) await ask("delmsg", { id });
  for (const id of await ids("getdlqmsgs")) await ask("deldlqmsg", { id });
}

/** A subscriber for as long as fn runs. */
async function withSubscriber(capacity, fn) {
  const subscriber = await cluster.subscriber(capacity);
  try {
    return await fn(subscriber);
  } finally {
    await subscriber.ask({ logout: true }).catch(() => {});
    subscriber.drop();
  }
}

const live = async () => {
  const { csv } = await ask("getlivestats");
  const names = ["messages", "publishers", "subscribers", "saved", "admins", "held", "dead", "delayed", "durable"];
  const values = csv.split(",");
  assert.equal(values.length, 9);
  return Object.fromEntries(names.map((name, i) => [name, Number(values[i])]));
};

// --- Forms -----------------------------------------------------------------------------------------

test("replies are compact, with the fields in the manual's order", async () => {
  await empty();
  const raw = await Raw.open(cluster.info.nodes[0], cluster.ca);
  ok(await raw.ask(cluster.login("admin")));
  const text = async (value) => {
    raw.text(value);
    return String((await raw.frame((f) => f.json?.status !== undefined, "a reply")).payload);
  };
  const id = ok(JSON.parse(await text({ cmd: "addmsg", body: "hello" }))).id;
  const { recdat } = (await ask("getmsg", { id })).msg;
  assert.equal(await text({ cmd: "addmsg", body: "x", context: 7, durability: 0 }).then((t) => t.replace(/"id":"[0-9a-f-]{36}"/, '"id":""')), '{"context":7,"id":"","status":"Success."}');
  assert.match(await text({ cmd: "getlivestats", context: "a\"\u00e9\u0001" }), /^\{"context":"a\\"é\\u0001","status":"Success\.","csv":"(\d+,){8}\d+"\}$/);
  assert.equal(await text({ cmd: "getmsgs", after: "", count: 1 }), `{"status":"Success.","csv":"${id},89,0,1,1,${recdat}\\n"}`);
  assert.equal(await text({ cmd: "getmsg", id }), `{"status":"Success.","id":"${id}","msg":{"id":"${id}","type":1,"body":"hello","recdat":${recdat}},"len":89,"delay":0,"durability":1}`);
  assert.equal(await text({ cmd: "movetodlq", id, context: 1.50 }), '{"context":1.5,"status":"Success."}');
  assert.equal(await text({ cmd: "getdlqmsgs", before: "", count: 1 }), `{"status":"Success.","csv":"${id},89,0,1,1,${recdat}\\n"}`);
  assert.equal(await text({ cmd: "deldlqmsg", id }), '{"status":"Success."}');
  assert.equal(await text({ cmd: "getdlqmsgs", after: "", count: 5 }), '{"status":"Success.","csv":""}');
  assert.match(await text('{"context":1.50e0,"cmd":"nothing"}'), /^\{"context":1\.50e0,"status":"Failure\.","code":400,"reason":"Invalid command \(cmd\)\."\}$/);
  raw.destroy();
});

test("every command takes a context, also when it fails", async () => {
  const id = await publish("context");
  const commands = [["getlivestats", {}, 0], ["getstats", {}, 404], ["getusage", { year: 2026 }, 405], ["getmsgs", {}, 409], ["getmsg", { id }, 0], ["addmsg", {}, 206], ["delmsg", {}, 301], ["movetodlq", { id }, 0],
    ["getdlqmsgs", { before: 1 }, 410], ["getdlqmsg", { id }, 0], ["deldlqmsg", { id }, 0], ["getcfg", {}, 0], ["setcfg", {}, 416], ["nothing", {}, 400]];
  for (const [cmd, more, expected] of commands) {
    for (const context of [cmd, 0, -1.25, ""]) {
      if (context !== cmd && expected === 0) continue; // what is done is done once
      const reply = await admin.ask({ cmd, ...more, context });
      assert.equal(reply.context, context, cmd);
      assert.equal(reply.code ?? 0, expected, JSON.stringify(reply));
      if (expected) assert.equal(typeof reply.reason, "string");
    }
    for (const context of [null, true, [], {}, "x".repeat(257)]) {
      const reply = await admin.ask({ cmd, ...more, context });
      assert.deepEqual([reply.code, "context" in reply], [101, false], cmd);
    }
  }
});

test("what is no command: 400; what is no JSON: 100, and the end without a close code", async () => {
  for (const value of [{ cmd: "GetCfg" }, { cmd: "" }, { cmd: "getcfg " }, { cmd: 1 }, { cmd: null }, {}, { body: "x" }, "[]", '"getcfg"', "5", "null", " {} \r\n"]) assert.equal((await admin.ask(value)).code, 400, JSON.stringify(value));
  const bad = ["Hello", "", "{", '{"cmd":"getcfg",}', "{'cmd':'getcfg'}", '{"cmd":"getcfg"}x', '{"cmd":"getcfg","cmd":"getcfg"}', '{"cmd":"getcfg","a":01}', '{"cmd":"getcfg","a":NaN}', '{"cmd":"get\ncfg"}', `{"cmd":"getcfg","a":${"[".repeat(5000)}${"]".repeat(5000)}}`, "\ufeff{}"];
  await Promise.all([...bad, Buffer.from('{"cmd":"getcfg"}')].map(async (value) => {
    const raw = await Raw.open(cluster.info.nodes[0], cluster.ca);
    ok(await raw.ask(cluster.login("admin")));
    raw.write(Buffer.isBuffer(value) ? frame(value, { opcode: 2 }) : frame(value));
    assert.equal((await raw.reply()).code, 100, String(value).slice(0, 40));
    assert.equal(await raw.closing(), undefined);
  }));
});

// --- Live counters -----------------------------------------------------------------------------------

test("each counter counts what the manual says, at once", async () => {
  await empty();
  const calm = { messages: 0, publishers: 1, subscribers: 0, saved: 0, admins: 1, held: 0, dead: 0, delayed: 0, durable: 0 };
  const is = (more) => until(async () => { assert.deepEqual(await live(), { ...calm, ...more }); return true; }, undefined, 20);
  await is({});
  const copies = [await cluster.publisher({ queuetype: "copy" }), await cluster.client("subscriber", { queuetype: "copy" })];
  await is({}); // the administrator's queue is the one that stores
  for (const client of copies) client.drop();
  const other = await cluster.admin();
  await is({ admins: 2 });
  other.drop();
  await is({});
  const waiting = [await publish("0", { durability: 0 }), await publish("1"), await publish("2", { durability: 2 })];
  const delayed = [await publish("later", { delay: DELAY }), await publish("later", { delay: DELAY, durability: 0 })];
  assert.deepEqual(await live(), { ...calm, messages: 5, delayed: 2, durable: 3 });
  const subscriber = await cluster.subscriber(2);
  await subscriber.message();
  await subscriber.message();
  assert.deepEqual(await live(), { ...calm, messages: 5, subscribers: 1, held: 2, delayed: 2, durable: 3 });
  await subscriber.ask({ id: waiting[1], ack: 0 });
  await subscriber.message();
  assert.deepEqual(await live(), { ...calm, messages: 5, subscribers: 1, held: 2, dead: 1, delayed: 2, durable: 3 });
  await ask("movetodlq", { id: delayed[0] });
  assert.deepEqual(await live(), { ...calm, messages: 5, subscribers: 1, held: 2, dead: 2, delayed: 1, durable: 3 });
  await subscriber.drop();
  await is({ messages: 5, saved: 1, held: 2, dead: 2, delayed: 1, durable: 3 });
  const again = await cluster.client("subscriber", { sessionid: subscriber.loginReply.sessionid });
  assert.deepEqual(await live(), { ...calm, messages: 5, subscribers: 1, held: 2, dead: 2, delayed: 1, durable: 3 });
  for (const id of [waiting[0], waiting[2]]) await again.ask({ id, ack: 1 });
  await again.ask({ logout: true });
  await is({ messages: 3, dead: 2, delayed: 1, durable: 2 });
  await empty();
  await is({});
});

test("a subscription: 401, 402, 403, and what a refused one leaves as it was", async () => {
  const other = await cluster.admin();
  const subscribe = async (value) => (await other.ask({ cmd: "getlivestats", subscribe: value })).code;
  for (const bad of [-30, 1, 29, 901, 30.5, 1e9, "30", "", null, true, false, [30], {}]) assert.equal(await subscribe(bad), 401, JSON.stringify(bad));
  assert.equal(await subscribe(0), 403);
  const reply = ok(await other.ask({ cmd: "getlivestats", subscribe: 30 }));
  assert.match(reply.csv, /^(\d+,){8}\d+$/);
  for (const [value, expected] of [[30, 402], [900, 402], [29, 401], [901, 401]]) assert.equal(await subscribe(value), expected);
  assert.equal((await other.ask({ cmd: "getlivestats" })).csv, reply.csv);
  assert.equal(await subscribe(0), undefined);
  assert.equal(await subscribe(0), 403);
  for (const good of ["3e1", "900.0", "30"]) {
    assert.equal((await other.ask(`{"cmd":"getlivestats","subscribe":${good}}`)).code, undefined, good);
    assert.equal(await subscribe(0), undefined);
  }
  // One administrator's subscription is not another's, nor that of the next connection.
  assert.equal(await subscribe(900), undefined);
  assert.equal(await code("getlivestats", { subscribe: 0 }), 403);
  other.drop();
  const next = await cluster.admin();
  assert.equal((await next.ask({ cmd: "getlivestats", subscribe: 0 })).code, 403);
  next.drop();
});

// --- Messages ------------------------------------------------------------------------------------------

test("pages go both ways, from ids that are there and from ids that are not", async () => {
  for (const [cmd, move] of [["getmsgs", null], ["getdlqmsgs", "movetodlq"]]) {
    await empty();
    const all = [];
    for (let i = 0; i < 24; i++) all.push(await publish(`page ${i}`, { durability: 1 + (i % 2), delay: i % 3 ? 0 : DELAY }));
    if (move) for (const id of [...all].reverse()) await ask(move, { id });
    const del = cmd === "getmsgs" ? "delmsg" : "deldlqmsg";
    const gone = [3, 4, 11, 23].map((i) => all[i]);
    for (const id of gone) await ask(del, { id });
    const there = all.filter((id) => !gone.includes(id));
    const between = (id) => id.slice(0, -1) + (id.endsWith("f") ? "e" : "f");
    const zero = "00000000-0000-0000-0000-000000000000";
    const last = "ffffffff-ffff-ffff-ffff-ffffffffffff";
    for (const from of ["", zero, last, ...all, ...all.map(between), all[5].toUpperCase()]) {
      for (const count of [1, 2, 7, 20, 1600]) {
        const at = from.toLowerCase();
        assert.deepEqual(await ids(cmd, { after: from, count }), there.filter((id) => at === "" || id > at).slice(0, count), `after ${from}, ${count}`);
        assert.deepEqual(await ids(cmd, { before: from, count }), there.filter((id) => at === "" || id < at).slice(-count), `before ${from}, ${count}`);
      }
    }
    // Through all of them, forwards and backwards.
    for (const [direction, at] of [["after", -1], ["before", 0]]) {
      const seen = [];
      for (let page, edge = ""; (page = await ids(cmd, { [direction]: edge, count: 3 })).length > 0; edge = page.at(at)) seen.push(...page);
      assert.deepEqual(seen.sort(), there);
    }
  }
});

test("pages: 409, 410, 411, 412, the lowest of several", async () => {
  for (const cmd of ["getmsgs", "getdlqmsgs"]) {
    assert.equal(await code(cmd, { count: 1 }), 409);
    assert.equal(await code(cmd), 409);
    assert.equal(await code(cmd, { before: "", after: "", count: 0 }), 409);
    for (const bad of [null, 1, true, [], {}, "x", UNKNOWN.slice(1), `${UNKNOWN}0`, UNKNOWN.replaceAll("-", ""), ` ${UNKNOWN}`, UNKNOWN.replace("a", "g")]) {
      assert.equal(await code(cmd, { before: bad, count: 0 }), 410, JSON.stringify(bad));
      assert.equal(await code(cmd, { after: bad, count: 1601 }), 411, JSON.stringify(bad));
    }
    for (const bad of [0, -1, 1601, 1.5, "5", null, true, [], 1e300]) assert.equal(await code(cmd, { after: "", count: bad }), 412, JSON.stringify(bad));
    assert.equal(await code(cmd, { before: UNKNOWN }), 412);
  }
});

const FORMS = {
  "plain": { body: "hello" }, "empty": { body: "" }, "delayed": { body: "later", delay: 172800 }, "volatile": { body: "0", durability: 0 }, "synced": { body: "2", durability: 2 },
  "with a key": { body: "k", publisherkey: "order-1234:_./+=" }, "with the longest key": { body: "k", publisherkey: "k".repeat(128) }, "binary": { body: "AAECAwT/", type: 2 }, "all of it": { body: "/w==", type: 2, delay: 77, durability: 2, publisherkey: "a" },
  "with escapes": { body: "\"\\\b\f\n\r\t\u0000\u001f/é€😀\u007f\u2028" }, "JSON": { body: '{"a":[1,2,{"b":"c"}]}' }, "long": { body: "x".repeat(60000) },
};

test("getmsg and getmsgs show each message as its subscriber gets it, wherever it is", { timeout: 60000 }, async () => {
  await empty();
  const made = {};
  for (const [name, fields] of Object.entries(FORMS)) made[name] = { fields, id: ok(await publisher.ask(fields)).id };
  publisher.socket.send(Buffer.from([1, 2, 255]));
  made["a binary frame"] = { fields: { body: "AQL/", type: 2 }, id: ok(await publisher.reply()).id };
  made["a plain text"] = { fields: { body: "{not json" }, id: ok(await publisher.ask("{not json")).id };
  const added = ok(await admin.ask({ cmd: "addmsg", ...FORMS["all of it"], delay: 0 }));
  made["an added one"] = { fields: { ...FORMS["all of it"], delay: 0 }, id: added.id };
  const check = async (getmsg, getmsgs) => {
    const rows = new Map((await list(getmsgs)).map((row) => [row[0], row]));
    for (const [name, { fields, id, text }] of Object.entries(made)) {
      const { type = 1, durability = 1, delay = 0, publisherkey, body } = fields;
      if (getmsg === "getdlqmsg" && durability === 0) continue;
      const reply = await ask(getmsg, { id });
      assert.deepEqual(Object.keys(reply), ["status", "id", "msg", "len", "delay", "durability"], name);
      assert.deepEqual(reply.msg, { id, ...(publisherkey ? { publisherkey } : {}), type, body, recdat: reply.msg.recdat }, name);
      assert.deepEqual([reply.id, reply.delay, reply.durability], [id, delay, durability], name);
      assert.deepEqual(rows.get(id), [id, reply.len, delay, durability, type, reply.msg.recdat].map(String), name);
      if (text) assert.deepEqual([text, Buffer.byteLength(text)], [JSON.stringify(JSON.parse(text)) && text, reply.len], name);
      if (text) assert.deepEqual(JSON.parse(text), reply.msg, name);
    }
  };
  await check("getmsg", "getmsgs");
  const raw = await Raw.open(cluster.info.nodes[0], cluster.ca);
  ok(await raw.ask(cluster.login("subscriber", { capacity: 100 })));
  for (const made_ of Object.values(made).filter(({ fields }) => !fields.delay)) {
    const f = await raw.frame((x) => x.json?.id === made_.id, `message ${made_.fields.body.slice(0, 20)}`);
    made_.text = String(f.payload);
  }
  await check("getmsg", "getmsgs"); // held, and not changed by being looked at
  raw.destroy();
  for (const { id, fields } of Object.values(made)) if (fields.durability !== 0) await ask("movetodlq", { id });
  await check("getdlqmsg", "getdlqmsgs");
  for (const { id, fields } of Object.values(made)) assert.equal(await code(fields.durability === 0 ? "getdlqmsg" : "getmsg", { id }), 301);
});

test("an administrator that asks for much at once, and reads, gets it all", async () => {
  await empty();
  const id = await publish("y".repeat(60000));
  const count = 200; // three times max-write-queue-bytes
  for (let context = 0; context < count; context++) admin.send({ cmd: "getmsg", id, context });
  for (let context = 0; context < count; context++) assert.equal(ok(await admin.reply()).context, context);
});

test("a message id that is not there, or is none: 301, for every command", async () => {
  await empty();
  const waiting = await publish("waiting");
  const dead = await publish("dead");
  await ask("movetodlq", { id: dead });
  for (const cmd of ["getmsg", "delmsg", "movetodlq", "getdlqmsg", "deldlqmsg"]) {
    for (const id of [UNKNOWN, "", "x", 5, null, true, [], {}, undefined, cmd.includes("dlqmsg") ? waiting : dead]) assert.equal(await code(cmd, { id }), 301, `${cmd} ${JSON.stringify(id)}`);
  }
  assert.deepEqual([await ids("getmsgs"), await ids("getdlqmsgs")], [[waiting], [dead]]);
  await ask("delmsg", { id: waiting });
  await ask("deldlqmsg", { id: dead.toUpperCase() });
  assert.equal(await code("delmsg", { id: waiting }), 301);
  assert.equal(await code("deldlqmsg", { id: dead }), 301);
});

test("a held message that is taken away: one notice to its holder, the ack is 301, the place is free", async () => {
  await empty();
  await withSubscriber(1, async (holder) => withSubscriber(1, async (other) => {
    for (const [cmd, field, durability] of [["delmsg", "deleted", 0], ["delmsg", "deleted", 1], ["delmsg", "deleted", 2], ["movetodlq", "movedtodlq", 1], ["movetodlq", "movedtodlq", 2]]) {
      const id = await publish(`${cmd} ${durability}`, { durability });
      assert.equal((await holder.message()).id, id);
      const elsewhere = await publish("elsewhere");
      assert.equal((await other.message()).id, elsewhere);
      const next = await publish("next");
      await ask(cmd, { id });
      const isNotice = (f) => f.deleted !== undefined || f.movedtodlq !== undefined;
      assert.deepEqual(await holder.take(isNotice, "a notice"), { [field]: true, id });
      assert.equal((await holder.message()).id, next);
      assert.equal((await holder.ask({ id, ack: 1 })).code, 301);
      assert.equal((await holder.ask({ id, ack: 0 })).code, 301);
      for (const [client, mine] of [[holder, next], [other, elsewhere]]) ok(await client.ask({ id: mine, ack: 1 }));
      assert.deepEqual([...holder.frames, ...other.frames], []);
    }
    // One that waits, or is delayed, is nobody's.
    for (const more of [{ delay: DELAY }, { delay: DELAY, durability: 0 }]) await ask("delmsg", { id: await publish("nobody's", more) });
    assert.equal((await ask("getmsgs", { after: "", count: 1 })).csv, "");
    assert.deepEqual([...holder.frames, ...other.frames], []);
  }));
});

test("413 for durability 0, waiting, held or delayed; the message stays where it is", async () => {
  await empty();
  const delayed = await publish("0", { durability: 0, delay: DELAY });
  const first = await publish("0", { durability: 0 });
  assert.equal(await code("movetodlq", { id: first }), 413);
  await withSubscriber(1, async (subscriber) => {
    await subscriber.message();
    for (const id of [first, delayed]) assert.equal(await code("movetodlq", { id }), 413);
    ok(await subscriber.ask({ id: first, ack: 1 }));
    assert.deepEqual(subscriber.frames, []);
  });
  assert.deepEqual(await ids("getmsgs"), [delayed]);
});

test("addmsg takes each field of a publish, with its limits, and the lowest code of several", async () => {
  await empty();
  const refused = [[{}, 206], [{ body: null }, 200], [{ body: 5 }, 200], [{ body: "x", type: 3 }, 201], [{ body: "x", type: "1" }, 201], [{ body: "?", type: 2 }, 202], [{ body: "aGVsbG8", type: 2 }, 202], [{ body: "x", delay: 172801 }, 203], [{ body: "x", delay: -1 }, 203],
    [{ body: "x", delay: 1.5 }, 203], [{ body: "x", durability: 3 }, 204], [{ body: "x", durability: null }, 204], [{ body: "x", publisherkey: "" }, 205], [{ body: "x", publisherkey: "k".repeat(129) }, 205], [{ body: "x", publisherkey: "a b" }, 205],
    [{ publisherkey: "", durability: 9, delay: -1, type: 0, body: 1 }, 200], [{ body: "x", publisherkey: "", durability: 9, delay: -1, type: 0 }, 201], [{ body: "x", publisherkey: "", durability: 9, delay: -1 }, 203], [{ body: "x", publisherkey: "", durability: 9 }, 204]];
  for (const [fields, expected] of refused) assert.equal(await code("addmsg", fields), expected, JSON.stringify(fields));
  assert.deepEqual(await ids("getmsgs"), []);
  await withSubscriber(10, async (subscriber) => {
    const begin = Date.now();
    const soon = ok(await admin.ask({ cmd: "addmsg", body: "soon", delay: 1 })).id;
    let came;
    subscriber.socket.on("message", (data) => { if (String(data).includes(soon)) came ??= Date.now(); });
    const now = ok(await admin.ask({ cmd: "addmsg", body: "now", publisherkey: "me", durability: 0, type: 1 })).id;
    const { recdat, ...first } = await subscriber.take((f) => f.id === now, "the message without a delay");
    assert.deepEqual(first, { id: now, publisherkey: "me", type: 1, body: "now" });
    assert.equal((await subscriber.message()).id, soon);
    assert.ok(came - begin >= 990, `it came after ${came - begin} ms`);
    assert.deepEqual(subscriber.frames, []);
    for (const id of [now, soon]) ok(await subscriber.ask({ id, ack: 1 }));
  });
});

test("a dead letter is put back with three commands", async () => {
  await empty();
  const fields = { body: "AP8=", type: 2, durability: 2, publisherkey: "k" };
  const id = ok(await publisher.ask(fields)).id;
  await withSubscriber(1, async (subscriber) => {
    assert.equal((await subscriber.message()).id, id);
    ok(await subscriber.ask({ id, ack: 0 }));
    const { msg } = await ask("getdlqmsg", { id });
    const again = ok(await admin.ask({ cmd: "addmsg", body: msg.body, type: msg.type })).id;
    await ask("deldlqmsg", { id });
    assert.deepEqual(await subscriber.message().then(({ recdat, ...m }) => m), { id: again, type: 2, body: fields.body });
    assert.ok(again > id);
    ok(await subscriber.ask({ id: again, ack: 1 }));
  });
  assert.deepEqual([await ids("getmsgs"), await ids("getdlqmsgs")], [[], []]);
});

// --- Settings ------------------------------------------------------------------------------------------

const WRITABLE = {
  "max-ws-msg-len": [65536, 1024, 1048576], "max-subscriber-capacity": [1024, 1, 1024], "saved-session-timeout-secs": [10, 10, 86400], "no-reply-timeout-secs": [10, 1, 300],
  "stats-frequency-secs": [300, 300, 3600], "stats-retention-period-yrs": [5, 1, 10], "usage-frequency-secs": [1800, 1800, 86400], "usage-retention-period-yrs": [5, 1, 20],
};
const READ_ONLY = ["max-tasks", "max-messages", "max-messages-memory", "messages-memory-used", "max-write-queue-bytes", "message-timeout-secs", "log-level"];
const defaults = Object.fromEntries(Object.entries(WRITABLE).map(([name, [value]]) => [name, value]));

test("getcfg shows every setting, in the manual's order, with r or w and its value", async () => {
  const all = await settings();
  assert.deepEqual(Object.keys(all), [...Object.keys(WRITABLE), ...READ_ONLY]);
  for (const [name, value] of Object.entries(defaults)) assert.deepEqual(all[name], ["w", value]);
  for (const name of READ_ONLY) assert.equal(all[name][0], "r");
  assert.deepEqual([all["max-write-queue-bytes"][1], all["message-timeout-secs"][1], all["log-level"][1]], [4194304, 30, "info"]);
  assert.ok(all["max-messages"][1] >= 1 && all["max-messages"][1] <= 1000000);
});

test("setcfg: ranges, kinds, all or nothing, 414 before 415 before 416, and the reason names the setting", async () => {
  const was = await settings();
  for (const [name, [, least, most]] of Object.entries(WRITABLE)) {
    for (const bad of [least - 1, most + 1, -1, 0.5, `${least}`, null, true, [least], {}]) {
      if (bad >= least && bad <= most && Number.isInteger(bad)) continue;
      const reply = await admin.ask({ cmd: "setcfg", [name]: bad });
      assert.equal(reply.code, 414, `${name} ${JSON.stringify(bad)}`);
      assert.match(reply.reason, new RegExp(`^Invalid ${name}\\. Must be between ${least} and ${most}\\.$`));
    }
    for (const text of [`${most}.0`, `${most}e0`, "1e400", "18446744073709551617", "9".repeat(300)]) assert.equal((await admin.ask(`{"cmd":"setcfg","${name}":${text}}`)).code, 414, `${name} ${text}`);
  }
  for (const name of READ_ONLY) {
    const reply = await admin.ask({ cmd: "setcfg", [name]: was[name][1] });
    assert.equal(reply.code, 415, name);
    assert.match(reply.reason, new RegExp(`^Read only parameter ${name} specified\\.$`));
  }
  for (const none of [{}, { "no-such-setting": 1 }, { "Max-Tasks": 1 }, { "max-ws-msg-len ": 2048 }]) assert.equal(await code("setcfg", none), 416);
  for (const [values, expected] of [
    [{ "max-ws-msg-len": 2048, "max-subscriber-capacity": 0 }, 414], [{ "max-subscriber-capacity": 0, "max-ws-msg-len": 2048 }, 414], [{ "max-ws-msg-len": 2048, "max-tasks": 5 }, 415],
    [{ "max-tasks": 5, "max-ws-msg-len": 1 }, 414], [{ "max-tasks": 5, nothing: 1 }, 415],
  ]) assert.equal(await code("setcfg", values), expected, JSON.stringify(values));
  assert.deepEqual(await settings(), was);
  await ask("setcfg", { "max-ws-msg-len": 1048576, nothing: "ignored", "usage-retention-period-yrs": 20 });
  assert.deepEqual([(await settings())["max-ws-msg-len"][1], (await settings())["usage-retention-period-yrs"][1]], [1048576, 20]);
  await ask("setcfg", defaults);
  assert.deepEqual(await settings(), was);
});

test("a new limit counts for every connection that is open when the reply comes", async () => {
  const node = cluster.info.nodes[0];
  const big = "x".repeat(3000);
  const others = await Promise.all(["publisher", "subscriber", "admin"].map(async (role) => {
    const raw = await Raw.open(node, cluster.ca);
    ok(await raw.ask(cluster.login(role, role === "subscriber" ? { capacity: 1 } : {})));
    return raw;
  }));
  others.push(await Raw.open(node, cluster.ca)); // not logged in
  await ask("setcfg", { "max-ws-msg-len": 2048 });
  for (const raw of others) {
    raw.text(JSON.stringify({ cmd: "getcfg", body: big }));
    assert.equal(await raw.closing(), 1009);
  }
  await ask("setcfg", { "max-ws-msg-len": 1048576 });
  const huge = await Raw.open(node, cluster.ca);
  ok(await huge.ask(cluster.login("publisher")));
  const id = ok(await huge.ask({ body: "y".repeat(1000000) })).id;
  assert.equal((await ask("getmsg", { id })).msg.body.length, 1000000);
  await ask("setcfg", { "max-ws-msg-len": 65536 }); // what is there stays, and is delivered
  await withSubscriber(2, async (subscriber) => {
    assert.equal((await subscriber.message()).body.length, 1000000);
    await ask("setcfg", { "max-subscriber-capacity": 1 });
    assert.equal((await subscriber.ask({ capacity: 2 })).code, 300);
    ok(await subscriber.ask({ capacity: 1 }));
    ok(await subscriber.ask({ id, ack: 1 }));
  });
  await ask("setcfg", defaults);
  huge.destroy();
});

test("messages-memory-used is what the messages take, and is given back whole", async () => {
  await empty();
  const used = async () => (await settings())["messages-memory-used"][1];
  assert.equal(await used(), 0);
  let sum = 0;
  const sent = [["", {}], ["a".repeat(1000), { publisherkey: "k".repeat(10) }], ["b".repeat(5000), { durability: 0, delay: DELAY }], ["AAAA", { type: 2, durability: 2 }]];
  const made = [];
  for (const [body, more] of sent) {
    made.push(await publish(body, more));
    sum += body.length + (more.publisherkey?.length ?? 0) + 256;
    assert.equal(await used(), sum);
  }
  await ask("movetodlq", { id: made[1] });
  assert.equal(await used(), sum);
  await withSubscriber(9, async (subscriber) => {
    for (const n of [1, 2]) {
      const { id } = await subscriber.message();
      assert.equal(await used(), sum, n);
      ok(await subscriber.ask({ id, ack: 1 }));
      sum -= (id === made[0] ? 0 : 4) + 256;
      assert.equal(await used(), sum);
    }
  });
  await empty();
  assert.equal(await used(), 0);
});

// --- Days ----------------------------------------------------------------------------------------------

test("a day: 404, 405, 406, 407, 408, the lowest of several, in the Gregorian calendar", async () => {
  const now = new Date();
  const today = { year: now.getUTCFullYear(), month: now.getUTCMonth() + 1, day: now.getUTCDate() };
  for (const [cmd, flag] of [["getstats", "average"], ["getusage", "totals"]]) {
    const at = (year, month, day, more = { [flag]: false }) => code(cmd, { year, month, day, ...more });
    for (const bad of [null, "2026", 2026.5, true, [], -1, 10000, undefined]) assert.equal(await at(bad, 13, 0, {}), 404, `year ${JSON.stringify(bad)}`);
    for (const bad of [null, "1", 0, 13, 1.5, true, [], undefined]) assert.equal(await at(today.year, bad, 0, {}), 405, `month ${JSON.stringify(bad)}`);
    for (const bad of [null, "1", 0, 32, 1.5, true, [], undefined]) assert.equal(await at(today.year, today.month, bad, {}), 406, `day ${JSON.stringify(bad)}`);
    for (const [year, month, day] of [[2023, 2, 29], [2100, 2, 29], [2200, 2, 29], [2024, 2, 30], [2026, 4, 31], [2026, 6, 31], [2026, 9, 31], [2026, 11, 31]]) assert.equal(await at(year, month, day), 406, `${year}-${month}-${day}`);
    for (const [year, month, day] of [[2000, 2, 29], [2024, 2, 29], [1970, 1, 1], [2020, 12, 31]]) {
      const reply = await admin.ask({ cmd, year, month, day, [flag]: true });
      assert.equal(reply.code, 407, `${year}-${month}-${day}`);
      assert.match(reply.reason, /^Invalid date, don't have data before \d{4}-\d\d-\d\d/);
    }
    assert.equal(await at(2024, 2, 29, {}), 407);
    for (const [year, month, day] of [[2096, 2, 29], [9999, 12, 31]]) assert.equal((await ask(cmd, { year, month, day, [flag]: true })).csv, ""); // not yet
    for (const bad of [undefined, null, "true", 0, 1, [], {}]) {
      const reply = await admin.ask({ cmd, ...today, [flag]: bad });
      assert.equal(reply.code, 408);
      assert.match(reply.reason, bad === undefined ? /not specified/ : /must be boolean/);
    }
    assert.equal(await code(cmd, { ...today, [flag === "average" ? "totals" : "average"]: true }), 408); // the other's
    await ask(cmd, { ...today, [flag]: true });
    await ask(cmd, { ...today, [flag]: false });
    assert.equal((await admin.ask(`{"cmd":"${cmd}","year":${today.year}.0,"month":${today.month}e0,"day":${today.day}.00,"${flag}":false}`)).status, "Success.");
  }
});

test("settings are kept when the queue is killed or stopped right behind the reply", { timeout: 60000 }, async () => {
  const values = { "max-ws-msg-len": 4321, "saved-session-timeout-secs": 4322, "no-reply-timeout-secs": 43, "stats-frequency-secs": 432, "usage-frequency-secs": 4323, "stats-retention-period-yrs": 4 };
  for (const [how, more] of [["kill", values], ["stop", { "max-subscriber-capacity": 77 }]]) {
    await ask("setcfg", more);
    const was = await settings();
    cluster.run(how, "1");
    await admin.closed;
    cluster.run("start", "1");
    admin = await until(() => cluster.admin());
    assert.deepEqual(await settings(), was);
  }
  await ask("setcfg", defaults);
});
