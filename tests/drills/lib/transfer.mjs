#!/usr/bin/env node
// See tests/drills/transfer. One run: a follower is killed while the queue is empty; MIB of messages come, so that the
// log it would need is gone; it is started, and gets a snapshot from the leader, which a paced publisher of durability
// 1 and one of durability 2 use all the time.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { existsSync } from "node:fs";
import { Link } from "./client.mjs";
import { Cluster, run } from "./cluster.mjs";

const { values: arg, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    ratio: { type: "string", default: "0" },
    seconds: { type: "string", default: "20" }, // of each measurement without a transfer
    only: { type: "string" },
    "base-port": { type: "string", default: process.env.DRILL_PORT ?? "24300" },
    keep: { type: "boolean", default: false },
  },
});
const mib = Number(positionals[0] ?? 64);
const EVERY_MS = 5; // one message of each durability
const SIZES = [1024, 8192, 60000]; // of what waits, a third of the bytes each
// In flight for each of four publishers: entries stay small, so that there are more of them than stay behind a snapshot.
const WINDOW_BYTES = 32768;
const root = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))));
const bin = process.env.HOLDFAST_BIN ?? join(root, "build");
const ctl = [join(bin, "holdfastctl"), join(bin, "src", "ctl", "holdfastctl")].find(existsSync);
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const print = (line) => console.log(line);
let passed = 0;
let failed = 0;

function check(ok, what) {
  if (ok) passed++;
  else failed++;
  print(`  ${ok ? "good" : "BROKEN"}: ${what}`);
}

async function until(fn, what, ms = 60000 + 100 * mib) {
  const end = Date.now() + ms;
  for (;;) {
    const value = await fn();
    if (value) return value;
    if (Date.now() > end) throw new Error(`${what}: not within ${ms} ms`);
    await sleep(20);
  }
}

/** A publisher at a pace, on the leader's own address; what each confirmation took is kept until it is taken. */
class Pace {
  constructor(cluster, durability) {
    Object.assign(this, { cluster, durability, times: [], errors: 0 });
  }

  async start(node) {
    this.link = new Link({ url: node.url, ca: this.cluster.ca, deflate: false });
    await this.link.ready;
    const { username, password } = this.cluster.info.logins.publisher;
    const reply = await this.link.request({ username, password, role: "publisher", queuetype: "distribute" });
    if (reply.status !== "Success.") throw new Error(`login refused: ${reply.code}`);
    const body = "p".repeat(1024);
    this.timer = setInterval(() => {
      const begin = performance.now();
      this.link.request({ body, durability: this.durability }, 60000).then(
        (answer) => (answer.status === "Success." ? this.times.push(performance.now() - begin) : this.errors++),
        () => this.errors++,
      );
    }, EVERY_MS);
  }

  /** [p50, p99, max] in ms of what was confirmed since the last call. */
  take() {
    const t = this.times.splice(0).sort((a, b) => a - b);
    return [t[Math.floor(t.length * 0.5)], t[Math.floor(t.length * 0.99)], t.at(-1)].map((x) => x ?? NaN);
  }

  stop() {
    clearInterval(this.timer);
    this.link.drop("done");
  }
}

const text = (times) => times.map((x) => x.toFixed(2)).join(" / ");
const spent = (pid) => {
  const f = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  return (Number(f[11]) + Number(f[12])) / 100;
};
const log = (node) => readFileSync(join(node.dir, "log"), "utf8");
const count = (node, event) => log(node).split(`event=${event} `).length - 1;
const incoming = (node) => {
  const dir = join(node.dir, "data", "snapshots");
  try {
    return Math.max(0, ...readdirSync(dir).filter((name) => !name.endsWith(".snap")).map((name) => statSync(join(dir, name)).size));
  } catch {
    return 0;
  }
};

class Run {
  constructor(name, port) {
    this.name = name;
    this.dir = mkdtempSync(join(tmpdir(), "holdfast-transfer-"));
    this.cluster = new Cluster({ script: process.env.QX_LOCAL_CLUSTER ?? join(root, "deploy", "local-cluster"), dir: this.dir, basePort: port, nodes: 3 });
  }

  ctl(node, ...args) {
    return JSON.parse(execFileSync(ctl, ["--json", "--socket", node.socket, ...args], { encoding: "utf8", timeout: 60000 }));
  }

  node(id) {
    return this.cluster.nodes.find((n) => String(n.id) === String(id));
  }

  async leader() {
    return this.node(await until(() => this.cluster.leader(), "a leader"));
  }

  async load() {
    const { info } = this.cluster;
    for (const size of SIZES) {
      const messages = Math.ceil((mib * 1048576) / SIZES.length / size);
      const out = JSON.parse(await run(ctl, ["--json", "bench", "--url", (await this.leader()).url, "--ca", info.ca, "--login-file", join(this.dir, "logins.json"), "--publishers", "4",
        "--subscribers", "0", "--size", String(size), "--window", String(Math.max(2, Math.min(64, Math.floor(WINDOW_BYTES / size)))), "--seconds", "3600", "--count", String(messages)], { timeoutMs: 1200000 }));
      if (out.confirmed !== messages) throw new Error(JSON.stringify(out));
    }
    await this.idle();
  }

  /** Until snapshots and syncs that follow are done. */
  async idle() {
    const all = () => this.cluster.nodes.filter((n) => !this.cluster.down.has(String(n.id))).reduce((sum, n) => sum + spent(n.pid), 0);
    await until(async () => {
      const before = all();
      await sleep(1000);
      return all() - before < 0.15;
    }, "the nodes are idle", 120000);
  }

  async measure(what, ms) {
    for (const p of this.paces) p.take();
    await sleep(ms);
    return this.told(what);
  }

  told(what) {
    const times = this.paces.map((p) => p.take());
    print(`  ${what}: publish to confirm, p50 / p99 / max ms: durability 1 ${text(times[0])}, durability 2 ${text(times[1])}`);
    return times;
  }

  async equal() {
    const { nodes } = this.cluster;
    const all = await until(() => {
      const digests = nodes.map((n) => this.ctl(n, "cluster", "digest"));
      return new Set(digests.map((d) => `${d.digest} ${d.index ?? d.applied}`)).size === 1 && digests;
    }, "the digests are equal", 60000).catch(() => null);
    check(all !== null, `the digests are equal${all ? `: ${all[0].digest}` : ""}`);
  }

  async cut(receiver, size) {
    const victim = this.name === "sender" ? await this.leader() : receiver;
    await until(() => incoming(receiver) > size / 3 || count(receiver, "snapshot.restoring") > 0, "a third of the transfer");
    const had = incoming(receiver);
    await this.cluster.verb("kill", victim.id);
    print(`  node ${victim.id}, the ${this.name}, killed at ${(had / 1048576).toFixed(0)} MiB of ${(size / 1048576).toFixed(0)}`);
    await this.leader();
    if (victim === receiver) check(existsSync(join(receiver.dir, "data", "meta-1")) && count(receiver, "snapshot.restored") === 0, "the old state stays");
    await this.cluster.verb("start", victim.id);
  }

  async go() {
    const { cluster } = this;
    print(`${this.name === "none" ? "undisturbed" : `${this.name} killed`}: ${mib} MiB`);
    await cluster.up({ "max-messages": 1000000, "max-messages-memory": 2 ** 34, ...(mib < 512 ? { "snapshot-min-bytes": 4 << 20 } : {}) });
    const leader = await this.leader();
    const receiver = this.node((leader.id % 3) + 1);
    await cluster.verb("kill", receiver.id);
    await this.load();
    const images = readdirSync(join(leader.dir, "data", "snapshots")).filter((name) => name.endsWith(".snap"));
    const size = statSync(join(leader.dir, "data", "snapshots", images.at(-1))).size;
    const term = this.ctl(leader, "cluster", "status").term;
    this.paces = [new Pace(cluster, 1), new Pace(cluster, 2)];
    if (this.name === "none") {
      for (const p of this.paces) await p.start(leader);
      await this.measure("without (two nodes)  ", Number(arg.seconds) * 500);
    }
    const begin = Date.now();
    const cpu = spent(leader.pid);
    await cluster.verb("start", receiver.id);
    if (this.name !== "none") await this.cut(receiver, size);
    const restored = () => count(receiver, "snapshot.restored") > 0;
    await until(restored, "the snapshot is restored");
    const took = (Date.now() - begin) / 1000;
    print(`  an image of ${(size / 1048576).toFixed(0)} MiB was there and restored in ${took.toFixed(1)} s`);
    if (this.name === "none") {
      const during = this.told("during the transfer  ");
      print(`  the leader's processor time meanwhile: ${(spent(leader.pid) - cpu).toFixed(1)} s; load ${readFileSync("/proc/loadavg", "utf8").split(" ")[0]}`);
      await sleep(3000); // it catches up on the log
      const without = await this.measure("without (three nodes)", Number(arg.seconds) * 1000);
      const ratios = during.map((t, i) => t[1] / without[i][1]);
      print(`  99th percentile, during to without: durability 1 ${ratios[0].toFixed(2)}, durability 2 ${ratios[1].toFixed(2)}`);
      if (Number(arg.ratio) > 0) check(Math.max(...ratios) <= Number(arg.ratio), `it is at most ${arg.ratio} times`);
      check(this.paces.every((p) => p.errors === 0), "every message was confirmed");
      check(this.ctl(leader, "cluster", "status").term === term, "no election happened");
      for (const p of this.paces) p.stop();
    }
    await this.equal();
  }

  async end() {
    await this.cluster.downAll().catch((error) => print(`down: ${error.message}`));
    if (!arg.keep && failed === 0) rmSync(this.dir, { recursive: true, force: true });
    else print(`kept: ${this.dir}`);
  }
}

for (const name of arg.only ? [arg.only] : ["none", "receiver", "sender"]) {
  const one = new Run(name, Number(arg["base-port"]));
  try {
    await one.go();
  } catch (error) {
    check(false, error.message);
  }
  await one.end();
}
print(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
