// What the tests of publishing, copy queues, subscribers and sessions share. Each test gets a queue that is empty, and
// leaves it so: whoever is still connected is logged out or cut off, and what is left is deleted.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Client, until } from "./lib.mjs";

const COLUMNS = ["messages", "publishers", "subscribers", "saved", "admins", "unacknowledged", "dead", "delayed", "durable"];
const UUID7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** A failure has exactly these fields, and this code. */
export function refused(reply, code) {
  const { context, ...rest } = reply;
  assert.deepEqual(Object.keys(rest).sort(), ["code", "reason", "status"], JSON.stringify(reply));
  assert.deepEqual([rest.status, rest.code], ["Failure.", code], JSON.stringify(reply));
  assert.ok(typeof rest.reason === "string" && rest.reason.length > 0);
  return context;
}

export function succeeds(reply) {
  assert.equal(reply.status, "Success.", JSON.stringify(reply));
  return reply;
}

export const isId = (id) => assert.match(String(id), UUID7);

/** A connection that keeps the text of every frame beside its meaning. */
class Talker extends Client {
  static async open(url, ca, options) {
    const c = Object.setPrototypeOf(await Client.open(url, ca, options), Talker.prototype);
    c.texts = [];
    c.socket.on("message", (data) => c.texts.push(String(data)));
    return c;
  }

  send(value) {
    if (Buffer.isBuffer(value)) this.socket.send(value, { binary: true });
    else super.send(value);
  }

  /** Several messages in one write, so that the server reads them together. */
  burst(...values) {
    this.socket._socket.cork();
    for (const value of values) this.send(value);
    this.socket._socket.uncork();
  }

  async replies(count) {
    const all = [];
    while (all.length < count) all.push(await this.reply());
    return all;
  }

  async messages(count) {
    const all = [];
    while (all.length < count) all.push(await this.message());
    return all;
  }

  notice() {
    return this.take((f) => f.deleted !== undefined || f.movedtodlq !== undefined, "a notice");
  }

  /** All that was decided for this subscriber so far is here: it leaves before the reply to a request that is none. */
  async fence() {
    this.send({ context: "fence" });
    await this.take((f) => f.context === "fence", "the reply to a request that is none");
  }

  /** Nothing came that was not taken, and nothing is on its way. */
  async hasNothing() {
    await this.fence();
    assert.deepEqual(this.frames, []);
  }

  /** The end without a close frame: a client reports 1006. */
  async endsWithoutCode() {
    assert.equal(await this.closed, 1006);
  }
}

export class Desk {
  constructor(cluster) {
    this.cluster = cluster;
    this.clients = [];
  }

  async open(node = 0, options = {}) {
    const c = await Talker.open(this.cluster.info.nodes[node].url, this.cluster.ca, options);
    this.clients.push(c);
    return c;
  }

  async login(role, fields = {}, { node = 0, ...options } = {}) {
    const c = await this.open(node, options);
    c.role = role;
    c.fields = fields;
    c.loginReply = succeeds(await c.ask(this.cluster.login(role, fields)).catch((error) => { c.drop(); throw error; }));
    c.sessionid = c.loginReply.sessionid;
    return c;
  }

  publisher(fields, options) {
    return this.login("publisher", fields, options);
  }

  subscriber(capacity, fields, options) {
    return this.login("subscriber", { capacity, ...fields }, options);
  }

  resume(sessionid, fields, options) {
    return this.login("subscriber", { sessionid, ...fields }, options);
  }

  admin(options) {
    return this.login("admin", {}, options);
  }

  copyPublisher(options) {
    return this.login("publisher", { queuetype: "copy" }, options);
  }

  copySubscriber(options) {
    return this.login("subscriber", { queuetype: "copy" }, options);
  }

  /** A login that is refused: the reply, then the end without a close code. Gives the reply. */
  async fails(role, fields, code, { node = 0 } = {}) {
    const c = await this.open(node);
    const reply = await c.ask(this.cluster.login(role, fields));
    refused(reply, code);
    await c.endsWithoutCode();
    return reply;
  }

  /** A resume that is refused with 109. */
  failsToResume(sessionid, options) {
    return this.fails("subscriber", { sessionid, replay: true }, 109, options);
  }

  async publish(publisher, body, fields = {}) {
    const reply = succeeds(await publisher.ask({ body, ...fields }));
    isId(reply.id);
    return reply.id;
  }

  async publishAll(publisher, count, fields = {}) {
    const ids = [];
    for (let i = 0; i < count; i++) ids.push(await this.publish(publisher, `${i}`, fields));
    return ids;
  }

  async ack(subscriber, id, ack = 1) {
    assert.deepEqual(await subscriber.ask({ id, ack }), { id, status: "Success." });
  }

  nack(subscriber, id) {
    return this.ack(subscriber, id, 0);
  }

  async logout(subscriber) {
    assert.deepEqual(await subscriber.ask({ logout: true }), { status: "Logout Success." });
    assert.equal(await subscriber.closed, 1000);
  }

  /** The administrator of this desk, made when first needed and again when it was cut off; at any node that serves. */
  async keeper() {
    let node = 0;
    if (this.keeping === undefined || this.keeping.closeCode !== undefined)
      this.keeping = await until(() => this.admin({ node: node++ % this.cluster.info.nodes.length }), undefined, 200);
    return this.keeping;
  }

  async command(cmd, fields = {}) {
    return (await this.keeper()).ask({ cmd, ...fields });
  }

  async stats() {
    const values = succeeds(await this.command("getlivestats")).csv.split(",").map(Number);
    return Object.fromEntries(COLUMNS.map((name, i) => [name, values[i]]));
  }

  untilStats(wanted, ms) {
    return until(async () => { const s = await this.stats(); return wanted(s) && s; }, ms);
  }

  async list(cmd = "getmsgs") {
    const { csv } = succeeds(await this.command(cmd, { after: "", count: 1600 }));
    return csv.split("\n").slice(0, -1).map((row) => row.split(",")[0]);
  }

  async clear() {
    for (const [list, one] of [["getmsgs", "delmsg"], ["getdlqmsgs", "deldlqmsg"]])
      for (const id of await this.list(list)) await this.command(one, { id });
  }

  async end() {
    for (const c of this.clients) {
      if (c === this.keeping || c.closeCode !== undefined) continue;
      if (c.role === "subscriber" && c.fields.queuetype !== "copy") {
        c.send({ logout: true });
        await Promise.race([c.closed, until(() => c.closeCode !== undefined).catch(() => {})]);
      }
      await c.drop();
    }
    try {
      await this.untilStats((s) => s.publishers === 0 && s.subscribers === 0); // an end takes its way too, through a follower
      await this.clear();
    } finally {
      await this.keeping?.drop();
    }
  }
}

/** it(name, async (desk) => ..) for the cluster that get() gives. */
export function casesOf(get) {
  return (name, fn) => test(name, { timeout: 120000 }, async () => {
    const desk = new Desk(get());
    let failure;
    try {
      await fn(desk);
    } catch (error) {
      failure = error;
    }
    await desk.end().catch((error) => { failure ??= error; });
    if (failure) throw failure;
  });
}
