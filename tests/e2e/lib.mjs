// What the end-to-end tests share: clusters of real processes and clients over the package ws.
import { execFile, execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import WebSocket from "ws";

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const script = join(root, "deploy", "local-cluster");
export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
/** For what is not async: nothing else of this process goes on meanwhile. */
export const sleepNow = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

// Deadlines tell a fault from a machine that is busy: nothing waits this long that goes well.
export const REPLY_MS = 20000;
const CONDITION_MS = 30000;
// A node that gets no time for a second must not cost the others their leader in the middle of a test about something
// else. A leader that is ended is followed at once all the same. Tests of a frozen one have the default, 1000.
const CALM_ELECTION_MS = 4000;

/** A program of the build: of HOLDFAST_BIN if that is set. folder: of its sources. */
export function program(folder, name) {
  const base = process.env.HOLDFAST_BIN ?? join(root, "build");
  return [join(base, name), join(base, "src", folder, name)].find((path) => existsSync(path));
}

/** Waits until fn gives something true; its last error is thrown at the deadline. */
export async function until(fn, ms = CONDITION_MS, every = 50) {
  const end = Date.now() + ms;
  let last = new Error("the condition was not met");
  for (;;) {
    try {
      const value = await fn();
      if (value) return value;
    } catch (error) {
      last = error;
    }
    if (Date.now() > end) throw last;
    await sleep(every);
  }
}

const PORTS = 60; // of a cluster

async function isFree(port) {
  return new Promise((done) => {
    const server = net.createServer();
    server.once("error", () => done(false));
    server.listen(port, "127.0.0.1", () => server.close(() => done(true)));
  });
}

async function freeBase() {
  for (let i = 0; i < 60; i++) {
    const base = 31000 + Math.floor(Math.random() * 15) * PORTS;
    let free = true;
    for (let p = base; p < base + PORTS && free; p++) free = await isFree(p);
    if (free) return base;
  }
  throw new Error("no free ports");
}

export class Cluster {
  static async up({ nodes = 3, set = {} } = {}) {
    const c = new Cluster();
    const settings = Object.entries({ "election-ms": CALM_ELECTION_MS, ...set }).flatMap(([name, value]) => ["--set", `${name}=${value}`]);
    for (let tries = 3; ; tries--) {
      c.dir = mkdtempSync(join(tmpdir(), "holdfast-e2e-"));
      const args = ["up", "--nodes", String(nodes), "--dir", c.dir, "--base-port", String(await freeBase()), "--json", ...settings];
      try {
        c.info = JSON.parse(execFileSync(script, args, { encoding: "utf8", timeout: 90000 }));
        break;
      } catch (error) {
        rmSync(c.dir, { recursive: true, force: true });
        if (tries === 1 || !/ in use/.test(error.stderr)) throw error; // else somebody was faster
      }
    }
    c.ca = readFileSync(c.info.ca);
    return c;
  }

  run(...args) {
    return execFileSync(script, [...args, "--dir", this.dir], { encoding: "utf8", timeout: 60000 }).trim();
  }

  /** Does not block the event loop. */
  async command(...args) {
    return new Promise((done, fail) => {
      execFile(script, [...args, "--dir", this.dir], { encoding: "utf8", timeout: 60000 }, (error, out) => (error ? fail(error) : done(out.trim())));
    });
  }

  leader() {
    try {
      return Number(this.run("leader"));
    } catch {
      return 0;
    }
  }

  /** Waits until there is a leader, another one than that. */
  async waitLeader(not = 0) {
    return until(() => {
      const id = this.leader();
      return id !== not && id;
    });
  }

  /** holdfastctl on one node's control socket: the parsed --json document. */
  ctl(id, ...args) {
    const socket = this.info.nodes.find((n) => n.id === id).socket;
    return JSON.parse(execFileSync(program("ctl", "holdfastctl"), ["--json", "--socket", socket, ...args], { encoding: "utf8", timeout: 30000 }));
  }

  down() {
    try {
      this.run("down", "--purge");
    } finally {
      rmSync(this.dir, { recursive: true, force: true });
    }
  }

  login(role, more = {}) {
    return { ...this.info.logins[role], role, queuetype: "distribute", ...more };
  }

  /** A client that is logged in; node counts from 0. */
  async client(role, { node = 0, ...more } = {}) {
    const c = await Client.open(this.info.nodes[node].url, this.ca);
    c.loginReply = await c.ask(this.login(role, more)).catch((error) => { c.drop(); throw error; }); // or it would be in the way of the next try
    if (c.loginReply.status !== "Success.") throw new Error(`login: ${JSON.stringify(c.loginReply)}`);
    return c;
  }

  publisher(options) {
    return this.client("publisher", options);
  }

  subscriber(capacity, options) {
    return this.client("subscriber", { capacity, ...options });
  }

  admin(options) {
    return this.client("admin", options);
  }
}

export class Client {
  static async open(url, ca, options = {}) {
    const c = new Client();
    c.frames = [];
    c.waiting = [];
    c.socket = new WebSocket(url, { ca, handshakeTimeout: REPLY_MS, ...options });
    c.closed = new Promise((done) => c.socket.on("close", (code) => { c.closeCode = code; c.wake(); done(code); }));
    c.socket.on("message", (data) => { c.frames.push(JSON.parse(String(data))); c.wake(); });
    await new Promise((done, fail) => {
      c.socket.on("open", done);
      c.socket.on("error", fail);
      c.socket.on("close", () => fail(new Error("closed before it was open")));
    });
    return c;
  }

  wake() {
    for (const done of this.waiting.splice(0)) done();
  }

  async take(wanted, what, ms = REPLY_MS) {
    const end = Date.now() + ms;
    for (;;) {
      const i = this.frames.findIndex(wanted);
      if (i >= 0) return this.frames.splice(i, 1)[0];
      if (this.closeCode !== undefined) throw new Error(`closed (${this.closeCode}) while waiting for ${what}`);
      if (Date.now() > end) throw new Error(`no ${what} within ${ms} ms`);
      await Promise.race([new Promise((done) => this.waiting.push(done)), sleep(Math.max(1, end - Date.now()))]);
    }
  }

  send(value) {
    this.socket.send(typeof value === "string" ? value : JSON.stringify(value));
  }

  reply(ms) {
    return this.take((f) => f.status !== undefined, "a reply", ms);
  }

  message(ms) {
    return this.take((f) => f.body !== undefined && f.status === undefined, "a message", ms);
  }

  async ask(value, ms) {
    this.send(value);
    return this.reply(ms);
  }

  drop() {
    this.socket.terminate();
    return this.closed;
  }
}
