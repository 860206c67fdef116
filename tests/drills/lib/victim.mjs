// A cluster of which one node, the victim, is started and killed from here; the others run all the time.
import { spawn, spawnSync } from "node:child_process";
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, readdirSync, readSync, rmSync, statfsSync, writeSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Link } from "./client.mjs";
import { Cluster, run } from "./cluster.mjs";

const root = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))));
const bin = process.env.HOLDFAST_BIN ?? join(root, "build");
const program = (folder, name) => [join(bin, name), join(bin, folder, name)].find(existsSync) ?? join(bin, folder, name);
export const server = program("src/server", "holdfastd");
export const ctl = program("src/ctl", "holdfastctl");
export const tracer = program("tests/drills", "crashpoint");
export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

/** The victim is over, as it was to be. */
export class Over extends Error {}

/** What is killed keeps all that it wrote, on any file system: the fastest one with room will do. */
function workDir() {
  let base = tmpdir();
  try {
    const fs = statfsSync("/dev/shm");
    if (fs.bavail * fs.bsize > 4e9) base = "/dev/shm";
  } catch {
    // there is none
  }
  return mkdtempSync(join(base, "holdfast-crash-"));
}

/** Waits for something true; a victim that ends meanwhile throws Over. */
export async function until(fn, what, child = null, ms = 30000) {
  const end = Date.now() + ms;
  for (;;) {
    if (child?.isOver) throw new Over();
    const value = await fn();
    if (value) return value;
    if (Date.now() > end) throw new Error(`${what}: not within ${ms} ms`);
    await sleep(10);
  }
}

/** One line over a control socket; null when the node does not answer. */
function askSocket(path, argv) {
  return new Promise((done) => {
    const socket = net.connect(path);
    let text = "";
    const timer = setTimeout(() => socket.destroy(), 5000);
    socket.on("connect", () => socket.write(`${JSON.stringify({ argv })}\n`));
    socket.on("data", (data) => {
      text += data;
      if (text.includes("\n")) socket.destroy();
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      clearTimeout(timer);
      try {
        const reply = JSON.parse(text);
        done(reply.json ?? reply);
      } catch {
        done(null);
      }
    });
  });
}

export class World {
  static async up({ nodes, victim, port, set }) {
    const w = new World();
    w.dir = workDir();
    Object.assign(w, { nodes, victim });
    w.cluster = new Cluster({ script: join(root, "deploy", "local-cluster"), dir: w.dir, basePort: port, nodes });
    await w.cluster.up(set);
    w.data = join(w.dir, `node${victim}`, "data");
    w.config = join(w.dir, `node${victim}`, "holdfast.conf");
    w.log = join(w.dir, "victim.log");
    w.trace = join(w.dir, "victim.trace");
    await run(w.cluster.script, ["stop", String(victim), "--dir", w.dir]);
    w.links = new Map();
    return w;
  }

  async down() {
    this.isDown = true;
    for (const link of this.links.values()) link.drop();
    if (this.child && !this.child.isOver) this.child.signal("SIGKILL");
    await this.child?.over;
    await run(this.cluster.script, ["down", "--purge", "--dir", this.dir]).catch(() => {});
    rmSync(this.dir, { recursive: true, force: true });
  }

  /** Starts the victim; crash: what the tracer is told, or null for a start without it. */
  start(crash = null, argv = ["--config", this.config]) {
    const words = crash ? [tracer, "--dir", this.data, "--out", this.trace, ...crash, server, ...argv] : [server, ...argv];
    if (this.isDown) throw new Error("the cluster is down");
    rmSync(this.trace, { force: true });
    const fd = openSync(this.log, "w", 0o600);
    const process = spawn(words[0], words.slice(1), { stdio: ["ignore", fd, fd] });
    closeSync(fd);
    const child = { isOver: false, code: null };
    child.over = new Promise((done) => {
      process.on("exit", (code, signal) => {
        Object.assign(child, { isOver: true, code: code ?? signal });
        done();
      });
      process.on("error", () => { child.isOver = true; done(); });
    });
    child.signal = (name) => {
      if (child.isOver) return;
      const pid = crash ? Number(/^pid (\d+)/.exec(readFileSync(this.trace, "utf8"))?.[1] ?? 0) : process.pid;
      try {
        if (pid) globalThis.process.kill(pid, name);
      } catch {
        // it ended just now
      }
    };
    this.child = child;
    return child;
  }

  /** The counted calls of the last start, { thread, call, path, to }, with paths below the data directory. */
  calls(data = this.data) {
    const list = [];
    for (const line of readFileSync(this.trace, "utf8").split("\n")) {
      const m = /^\d+ (\d+) (\S+) (\w+) (\S+)(?: (\S+))?$/.exec(line);
      if (!m) continue;
      const short = (path) => (path?.startsWith(data) ? path.slice(data.length + 1) || "." : path);
      list.push({ thread: m[1], comm: m[2], call: m[3], path: short(m[4]), to: short(m[5]) });
    }
    return list;
  }

  logText() {
    return readFileSync(this.log, "utf8");
  }

  ask(id, ...argv) {
    return askSocket(this.cluster.nodes.find((n) => n.id === id).socket, argv);
  }

  status(id = this.victim) {
    return this.ask(id, "cluster", "status");
  }

  others() {
    return this.cluster.nodes.map((n) => n.id).filter((id) => id !== this.victim);
  }

  /** The status of the node that leads and serves; null. */
  async leader() {
    const all = await Promise.all(this.cluster.nodes.map((n) => this.status(n.id)));
    return all.find((s) => s?.role === "leader" && s.serving) ?? null;
  }

  /** The victim has all that was committed until now, and its gate is open. */
  async whole(child) {
    let mark = 0;
    return until(async () => {
      mark ||= (await this.leader())?.commit_index ?? 0;
      const s = mark && (await this.status());
      return s && s.gate === "open" && !s.rejoining && s.leader && s.applied_index >= mark && s;
    }, "the victim is whole", child);
  }

  /** Leadership goes to a node. */
  async handTo(id, child) {
    await until(async () => {
      const s = await this.leader();
      if (s?.node === id) return true;
      if (s) await this.ask(s.node, "cluster", "step-down", "--to", String(id));
      const end = Date.now() + 1500;
      while (Date.now() < end) {
        if (child?.isOver) throw new Over();
        if ((await this.leader())?.node === id) return true;
        await sleep(10);
      }
      return false;
    }, `node ${id} leads`, child);
  }

  /** A connection of a role to a node that is not killed (or to the victim, when it is alone); kept while it lasts. */
  async link(role, child = null, more = {}, onFrame = () => {}) {
    const old = this.links.get(role);
    if (old && !old.shut) return old;
    const node = this.cluster.nodes.find((n) => n.id !== this.victim) ?? this.cluster.nodes[0];
    return until(async () => {
      const link = new Link({ url: node.url, ca: this.cluster.ca, deflate: false, opTimeoutMs: 15000, onFrame: (f) => onFrame(f, link) });
      try {
        await link.ready;
        const { username, password } = this.cluster.info.logins[role];
        const reply = await link.request({ username, password, role, queuetype: "distribute", ...more });
        if (reply.status !== "Success.") throw new Error(`${reply.code}`);
        this.links.set(role, link);
        return link;
      } catch {
        link.drop("failed");
        return null;
      }
    }, `a login as ${role}`, child);
  }

  /** holdfastctl's examination of the victim's data, without changing it. */
  examine(data = this.data, config = this.config) {
    const result = spawnSync(ctl, ["data", "check", data, "--json", "--config", config], { encoding: "utf8" });
    try {
      return JSON.parse(result.stdout);
    } catch {
      return null;
    }
  }

  segments() {
    return readdirSync(join(this.data, "log")).filter((name) => name.endsWith(".seg")).length;
  }

  asides() {
    return readdirSync(this.data).filter((name) => name.startsWith("aside"));
  }

  /** One bit of the first record of the newest segment that has any. */
  damageLog() {
    const folder = join(this.data, "log");
    for (const name of readdirSync(folder).filter((n) => n.endsWith(".seg")).sort().reverse()) {
      const fd = openSync(join(folder, name), "r+");
      const byte = Buffer.alloc(1);
      const head = Buffer.alloc(48);
      const at = 64 + 48 + 2; // heads of segment and record
      const has = readSync(fd, head, 0, 48, 64) === 48 && head.some((b) => b !== 0) && readSync(fd, byte, 0, 1, at) === 1;
      byte[0] ^= 1;
      if (has) writeSync(fd, byte, 0, 1, at);
      closeSync(fd);
      if (has) return name;
    }
    throw new Error("no segment has records");
  }
}

/** Why crash points cannot be made here; "" when they can. */
export function obstacle() {
  if (!existsSync(tracer)) throw new Error(`${tracer} was not built: deploy/build tests/drills/crashpoint`);
  const dir = mkdtempSync(join(tmpdir(), "holdfast-crash-"));
  mkdirSync(join(dir, "data"));
  const result = spawnSync(tracer, ["--dir", join(dir, "data"), "--out", join(dir, "trace"), "/bin/true"], { encoding: "utf8" });
  rmSync(dir, { recursive: true });
  return result.status === 0 ? "" : `processes cannot be traced here: ${result.stderr.trim()}`;
}
