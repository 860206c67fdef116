// The load of livestats.test.mjs: clients that do a bit of everything until they are told to stop, and that know
// afterwards what they hold. Random, but each choice is possible at any time, so no seed is needed to read a failure.
import assert from "node:assert/strict";
import { Client, sleep, until } from "./lib.mjs";

const chance = (share) => Math.random() < share;
const below = (count) => Math.floor(Math.random() * count);
const pick = (list) => list[below(list.length)];

export const LONG_DELAY = 3600;
const TRIES = 40;

/** A client that comes back, at another node, for as long as it is wanted. */
class Actor {
  constructor(cluster, index) {
    Object.assign(this, { cluster, node: index % 3, going: true, client: null });
    this.work = this.run();
    this.work.catch(() => {}); // stop() tells
  }

  async run() {
    while (this.going) {
      try {
        this.client ??= await this.connect();
        await this.act();
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error;
        await this.leave();
        this.node = (this.node + 1) % 3;
        await sleep(20);
      }
    }
    await this.comeBack();
  }

  async leave() {
    await this.client?.drop();
    this.client = null;
  }

  /** Connects if it is not connected, however long it takes a cluster to find a leader. */
  comeBack() {
    return until(async () => {
      if (this.client?.closeCode !== undefined) this.client = null;
      this.client ??= await this.connect();
      return true;
    }, 60000, 100);
  }

  /** Ends the work; the client stays connected. */
  stop() {
    this.going = false;
    return this.work;
  }
}

export class Publisher extends Actor {
  connect() {
    return this.cluster.publisher({ node: this.node });
  }

  async act() {
    const count = 1 + below(20);
    if (chance(0.03)) {
      this.client.send(this.message());
      return this.leave();
    }
    await this.publish(count);
    return sleep(10);
  }

  async publish(count) {
    for (let i = 0; i < count; i++) this.client.send(this.message());
    for (let i = 0; i < count; i++) assert.equal((await this.client.reply()).status, "Success.");
  }

  message() {
    const fields = { body: "x".repeat(below(2000)), durability: below(3) };
    if (chance(0.3)) fields.delay = pick([1, LONG_DELAY]);
    if (chance(0.3)) fields.publisherkey = "key";
    return fields;
  }
}

export class Subscriber extends Actor {
  constructor(cluster, index, capacity) {
    super(cluster, index);
    Object.assign(this, { capacity, held: new Set() });
    this.forget();
  }

  forget() {
    Object.assign(this, { sessionid: "", mayBeGone: true, tries: 0, story: "no reply was lost" });
  }

  /** Resumes its session, whatever it takes, and what it holds comes again; one that may not be there gets a while. */
  async connect() {
    this.held.clear();
    const client = await Client.open(this.cluster.info.nodes[this.node].url, this.cluster.ca);
    client.socket.on("message", () => this.sort(client));
    const resume = this.sessionid ? { sessionid: this.sessionid, replay: true } : {};
    const lost = (error) => { // it may have been resumed under a new id, which nobody knows now
      this.mayBeGone = true;
      this.story = error.message;
      client.drop();
      throw error;
    };
    const reply = await client.ask(this.cluster.login("subscriber", { capacity: this.capacity, ...resume })).catch(lost);
    if (reply.code === 109 && this.mayBeGone && ++this.tries > TRIES) this.forget();
    if (reply.status !== "Success.") throw new Error(`login: ${JSON.stringify(reply)}, try ${this.tries}, ${this.mayBeGone ? "may be gone" : "is there"}; ${this.story}`);
    Object.assign(this, { sessionid: reply.sessionid, tries: 0 });
    return client;
  }

  /** Takes the newest frame away if it is no reply. */
  sort(client) {
    const frame = client.frames.at(-1);
    if (frame?.status !== undefined) return;
    client.frames.pop();
    if (frame.deleted || frame.movedtodlq) {
      this.held.delete(frame.id);
    } else {
      this.mayBeGone = false;
      this.held.add(frame.id);
    }
  }

  async act() {
    if (chance(0.01)) return this.leave();
    if (chance(0.005)) return this.logout();
    if (chance(0.02)) return this.change();
    const id = pick([...this.held]);
    if (id === undefined) return sleep(5);
    const reply = await this.client.ask({ id, ack: chance(0.9) ? 1 : 0 });
    if (reply.code === 301) assert.ok(!this.held.has(id), "301 for a message that it holds");
    else if (reply.code !== 305) assert.equal(reply.status, "Success.");
    if (reply.code !== 305) this.held.delete(id);
  }

  async logout() {
    this.mayBeGone = true; // if the reply does not come
    await this.client.ask({ logout: true });
    this.client = null;
    this.forget();
  }

  async change() {
    this.capacity = 1 + below(30);
    assert.equal((await this.client.ask({ capacity: this.capacity })).status, "Success.");
  }
}

export class Administrator extends Actor {
  connect() {
    return this.cluster.admin({ node: this.node });
  }

  async act() {
    const isDead = chance(0.2);
    const cmd = isDead ? "getdlqmsgs" : "getmsgs";
    const { csv } = await this.client.ask({ cmd, count: 20, ...(chance(0.5) ? { after: "" } : { before: "" }) });
    const row = pick(csv.split("\n").slice(0, -1));
    if (row) {
      const reply = await this.client.ask({ cmd: isDead ? "deldlqmsg" : pick(["delmsg", "movetodlq"]), id: row.split(",")[0] });
      assert.ok(reply.status === "Success." || [301, 413].includes(reply.code), JSON.stringify(reply));
    }
    if (chance(0.3)) await this.client.ask({ cmd: "addmsg", body: "added", durability: below(3) });
    await sleep(20);
  }
}
