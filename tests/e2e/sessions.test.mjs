// The manual's "Sessions" and "Resume after a drop": when a session is saved, what a resume gives and sends, the six
// causes of 109, and sessions over the death of a leader and a restart of all.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, describe } from "node:test";
import { casesOf, isId, refused, succeeds } from "./cases.mjs";
import { Cluster, REPLY_MS, sleep, until } from "./lib.mjs";

const WRITE_QUEUE_BYTES = 262144;
const MAX_TASKS = 12;
const SHORT_MS = 4000;
let cluster; // three nodes; a minute
let short;   // one node
let tier;    // what was said about a queue of the Dev/test tier on the three nodes
const it = casesOf(() => cluster);
const shortly = casesOf(() => short);

const ids = (messages) => messages.map((m) => m.id);
const at = (node) => ({ node: node % 3 });

async function begin() {
  cluster = await Cluster.up({ nodes: 3, set: { "max-write-queue-bytes": WRITE_QUEUE_BYTES } });
  short = await Cluster.up({ nodes: 1, set: { "saved-session-timeout-secs": SHORT_MS / 1000, "max-tasks": MAX_TASKS } });
  tier = cluster.ctl(await cluster.waitLeader(), "queue", "create", "tier", "--tier", "dev");
  const a = await cluster.admin();
  succeeds(await a.ask({ cmd: "setcfg", "saved-session-timeout-secs": 60 }));
  await a.drop();
}

async function logInAtTier(desk, role, fields = {}) {
  const host = "tier.q.localhost";
  const c = await desk.open(0, { servername: host, headers: { Host: host } });
  c.loginReply = await c.ask({ ...tier.logins[role], role, queuetype: "distribute", ...fields });
  return c;
}

/** Cuts the connection off, and waits until the queue has seen it. */
async function drop(desk, ...subscribers) {
  const { subscribers: count } = await desk.stats();
  for (const s of subscribers) await s.drop();
  return desk.untilStats((s) => s.subscribers === count - subscribers.length);
}

/** Ends the leader, and waits for another one. */
async function killLeader() {
  const leader = await cluster.waitLeader();
  await cluster.command("kill", String(leader));
  return { leader, other: await cluster.waitLeader(leader) };
}

describe("sessions", { concurrency: true }, () => {
  before(begin, { timeout: 120000 });
  after(() => { cluster?.down(); short?.down(); });

  describe("on three nodes", { concurrency: 1 }, () => {
    it("a resume: the reply, a new id, and every message again with replay", async (desk) => {
      const p = await desk.publisher();
      const s = await desk.subscriber(4);
      await desk.publish(p, "0", { durability: 0 });
      await desk.publish(p, "1", { publisherkey: "k" });
      await desk.publish(p, "Mg==", { type: 2, durability: 2 });
      const held = await s.messages(3);
      await drop(desk, s);
      const r = await desk.resume(s.sessionid, { replay: true, context: 5 }, at(1));
      isId(r.sessionid);
      assert.notEqual(r.sessionid, s.sessionid);
      assert.equal(r.texts[0], `{"context":5,"status":"Success.","sessionid":"${r.sessionid}"}`);
      assert.deepEqual(await r.messages(3), held);
      await r.hasNothing();
      await desk.failsToResume(s.sessionid);
      await desk.ack(r, held[0].id);
      refused(await r.ask({ id: held[0].id, ack: 1 }), 301);
      await drop(desk, r);
      await desk.failsToResume(s.sessionid);
      const again = await desk.resume(r.sessionid, { replay: true }, at(2));
      assert.deepEqual(await again.messages(2), held.slice(1));
      assert.equal(new Set([s.sessionid, r.sessionid, again.sessionid]).size, 3);
      await desk.nack(again, held[1].id);
      await desk.ack(again, held[2].id);
    });

    for (const fields of [{}, { replay: false }])
      it(`a resume with ${JSON.stringify(fields)} sends only what was never sent, and what was can be answered`, async (desk) => {
        const p = await desk.publisher();
        const s = await desk.subscriber(3);
        const [a, b] = await desk.publishAll(p, 2);
        await s.messages(2);
        await drop(desk, s);
        const r = await desk.resume(s.sessionid, fields);
        await r.hasNothing();
        await desk.ack(r, a);
        const c = await desk.publish(p, "new");
        assert.equal((await r.message()).id, c);
        await desk.nack(r, b);
        await r.hasNothing();
      });

    it("what was never sent comes without replay, once: the subscriber did not read, and dropped", async (desk) => {
      const p = await desk.publisher();
      const s = await desk.subscriber(1024, {}, { perMessageDeflate: false });
      const next = await desk.subscriber(1);
      s.socket._socket.pause();
      const body = "w".repeat(60000);
      const all = [];
      while (all.length < 600) {
        all.push(await desk.publish(p, body));
        await next.fence();
        if (next.frames.length > 0) break; // the other one takes no more
      }
      const held = all.slice(0, -1);
      assert.equal((await desk.stats()).unacknowledged, all.length);
      await drop(desk, s);
      const r = await desk.resume(s.sessionid, { capacity: held.length });
      const unsent = [];
      do {
        unsent.push(...ids(r.frames.splice(0)));
        await r.fence();
      } while (r.frames.length > 0);
      assert.ok(unsent.length > 0 && unsent.length < held.length, `${unsent.length} of ${held.length} were not sent before`);
      assert.deepEqual(unsent, held.slice(-unsent.length), "the newest, in their order");
      for (const id of held) await desk.ack(r, id);
    });

    it("a resume while a replay is under way, and answers in the middle of it", async (desk) => {
      const p = await desk.publisher();
      const s = await desk.subscriber(40, {}, { perMessageDeflate: false });
      const body = "r".repeat(60000);
      const held = [];
      for (let i = 0; i < 40; i++) held.push(await desk.publish(p, body));
      await s.messages(40);
      await drop(desk, s);
      const first = await desk.resume(s.sessionid, { replay: true }, { perMessageDeflate: false });
      first.socket.pause();
      first.socket._socket.pause();
      await desk.failsToResume(first.sessionid);
      await drop(desk, first);
      const second = await desk.resume(first.sessionid, { replay: true }, { perMessageDeflate: false, node: 1 });
      second.burst(...held.slice(20).map((id) => ({ id, ack: 1 })));
      assert.ok((await second.replies(20)).every((r) => r.status === "Success."));
      const got = [];
      while (!got.includes(held[19])) got.push((await second.message()).id);
      assert.deepEqual(got.filter((id) => held.indexOf(id) < 20), held.slice(0, 20));
      const next = await desk.publish(p, "new ones wait behind the replay");
      let m;
      do m = await second.message(); while (held.includes(m.id));
      assert.equal(m.id, next);
      await second.hasNothing();
    });

    it("the place in the line comes back, and a new login goes to its end", async (desk) => {
      const p = await desk.publisher();
      const line = [];
      for (const node of [0, 1, 2]) line.push(await desk.subscriber(1, {}, at(node)));
      await desk.publishAll(p, 3);
      for (const s of line) await desk.ack(s, (await s.message()).id);
      await drop(desk, line[0], line[1]);
      const anew = await desk.subscriber(1);
      const second = await desk.resume(line[1].sessionid, {}, at(2));
      const first = await desk.resume(line[0].sessionid, {}, at(1));
      for (const s of [first, second, line[2], anew]) {
        const id = await desk.publish(p, "x");
        assert.equal((await s.message()).id, id);
      }
    });

    it("while it is away its messages are its own, and new ones go to the next", async (desk) => {
      const p = await desk.publisher();
      const a = await desk.subscriber(5);
      const b = await desk.subscriber(1);
      const held = await desk.publish(p, "held");
      await a.message();
      await drop(desk, a);
      const next = await desk.publish(p, "next");
      assert.equal((await b.message()).id, next);
      refused(await b.ask({ id: held, ack: 1 }), 301);
      const waiting = await desk.publish(p, "waiting");
      await b.hasNothing();
      const { saved, unacknowledged, subscribers } = await desk.stats();
      assert.deepEqual([saved, unacknowledged, subscribers], [1, 2, 1]);
      const r = await desk.resume(a.sessionid);
      assert.equal((await r.message()).id, waiting, "it has room, so what waits is sent at once");
    });

    it("capacity in a resume: kept, larger, smaller than what is held, or refused", async (desk) => {
      const p = await desk.publisher();
      const s = await desk.subscriber(2);
      const all = await desk.publishAll(p, 8);
      await s.messages(2);
      await drop(desk, s);
      for (const capacity of [0, 1025, -1, 1.5, "2", null]) await desk.fails("subscriber", { sessionid: s.sessionid, capacity }, 300);
      await desk.fails("subscriber", { sessionid: s.sessionid, replay: "true" }, 110);
      await desk.fails("subscriber", { sessionid: s.sessionid, password: "wrong" }, 107);
      await desk.fails("subscriber", { sessionid: s.sessionid, capacity: 0, replay: 1 }, 110);
      const kept = await desk.resume(s.sessionid);
      await kept.hasNothing();
      await desk.ack(kept, all[0]);
      assert.equal((await kept.message()).id, all[2]);
      await kept.hasNothing();
      await drop(desk, kept);
      const larger = await desk.resume(kept.sessionid, { capacity: 4 });
      assert.deepEqual(ids(await larger.messages(2)), all.slice(3, 5));
      await larger.hasNothing();
      await drop(desk, larger);
      succeeds(await desk.command("setcfg", { "max-subscriber-capacity": 3 }));
      try {
        await desk.fails("subscriber", { sessionid: larger.sessionid, capacity: 4 }, 300);
        const bound = await desk.resume(larger.sessionid);
        await desk.ack(bound, all[1]);
        assert.equal((await bound.message()).id, all[5], "the lower limit does not bind a session that is there");
        await drop(desk, bound);
        const smaller = await desk.resume(bound.sessionid, { capacity: 1, replay: true });
        assert.deepEqual(ids(await smaller.messages(4)), all.slice(2, 6));
        for (const id of all.slice(2, 5)) await desk.ack(smaller, id);
        await smaller.hasNothing();
        await desk.ack(smaller, all[5]);
        assert.equal((await smaller.message()).id, all[6]);
      } finally {
        succeeds(await desk.command("setcfg", { "max-subscriber-capacity": 1024 }));
      }
    });

    it("saved when it holds a message or has received one; else it is gone", async (desk) => {
      const p = await desk.publisher();
      const never = await desk.subscriber(1);
      await desk.ack(never, await desk.publish(p, "x").then(async (id) => { await never.message(); return id; }));
      await desk.logout(never);
      const ends = {
        "an ack": (s, id) => desk.ack(s, id),
        "a nack": (s, id) => desk.nack(s, id),
        "a delete": async (s, id) => { await desk.command("delmsg", { id }); await s.notice(); },
        "a move": async (s, id) => { await desk.command("movetodlq", { id }); await s.notice(); },
      };
      for (const [name, end] of Object.entries(ends)) {
        for (const durability of name === "an ack" ? [0, 1, 2] : [1]) {
          const s = await desk.subscriber(1);
          const id = await desk.publish(p, name, { durability });
          await s.message();
          await end(s, id);
          await drop(desk, s);
          const r = await desk.resume(s.sessionid);
          await r.hasNothing();
          await drop(desk, r);
          const again = await desk.resume(r.sessionid, { replay: true });
          await again.hasNothing();
          await desk.logout(again);
        }
      }
      const nothing = await desk.subscriber(5);
      succeeds(await nothing.ask({ capacity: 6 }));
      refused(await nothing.ask({}), 304);
      await drop(desk, nothing);
      assert.equal((await desk.stats()).saved, 0);
      await desk.failsToResume(nothing.sessionid);
    });

    it("every end that is no logout is a drop: closed by the client, for a broken frame, for a large one", async (desk) => {
      const p = await desk.publisher();
      const id = await desk.publish(p, "held");
      let s = await desk.subscriber(1);
      await s.message();
      const raw = (...bytes) => (c) => c.socket._socket.write(Buffer.from(bytes));
      const ways = [
        [1000, (c) => c.socket.close(1000)], [1005, (c) => c.socket.close()], [4321, (c) => c.socket.close(4321, "bye")], [1006, (c) => c.socket.terminate()],
        [1002, raw(0x81, 0x02, 0x7b, 0x7d)], [1007, raw(0x81, 0x81, 0, 0, 0, 0, 0xff)], [1009, (c) => c.send(randomBytes(65537).toString("base64"))],
        [1011, raw(0xc1, 0x85, 0, 0, 0, 0, 7, 255, 255, 18, 52)], [1006, (c) => c.send("no JSON")],
      ];
      for (const [code, way] of ways) {
        way(s);
        assert.equal(await s.closed, code);
        const { sessionid } = s;
        s = await until(() => desk.resume(sessionid, { replay: true }, { node: 1 }));
        assert.equal((await s.message()).id, id);
      }
      await desk.ack(s, id);
    });

    it("109: the old connection is still open, through any node, and it is not disturbed", async (desk) => {
      const p = await desk.publisher();
      const s = await desk.subscriber(2);
      const id = await desk.publish(p, "held");
      await s.message();
      for (const node of [0, 1, 2]) await desk.fails("subscriber", { sessionid: s.sessionid, replay: true, context: node }, 109, { node });
      await s.hasNothing();
      await desk.ack(s, id);
    });

    it("109: another connection resumes it at that moment; exactly one of them has it", async (desk) => {
      const p = await desk.publisher();
      const s = await desk.subscriber(1);
      const id = await desk.publish(p, "held");
      await s.message();
      await drop(desk, s);
      const rivals = await Promise.all([0, 1, 2, 0, 1, 2].map((node) => desk.open(node)));
      const replies = await Promise.all(rivals.map((c) => c.ask(cluster.login("subscriber", { sessionid: s.sessionid, replay: true }))));
      const winners = rivals.filter((c, i) => replies[i].status === "Success.");
      assert.equal(winners.length, 1);
      for (const [i, c] of rivals.entries()) {
        if (c === winners[0]) continue;
        refused(replies[i], 109);
        await c.endsWithoutCode();
      }
      winners[0].role = "subscriber";
      winners[0].fields = {};
      assert.equal((await winners[0].message()).id, id);
    });

    it("109: it logged out, it was never one, or it is another queue's", async (desk) => {
      const p = await desk.publisher();
      const s = await desk.subscriber(1);
      const id = await desk.publish(p, "held");
      await s.message();
      await desk.logout(s);
      for (const sessionid of [s.sessionid, id, "01a1c09f-64be-7000-99d3-a74b8cef2465", "", "x", 5, null, true, {}]) await desk.fails("subscriber", { sessionid, capacity: 1, replay: "x" }, 109);
      const held = await desk.subscriber(1);
      await held.message();
      await drop(desk, held);
      const other = await logInAtTier(desk, "subscriber", { sessionid: held.sessionid });
      refused(other.loginReply, 109);
      await other.endsWithoutCode();
      await desk.resume(held.sessionid);
    });

    it("the limit of a queue of the Dev/test tier is an hour", async (desk) => {
      const a = await logInAtTier(desk, "admin");
      const cfg = succeeds(await a.ask({ cmd: "getcfg" }));
      assert.deepEqual(cfg["saved-session-timeout-secs"], ["w", 3600]);
      assert.deepEqual([cfg["max-tasks"], cfg["stats-frequency-secs"], cfg["stats-retention-period-yrs"]], [["r", 100], ["w", 3600], ["w", 1]]);
    });

    it("a message taken away while its session is saved: no replay, no notice, 301, and it is not returned", async (desk) => {
      const p = await desk.publisher();
      const s = await desk.subscriber(4);
      const [gone, moved, stays] = await desk.publishAll(p, 3);
      const memory = await desk.publish(p, "memory", { durability: 0 });
      await s.messages(4);
      await drop(desk, s);
      succeeds(await desk.command("delmsg", { id: gone }));
      succeeds(await desk.command("movetodlq", { id: moved }));
      succeeds(await desk.command("delmsg", { id: memory }));
      assert.equal((await desk.stats()).unacknowledged, 1);
      const r = await desk.resume(s.sessionid, { replay: true });
      assert.equal((await r.message()).id, stays);
      await r.hasNothing();
      for (const id of [gone, moved, memory]) for (const ack of [0, 1]) refused(await r.ask({ id, ack }), 301);
      // One that is held over a resume without replay is the subscriber's still: it is told.
      await drop(desk, r);
      const again = await desk.resume(r.sessionid);
      succeeds(await desk.command("delmsg", { id: stays }));
      assert.deepEqual(await again.notice(), { deleted: true, id: stays });
    });

    it("the leader dies: all that is held comes again with or without replay, at any node, in its place in the line", async (desk) => {
      const leader = await cluster.waitLeader();
      const [one, two] = [at(leader), at(leader + 1)];
      const p = await desk.publisher({}, one);
      const a = await desk.subscriber(3, {}, { node: leader - 1 });
      const b = await desk.subscriber(2, {}, one);
      const received = await desk.subscriber(1, {}, two);
      const memory = await desk.subscriber(1, {}, one);
      const never = await desk.subscriber(9, {}, two);
      const held = await desk.publishAll(p, 2, { durability: 1 });
      const lost = await desk.publish(p, "in memory", { durability: 0 });
      assert.deepEqual(ids(await a.messages(3)), [...held, lost]);
      const both = await desk.publishAll(p, 2, { durability: 2 });
      await b.messages(2);
      const last = await desk.publish(p, "x");
      await received.message();
      await desk.publish(p, "the only one it received", { durability: 0 });
      await memory.message();
      await desk.ack(received, last);
      await desk.ack(a, held[0]);
      await killLeader();
      for (const s of [a, b, received, memory, never]) assert.equal(await s.closed, 1006);
      const found = async (s, fields, options) => until(() => desk.resume(s.sessionid, fields, options), undefined, 200);
      const c = await found(received, {}, two);
      const rb = await found(b, {}, one);
      assert.deepEqual(ids(await rb.messages(2)), both, "the new leader cannot know what was sent");
      const ra = await found(a, { replay: true }, two);
      assert.equal((await ra.message()).id, held[1]);
      await ra.hasNothing();
      refused(await ra.ask({ id: lost, ack: 1 }), 301);
      refused(await ra.ask({ id: held[0], ack: 1 }), 301);
      await (await found(memory, {}, one)).hasNothing();
      await desk.failsToResume(never.sessionid, two);
      const q = await until(() => desk.publisher({}, one));
      const anew = await desk.subscriber(1, {}, one);
      const goes = [];
      for (let i = 0; i < 5; i++) goes.push(await desk.publish(q, `${i}`));
      assert.deepEqual(ids(await ra.messages(2)), goes.slice(0, 2), "capacity and place are the first one's");
      assert.equal((await c.message()).id, goes[2]);
      assert.equal((await anew.message()).id, goes[4]);
      await cluster.command("start", String(leader));
    });

    it("the leader dies: the id before the last resume is accepted too, the one before that is not; the limit starts anew", async (desk) => {
      const leader = await cluster.waitLeader();
      const p = await desk.publisher({}, at(leader));
      const s = await desk.subscriber(1, {}, at(leader));
      const id = await desk.publish(p, "held");
      await s.message();
      await drop(desk, s);
      const r = await desk.resume(s.sessionid, {}, at(leader));
      await drop(desk, r);
      const lost = await desk.resume(r.sessionid, {}, at(leader + 1)); // as if its reply were lost
      assert.notEqual(lost.sessionid, r.sessionid);
      await drop(desk, lost); // only this leader saw it
      await killLeader();
      desk.keeping = undefined;
      await desk.untilStats((x) => x.saved === 1);
      await desk.failsToResume(s.sessionid, at(leader));
      const back = await until(() => desk.resume(r.sessionid, {}, at(leader + 1)));
      assert.equal((await back.message()).id, id);
      await drop(desk, back);
      await desk.failsToResume(r.sessionid, at(leader));
      await desk.failsToResume(lost.sessionid, at(leader));
      const again = await desk.resume(back.sessionid, {}, at(leader));
      await again.hasNothing();
      await desk.ack(again, id);
      await desk.logout(again);
      await cluster.command("start", String(leader));
    });

    it("the leader freezes: the session goes on at another node, and what the old connection says counts no more", async (desk) => {
      const leader = await cluster.waitLeader();
      const p = await desk.publisher({}, at(leader));
      const s = await desk.subscriber(1, {}, { node: leader - 1 });
      const id = await desk.publish(p, "held", { durability: 2 });
      await s.message();
      await cluster.command("pause", String(leader));
      await cluster.waitLeader(leader);
      const r = await until(() => desk.resume(s.sessionid, {}, at(leader)), undefined, 200);
      assert.equal((await r.message()).id, id);
      s.send({ id, ack: 1 });
      await cluster.command("resume", String(leader));
      assert.equal(await s.closed, 1006);
      assert.deepEqual(s.frames, []);
      await desk.ack(r, id);
      desk.keeping = undefined;
    });

    it("a planned hand-over, and an orderly stop: sessions go on, and messages of durability 0 go along", async (desk) => {
      for (const how of ["step-down", "stop"]) {
        const leader = await cluster.waitLeader();
        const p = await desk.publisher({}, at(leader));
        const s = await desk.subscriber(3, {}, at(leader + 1));
        const begin = Date.now();
        const gone = await desk.publish(p, "gone", { durability: 0 });
        const held = await desk.publish(p, "held", { durability: 0, publisherkey: "k" });
        const firm = await desk.publish(p, "firm", { durability: 1 });
        const before = await s.messages(3);
        await desk.ack(s, gone);
        const memory = await desk.publish(p, "next", { durability: 0 });
        before.push(await s.message());
        const waits = await desk.publish(p, "waits", { durability: 0 });
        const late = await desk.publish(p, "late", { durability: 0, delay: 2 });
        if (how === "stop") await cluster.command("stop", String(leader));
        else cluster.ctl(leader, "cluster", "step-down");
        assert.equal(await s.closed, 1006);
        await cluster.waitLeader(leader);
        desk.keeping = undefined;
        const r = await until(() => desk.resume(s.sessionid, { replay: true }, at(leader)), undefined, 100);
        assert.deepEqual((await r.messages(3)).sort((x, y) => (x.id < y.id ? -1 : 1)), before.slice(1).sort((x, y) => (x.id < y.id ? -1 : 1)));
        refused(await r.ask({ id: gone, ack: 1 }), 301);
        refused(await r.ask({ id: held, ack: 0 }), 305);
        await desk.ack(r, held);
        assert.equal((await r.message()).id, waits);
        await desk.ack(r, memory);
        assert.equal((await r.message()).id, late);
        assert.ok(Date.now() - begin >= 1990);
        for (const id of [firm, waits, late]) await desk.ack(r, id);
        await desk.logout(r);
        if (how === "stop") await cluster.command("start", String(leader));
      }
    });

    it("the node dies that a subscriber is connected to, and does not lead: it resumes at another", async (desk) => {
      const leader = await cluster.waitLeader();
      const node = leader % 3;
      const p = await desk.publisher({}, { node: leader - 1 });
      const s = await desk.subscriber(2, {}, { node });
      const all = await desk.publishAll(p, 2);
      await s.messages(2);
      await cluster.command("kill", String(node + 1));
      assert.equal(await s.closed, 1006);
      const r = await until(() => desk.resume(s.sessionid, { replay: true }, at(leader + 1)), undefined, 100);
      assert.deepEqual(ids(await r.messages(2)), all);
      for (const id of all) await desk.ack(r, id);
      await desk.logout(r);
      await p.drop();
      await cluster.command("start", String(node + 1));
      desk.keeping = undefined;
    });

    it("the whole cluster is stopped and started: sessions are there, with what they held, their capacity and their line", async (desk) => {
      const p = await desk.publisher();
      const a = await desk.subscriber(2);
      const b = await desk.subscriber(3);
      const c = await desk.subscriber(1);
      const held = await desk.publishAll(p, 6, { durability: 1 });
      for (const [s, n] of [[a, 2], [b, 3], [c, 1]]) await s.messages(n);
      await drop(desk, b); // one is saved already, the others are connected
      await desk.ack(c, held[5]);
      await desk.publish(p, "in memory", { durability: 0 });
      for (const { id } of cluster.info.nodes) await cluster.command("stop", String(id));
      for (const { id } of cluster.info.nodes) await cluster.command("start", String(id));
      await cluster.waitLeader();
      desk.keeping = undefined;
      const stats = await until(() => desk.stats());
      assert.deepEqual([stats.saved, stats.unacknowledged, stats.subscribers, stats.messages], [3, 5, 0, 5]);
      const rb = await until(() => desk.resume(b.sessionid, { replay: false }, at(1)));
      assert.deepEqual(ids(await rb.messages(3)), held.slice(2, 5));
      const rc = await until(() => desk.resume(c.sessionid, {}, at(2)));
      await rc.hasNothing();
      const ra = await until(() => desk.resume(a.sessionid, { replay: true }));
      assert.deepEqual(ids(await ra.messages(2)), held.slice(0, 2));
      for (const id of held.slice(0, 2)) await desk.ack(ra, id);
      await desk.ack(rb, held[2]);
      const q = await desk.publisher({}, at(1));
      const more = await desk.publishAll(q, 4);
      assert.deepEqual(ids(await ra.messages(2)), more.slice(0, 2));
      assert.equal((await rb.message()).id, more[2]);
      assert.equal((await rc.message()).id, more[3]);
    });
  });

  describe("with a short time limit", { concurrency: 1 }, () => {
    shortly("109: the time limit has passed; what it held goes to the first in the line with room", async (desk) => {
      const p = await desk.publisher();
      const a = await desk.subscriber(2);
      const b = await desk.subscriber(1);
      const c = await desk.subscriber(1);
      const d = await desk.subscriber(5);
      const held = [...await desk.publishAll(p, 1), await desk.publish(p, "memory", { durability: 0 })];
      await a.messages(2);
      const mine = await desk.publish(p, "b's");
      await b.message();
      const begin = Date.now();
      await a.drop();
      while (c.frames.length === 0) { // refused resumes do not make it longer: with these it would never end
        assert.ok(Date.now() - begin < 3 * SHORT_MS, "it is still saved");
        const refusal = await desk.open();
        const { code } = await refusal.ask(short.login("subscriber", { sessionid: a.sessionid, capacity: 0 }));
        assert.ok(code === 300 || code === 109, `code ${code}`); // 109 as soon as it is over
        await refusal.endsWithoutCode();
      }
      const [first] = await c.messages(1);
      assert.ok(Date.now() - begin >= SHORT_MS - 10, `after ${Date.now() - begin} ms`);
      const [second] = await d.messages(1);
      assert.deepEqual([first.id, second.id].sort(), [...held].sort());
      await b.hasNothing();
      await desk.failsToResume(a.sessionid);
      await desk.ack(b, mine);
      assert.equal((await desk.stats()).saved, 0);
    });

    shortly("the time limit runs from the last drop, and with nobody there the messages wait at the back", async (desk) => {
      const p = await desk.publisher();
      let s = await desk.subscriber(1);
      const held = await desk.publish(p, "held");
      const waits = await desk.publish(p, "waits");
      await s.message();
      const begin = Date.now();
      while (Date.now() - begin < 1.5 * SHORT_MS) {
        await drop(desk, s);
        await sleep(SHORT_MS / 3); // less than the limit: what is tested is that time passing does not add up
        s = await desk.resume(s.sessionid);
        await s.hasNothing();
      }
      await drop(desk, s);
      await desk.untilStats((x) => x.saved === 0);
      await desk.failsToResume(s.sessionid);
      const t = await desk.subscriber(5);
      assert.deepEqual(ids(await t.messages(2)), [waits, held]);
    });

    shortly("109: it held nothing when it dropped, and max-tasks sessions are saved; one that holds a message is saved", async (desk) => {
      succeeds(await desk.command("setcfg", { "saved-session-timeout-secs": 600 }));
      const p = await desk.publisher();
      const dropped = async (answers) => {
        const s = await desk.subscriber(1);
        const id = await desk.publish(p, "x");
        await s.message();
        if (answers) await desk.ack(s, id);
        await drop(desk, s);
        return s;
      };
      const saved = [];
      while (saved.length < MAX_TASKS) saved.push(await dropped(true));
      assert.equal((await desk.stats()).saved, MAX_TASKS);
      await desk.failsToResume((await dropped(true)).sessionid);
      const holds = await dropped(false);
      assert.equal((await desk.stats()).saved, MAX_TASKS + 1);
      const r = await desk.resume(holds.sessionid, { replay: true });
      await r.message();
      await drop(desk, r); // it holds it still
      const again = await desk.resume(r.sessionid);
      await desk.logout(again);
      for (const { id } of [await (await desk.subscriber(1)).message()]) succeeds(await desk.command("delmsg", { id }));
      assert.equal((await desk.stats()).saved, MAX_TASKS);
      await desk.logout(await desk.resume(saved.pop().sessionid)); // makes a place
      for (const s of desk.clients) if (s.role === "subscriber" && s.closeCode === undefined) await desk.logout(s);
      saved.push(await dropped(true));
      assert.equal((await desk.stats()).saved, MAX_TASKS);
      for (const s of saved) await desk.logout(await desk.resume(s.sessionid));
      assert.equal((await desk.stats()).saved, 0);
    });

    shortly("a longer time limit binds a session that is saved already; a stop and a start begin it anew", async (desk) => {
      const p = await desk.publisher();
      const s = await desk.subscriber(1);
      succeeds(await desk.command("setcfg", { "saved-session-timeout-secs": 10 }));
      const id = await desk.publish(p, "held");
      await s.message();
      await drop(desk, s);
      const dropped = Date.now();
      await sleep(3000); // a part of the limit must pass
      await short.command("stop", "1");
      const stopped = Date.now();
      await short.command("start", "1");
      desk.keeping = undefined;
      const other = await until(() => desk.subscriber(1));
      assert.equal((await other.message(2 * REPLY_MS)).id, id);
      assert.ok(stopped - dropped > 3000 && Date.now() - stopped >= 9990, `${Date.now() - stopped} ms after the stop`);
      await desk.failsToResume(s.sessionid);
    });
  });
});
