// The manual's "Publishers" for the distribute type: what becomes a message and what does not, in which order replies
// and messages come, a full queue, delays that outlive a leader, and what each durability survives.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { casesOf, isId, refused, succeeds } from "./cases.mjs";
import { Cluster, until } from "./lib.mjs";
import { Raw, frame } from "./raw.mjs";

let cluster;
let small; // a queue of six messages and a million bytes
const it = casesOf(() => cluster);
const whenFull = casesOf(() => small);

/** Publishes one after the other; gives the messages as a subscriber gets them, acknowledged. */
async function through(desk, values) {
  const s = await desk.subscriber(10);
  const p = await desk.publisher();
  const got = [];
  for (const value of values) {
    const reply = succeeds(await p.ask(value));
    const m = await s.message();
    assert.equal(m.id, reply.id);
    await desk.ack(s, m.id);
    got.push(m);
  }
  await s.hasNothing();
  return got;
}

describe("publishing", { concurrency: true }, () => {
  before(async () => {
    cluster = await Cluster.up({ nodes: 3 });
    small = await Cluster.up({ nodes: 1, set: { "max-messages": 6, "max-messages-memory": 1000000, "max-ws-msg-len": 400000 } });
  }, { timeout: 120000 });
  after(() => { cluster?.down(); small?.down(); });

  describe("on three nodes", { concurrency: 1 }, () => {
    it("the replies have the text of the manual's examples", async (desk) => {
      const p = await desk.publisher();
      const one = await p.ask({ body: "hello", context: 7 });
      const two = await p.ask({ body: "Order 1234 is ready", delay: 60, durability: 2, publisherkey: "order-1234" });
      assert.deepEqual(p.texts, ['{"status":"Success."}', `{"context":7,"id":"${one.id}","status":"Success."}`, `{"id":"${two.id}","status":"Success."}`]);
      isId(one.id);
      refused(await p.ask({ body: "hello", delay: -1 }), 203);
      assert.equal(p.texts[3], '{"status":"Failure.","code":203,"reason":"Invalid delay."}');
    });

    it("a text that is no JSON object is itself the message, to the last character", async (desk) => {
      const texts = [
        "Hello", "", " ", "\n", "\t\r\n ", " Hello ", "Hello\n", "\u0000", "\u2028\u2029\u007f", "'single'", "\ufeff", "\ufeff{\"body\":\"x\"}",
        "{", "}", "{}}", "{]", '{"body":"x"', '{"body":"x",}', '{"body":"x"}{"body":"y"}', '{"body":"x"} y', '{"body":"x"}\u0000', '\u00a0{"body":"x"}',
        "{'body':'x'}", '{body:"x"}', '{"body":"x" "type":1}', '{"body":"x","delay":01}', '{"body":"x","delay":NaN}', '{"body":"x","delay":.5}', '{"body":"x","delay":+1}',
        '{"body":"x","delay":1.}', '{"body":"line\nline"}', '{"body":"\\x41"}', '{"body":"x"/*note*/}', '//{"body":"x"}', '{"body":undefined}', '{"body":True}',
        "[]", '[{"body":"x"}]', '"text"', "42", "-0", "1e999", "null", "true", " [1] ", '"{\\"body\\":\\"x\\"}"', "NULL", "-", "01",
        '{"ack":1,"id":', "SELECT * FROM x; --", "<script>", "日本語 😀 \u{10ffff}", "{\"body\":\"x\",\"deep\":" + "[".repeat(40) + "}",
      ];
      for (const [i, m] of (await through(desk, texts)).entries()) {
        const { id, recdat, ...rest } = m;
        assert.deepEqual(rest, { type: 1, body: texts[i] });
      }
    });

    it("white space around an object, and an escape in a name, are nothing", async (desk) => {
      const got = await through(desk, ['\n{"body":"a"}\r\n', ' \t\r\n{ "body" : "b" , "type" : 1 } \t\r\n', '{"\\u0062ody":"c"}', '{\n"body":\n"d"\n}\n', '{"body":"e\\u000af\\/g\\u0000"}', '{"body":"x","durability":2.0,"delay":0e5,"type":10e-1}']);
      assert.deepEqual(got.map((m) => m.body), ["a", "b", "c", "d", "e\nf/g\u0000", "x"]);
    });

    it("a binary frame is a message whatever is in it, an empty one too", async (desk) => {
      const frames = [Buffer.alloc(0), Buffer.from([0]), Buffer.from([255, 254]), Buffer.from("abc"), Buffer.from('{"body":"x","delay":60,"context":1}'), Buffer.from([0xc0, 0xaf, 0xed, 0xa0, 0x80])];
      for (const [i, m] of (await through(desk, frames)).entries()) {
        const { id, recdat, ...rest } = m;
        assert.deepEqual(rest, { type: 2, body: frames[i].toString("base64") });
      }
    });

    it("an object without a body is refused, and is no message", async (desk) => {
      const p = await desk.publisher();
      const id = "01a1c09f-62da-7000-a30b-0817c9a42e3f";
      for (const value of ["{}", " {}\n", { Body: "x" }, { "body ": "x" }, { type: 2 }, { delay: 5, durability: 2, publisherkey: "k" }, { id, ack: 1 }, { logout: true }, { capacity: 3 }, { cmd: "getcfg" }])
        assert.equal(refused(await p.ask(value), 206), undefined);
      assert.equal(refused(await p.ask({ context: "typing mistake", bdy: "x" }), 206), "typing mistake");
      assert.deepEqual(await desk.list(), []);
      await desk.publish(p, "the connection goes on");
    });

    it("an object with a field twice, or too deep, is refused with 100, and the connection goes on", async (desk) => {
      const p = await desk.publisher();
      for (const text of ['{"body":"a","body":"b"}', '{"body":"a","x":1,"x":1}', '{"body":"a","\\u0062ody":"b"}', `{"body":"a","x":${"[".repeat(40)}${"]".repeat(40)}}`])
        refused(await p.ask(text), 100);
      assert.deepEqual(await desk.list(), []);
      await desk.publish(p, "the connection goes on");
    });

    it("replies come in the order of the requests, whatever their durability and outcome", async (desk) => {
      const s = await desk.subscriber(1000);
      const p = await desk.publisher({}, { node: 1 });
      const wanted = [];
      const values = [];
      for (let i = 0; i < 300; i++) {
        const isBad = i % 7 === 3;
        values.push({ body: isBad ? i : `${i}`, durability: (i * 5) % 3, context: i });
        wanted.push([i, isBad ? 200 : undefined]);
      }
      p.burst(...values);
      const replies = await p.replies(values.length);
      assert.deepEqual(replies.map((r) => [r.context, r.code]), wanted);
      const ids = replies.filter((r) => r.id !== undefined).map((r) => r.id);
      assert.deepEqual(ids, [...ids].sort());
      assert.equal(new Set(ids).size, ids.length);
      assert.deepEqual((await s.messages(ids.length)).map((m) => m.id), ids);
      await s.hasNothing();
    });

    it("a context is copied as it was written into every kind of reply", async (desk) => {
      const p = await desk.publisher();
      const s = await desk.subscriber(5);
      const texts = ["7", "-0", "1.50", "1E+3", "12345678901234567890123", "0.1e-7", '""', '"a\\/b\\u00e9\\n"', '"😀"', `"${"é".repeat(128)}"`];
      for (const text of texts) {
        p.texts.length = 0;
        p.send(`{"context":${text},"body":"x"}`);
        const { id } = await p.reply();
        p.send(`{"body":"x","context":${text},"delay":-1}`);
        await p.reply();
        assert.deepEqual(p.texts, [`{"context":${text},"id":"${id}","status":"Success."}`, `{"context":${text},"status":"Failure.","code":203,"reason":"Invalid delay."}`]);
        await s.message();
        s.texts.length = 0;
        s.send(`{"context":${text},"ack":1,"id":"${id}"}`);
        await s.reply();
        s.send(`{"context":${text},"ack":1,"id":"${id}"}`);
        await s.reply();
        s.send(`{"context":${text},"capacity":5}`);
        await s.reply();
        assert.deepEqual(s.texts, [`{"context":${text},"id":"${id}","status":"Success."}`, `{"context":${text},"status":"Failure.","code":301,"reason":"Invalid message id."}`, `{"context":${text},"status":"Success."}`]);
      }
    });

    it("what a client sends before it goes away counts, though nobody reads the replies", async (desk) => {
      const p = await desk.publisher();
      const s = await desk.subscriber(10);
      const held = await desk.publish(p, "held");
      await s.message();
      p.burst({ body: "a" }, { body: "b" }, "c");
      p.socket.close();
      s.burst({ id: held, ack: 0 });
      s.socket.close();
      await p.closed;
      await s.closed;
      await until(async () => (await desk.list()).length === 3);
      await until(async () => { assert.deepEqual(await desk.list("getdlqmsgs"), [held]); return true; });
      // Requests and the end of the stream in one read.
      for (const [i, { url }] of cluster.info.nodes.entries()) {
        const raw = await Raw.open({ url }, cluster.ca);
        raw.text(cluster.login("publisher"));
        succeeds(await raw.reply());
        raw.socket.end(Buffer.concat([1, 2, 3].map((n) => frame(`${n}`))));
        await until(async () => (await desk.list()).length === 6 + 3 * i);
        raw.destroy();
      }
      await desk.logout(await until(() => desk.resume(s.sessionid)));
    });

    it("a message in the login: the publish's reply, and then a publisher as any other", async (desk) => {
      const s = await desk.subscriber(10);
      const p = await desk.open();
      const reply = await p.ask(cluster.login("publisher", { body: "in the login", publisherkey: "k/1", durability: 2, context: "c" }));
      assert.deepEqual(p.texts, [`{"context":"c","id":"${reply.id}","status":"Success."}`]);
      const { recdat, ...m } = await s.message();
      assert.deepEqual(m, { id: reply.id, publisherkey: "k/1", type: 1, body: "in the login" });
      assert.equal((await desk.stats()).publishers, 1);
      await desk.publish(p, "one more");
      await s.message();
      for (const [fields, body, type] of [[{ body: "" }, "", 1], [{ body: "AA==", type: 2 }, "AA==", 2]]) {
        const other = await desk.open(1);
        const { id } = succeeds(await other.ask(cluster.login("publisher", fields)));
        const { recdat: at, ...got } = await s.message();
        assert.deepEqual(got, { id, type, body });
      }
      const later = await desk.open(2);
      succeeds(await later.ask(cluster.login("publisher", { body: "later", delay: 3600 })));
      await s.hasNothing();
      assert.equal((await desk.stats()).delayed, 1);
    });

    it("a message in the login that is refused: its code and the context, and the end without a code", async (desk) => {
      const good = { body: "x", context: 1.5 };
      for (const [fields, code] of [[{ body: 5 }, 200], [{ type: 3 }, 201], [{ type: 2 }, 202], [{ delay: 172801 }, 203], [{ durability: 3 }, 204], [{ publisherkey: "" }, 205], [{ password: "wrong" }, 107], [{ password: "wrong", body: 5 }, 107], [{ role: "nobody" }, 105]])
        assert.equal((await desk.fails("publisher", { ...good, ...fields }, code)).context, 1.5);
      assert.deepEqual(await desk.list(), []);
    });

    it("a body in the login of another role is no message", async (desk) => {
      const s = await desk.subscriber(1, { body: "x" });
      assert.deepEqual(Object.keys(s.loginReply), ["status", "sessionid"]);
      await s.hasNothing();
      const a = await desk.login("admin", { body: "x" });
      assert.deepEqual(a.loginReply, { status: "Success." });
      assert.deepEqual(await desk.list(), []);
    });

    it("a message sent during the login ends the connection without a reply", async (desk) => {
      const wrong = await desk.open();
      wrong.burst(cluster.login("publisher", { password: "wrong" }), { body: "too early" });
      await wrong.endsWithoutCode();
      assert.deepEqual(wrong.frames, []);
      for (const [role, fields, more] of [["publisher", {}, { body: "x" }], ["subscriber", { capacity: 1 }, { logout: true }], ["admin", {}, { cmd: "addmsg", body: "x" }], ["publisher", { queuetype: "copy" }, "plain"], ["publisher", {}, Buffer.from("x")]]) {
        const c = await desk.open();
        c.burst(cluster.login(role, fields), more);
        await c.endsWithoutCode();
        assert.deepEqual(c.frames, []);
      }
      assert.deepEqual(await desk.list(), []);
      await desk.untilStats((s) => s.publishers === 0 && s.subscribers === 0);
    });

    it("a ping during the login is no message", async (desk) => {
      const c = await desk.open();
      c.socket._socket.cork();
      c.send(cluster.login("publisher"));
      c.socket.ping("now");
      c.socket._socket.uncork();
      assert.deepEqual(await c.reply(), { status: "Success." });
    });

    it("messages with one due time arrive in the order they were published, and hold up nobody", async (desk) => {
      const p = await desk.publisher();
      const s = await desk.subscriber(100);
      const begin = Date.now();
      p.burst(...["a", "b", "c", "d"].map((body, i) => ({ body, delay: 6, durability: [1, 0, 2, 1][i] })), { body: "one", delay: 4 }, { body: "now" }); // delays that a busy machine does not eat up
      const ids = (await p.replies(6)).map((r) => r.id);
      assert.equal((await s.message()).body, "now");
      await s.hasNothing();
      const { delayed, messages, unacknowledged } = await desk.stats();
      assert.deepEqual({ delayed, messages, unacknowledged }, { delayed: 5, messages: 6, unacknowledged: 1 });
      assert.equal((await s.message()).body, "one");
      assert.ok(Date.now() - begin >= 3990);
      const late = await s.messages(4);
      assert.ok(Date.now() - begin >= 5990 && Date.now() - begin < 12000);
      assert.deepEqual(late.map((m) => [m.body, m.id]), ["a", "b", "c", "d"].map((body, i) => [body, ids[i]]));
      assert.ok(late.every((m) => m.recdat <= begin / 1000 + 3), "received when it was published, not when it was due");
    });

    it("a delayed message waits for a subscriber when nobody has room, behind what waited before", async (desk) => {
      const p = await desk.publisher();
      const s = await desk.subscriber(1);
      const first = await desk.publish(p, "first");
      await s.message();
      const delayed = await desk.publish(p, "delayed", { delay: 3 });
      const second = await desk.publish(p, "second");
      await until(async () => (await desk.stats()).delayed === 0);
      const third = await desk.publish(p, "third");
      await s.hasNothing();
      let held = first;
      for (const next of [second, delayed, third]) {
        await desk.ack(s, held);
        held = (await s.message()).id;
        assert.equal(held, next);
      }
    });

    test("what outlives the leader and the whole cluster; a delayed message comes neither early nor twice", { timeout: 120000 }, async () => {
      const leader = await cluster.waitLeader();
      const p = await cluster.publisher({ node: leader % 3 });
      const begin = Date.now();
      const due = new Map();
      const publish = async (fields) => succeeds(await p.ask({ body: JSON.stringify(fields), ...fields })).id;
      for (const fields of [{ delay: 1 }, { delay: 4, durability: 2 }, { delay: 4 }, { delay: 7 }, { delay: 7, durability: 2 }, { delay: 3600 }]) due.set(await publish(fields), begin + fields.delay * 1000);
      await publish({ delay: 4, durability: 0 });
      const n = await cluster.subscriber(1, { node: leader % 3 });
      const dead = await publish({ durability: 1 });
      assert.equal((await n.message()).id, dead);
      succeeds(await n.ask({ id: dead, ack: 0 }));
      await n.ask({ logout: true });
      await cluster.command("kill", String(leader));
      const other = await cluster.waitLeader(leader);
      let s = await until(() => cluster.subscriber(100, { node: other - 1 }));
      const arrive = async (count) => {
        for (let i = 0; i < count; i++) {
          const m = await s.message();
          assert.ok(Date.now() >= due.get(m.id) - 20, `${m.body} is ${due.get(m.id) - Date.now()} ms early`);
          due.delete(m.id);
          succeeds(await s.ask({ id: m.id, ack: 1 }));
        }
      };
      await arrive(3);
      await s.ask({ logout: true });
      const q = await cluster.publisher({ node: other - 1 });
      for (const durability of [0, 1, 2]) due.set(succeeds(await q.ask({ body: `${durability}`, durability })).id, 0);
      const lost = [...due.keys()].at(-3);
      for (const { id } of cluster.info.nodes) if (id !== leader) await cluster.command("kill", String(id));
      for (const { id } of cluster.info.nodes) await cluster.command("start", String(id));
      s = await until(() => cluster.subscriber(100));
      await arrive(4);
      assert.deepEqual([...due.values()].filter((at) => at > 0 && at < begin + 3600000), []);
      assert.ok(due.delete(lost), "durability 0 is gone with the cluster");
      const a = await cluster.admin();
      assert.equal((await a.ask({ cmd: "getlivestats" })).csv, "2,0,1,0,1,0,1,1,2");
      for (const id of due.keys()) succeeds(await a.ask({ cmd: "delmsg", id }));
      succeeds(await a.ask({ cmd: "deldlqmsg", id: dead }));
      await s.ask({ logout: true });
      a.drop();
    });
  });

  describe("on one node with little room", { concurrency: 1 }, () => {
    whenFull("210: all messages count, whatever their state; only what is gone makes room", async (desk) => {
      const p = await desk.publisher();
      const s = await desk.subscriber(3);
      const ids = await desk.publishAll(p, 3);
      await s.messages(3);
      ids.push(await desk.publish(p, "in memory", { durability: 0 }));
      ids.push(await desk.publish(p, "delayed", { delay: 3600 }));
      ids.push(await desk.publish(p, "synced", { durability: 2 }));
      const isFull = async () => {
        assert.equal(refused(await p.ask({ body: "x", context: 1 }), 210), 1);
        for (const more of ["plain", Buffer.from("binary"), { body: "x", durability: 0 }, { body: "x", delay: 9 }]) refused(await p.ask(more), 210);
        refused(await desk.command("addmsg", { body: "x" }), 210);
        assert.equal((await desk.fails("publisher", { body: "x", context: 2 }, 210)).context, 2);
        refused(await p.ask({ body: 5 }), 200);
      };
      await isFull();
      await desk.nack(s, ids[0]); // into the dead letter queue, which counts
      await s.message();
      await isFull();
      succeeds(await desk.command("movetodlq", { id: ids[5] }));
      await isFull();
      succeeds(await desk.command("deldlqmsg", { id: ids[0] }));
      await desk.publish(p, "one deleted from the DLQ");
      await isFull();
      await desk.ack(s, ids[1]);
      await desk.publish(p, "one acknowledged");
      await isFull();
      succeeds(await desk.command("delmsg", { id: ids[4] }));
      const c = await desk.open();
      succeeds(await c.ask(small.login("publisher", { body: "one deleted" })));
      await isFull();
      assert.equal((await desk.stats()).messages, 6);
    });

    whenFull("211: the memory of all messages, the dead letter queue's too", async (desk) => {
      const p = await desk.publisher();
      const body = "m".repeat(300000);
      const ids = [await desk.publish(p, body), await desk.publish(p, body, { durability: 0 }), await desk.publish(p, body, { delay: 3600 })];
      for (const more of [{ body, context: 1 }, body, Buffer.alloc(240000), { body, durability: 0 }]) refused(await p.ask(more), 211);
      assert.equal((await desk.fails("publisher", { body, context: 2 }, 211)).context, 2);
      refused(await desk.command("addmsg", { body }), 211);
      const little = await desk.publish(p, "a small one still fits");
      succeeds(await desk.command("movetodlq", { id: ids[0] }));
      refused(await p.ask({ body }), 211);
      succeeds(await desk.command("deldlqmsg", { id: ids[0] }));
      ids[0] = await desk.publish(p, body);
      refused(await p.ask({ body }), 211);
      const s = await desk.subscriber(5);
      const got = await s.messages(3);
      assert.deepEqual(got.map((m) => m.id).sort(), [ids[0], ids[1], little].sort());
      await desk.ack(s, ids[1]);
      await desk.publish(p, body);
    });

    whenFull("a copy queue is never full", async (desk) => {
      await desk.publishAll(await desk.publisher(), 6);
      const s = await desk.copySubscriber();
      const p = await desk.copyPublisher();
      for (let i = 0; i < 20; i++) assert.deepEqual(await p.ask({ body: `${i}` }), { status: "Success.", subscribers: 1 });
      assert.deepEqual((await s.messages(20)).map((m) => m.body), [...Array(20).keys()].map(String));
      assert.equal((await desk.stats()).messages, 6);
    });
  });
});
