// Load with a ledger: publishers note what was confirmed, subscribers what came; and how long publishing paused.
import { Rng } from "./rng.mjs";
import { makeBody, readBody } from "./body.mjs";
import { Link } from "./client.mjs";

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

export class Load {
  // nodes(): those that clients may dial now. logins: of the queue. opTimeoutMs: a request without a reply ends its connection.
  constructor({ seed, nodes, logins, ca, publishers = 3, subscribers = 2, opTimeoutMs = 8000, pauseMs = 20 }) {
    Object.assign(this, { seed, nodes, logins, ca, opTimeoutMs, pauseMs });
    this.confirmed = new Map(); // key -> durability
    this.received = new Map(); // key -> how often
    this.broken = 0; // bodies that came changed
    this.refused = 0;
    this.isLoading = true;
    this.isDraining = true;
    this.lastMs = 0; // of the last confirmation
    this.gapMs = 0; // longest since mark()
    this.gapEnd = null; // when it was over
    this.jobs = [...Array(publishers).keys()].map((i) => this.#publish(i));
    this.drains = [...Array(subscribers).keys()].map((i) => this.#subscribe(i));
  }

  async #enter(role, more, rng, onFrame = () => {}) {
    const link = new Link({ url: rng.pick(this.nodes()).url, ca: this.ca, opTimeoutMs: this.opTimeoutMs, onFrame });
    await link.ready;
    const { username, password } = this.logins[role];
    const reply = await link.request({ username, password, role, queuetype: "distribute", ...more });
    if (reply.status !== "Success.") throw new Error(`login refused: ${reply.code}`);
    return link;
  }

  #note() {
    const now = performance.now();
    if (this.lastMs !== 0 && now - this.lastMs > this.gapMs) {
      this.gapMs = now - this.lastMs;
      this.gapEnd = new Date();
    }
    this.lastMs = now;
  }

  // From now on; gap() is the longest time between two confirmations since.
  mark() {
    this.gapMs = 0;
    this.lastMs = performance.now();
  }
  gap() {
    return Math.round(Math.max(this.gapMs, performance.now() - this.lastMs));
  }

  async #publish(i) {
    const rng = new Rng(this.seed, `p${i}`);
    for (let n = 0; this.isLoading;) {
      let link = null;
      try {
        link = await this.#enter("publisher", {}, rng);
        while (this.isLoading && !link.shut) {
          const key = `${this.seed}-p${i}-${++n}`;
          const durability = rng.int(1, 2);
          const reply = await link.request({ body: makeBody(key, durability, 0, rng.int(0, 2000)), durability });
          if (reply.status === "Success.") this.confirmed.set(key, durability), this.#note();
          else this.refused++;
          await sleep(rng.int(0, this.pauseMs));
        }
      } catch {
        await sleep(20);
      }
      link?.drop("bye");
    }
  }

  async #subscribe(i) {
    const rng = new Rng(this.seed, `s${i}`);
    while (this.isDraining) {
      let link = null;
      try {
        link = await this.#enter("subscriber", { capacity: 64 }, rng, (frame) => {
          if (frame.body === undefined) return;
          const { k, bad } = readBody(frame.body);
          if (bad) this.broken++;
          this.received.set(k, (this.received.get(k) ?? 0) + 1);
          link?.request({ id: frame.id, ack: 1 }).catch(() => {});
        });
        while (this.isDraining && !link.shut) await sleep(50);
        if (!link.shut) await link.request({ logout: true });
      } catch {
        await sleep(50);
      }
      link?.drop("bye");
    }
  }

  missing() {
    return [...this.confirmed.keys()].filter((key) => !this.received.has(key));
  }

  // Ends publishing, waits until all that was confirmed has come, ends. Returns the keys that did not come.
  async finish(waitMs = 60000) {
    this.isLoading = false;
    await Promise.all(this.jobs);
    const end = Date.now() + waitMs;
    while (this.missing().length > 0 && Date.now() < end) await sleep(100);
    this.isDraining = false;
    await Promise.all(this.drains);
    return this.missing();
  }
}
