#!/usr/bin/env node
// See tests/drills/bounded. A subscriber takes one message and keeps it; holdfastctl's bench publishes and acknowledges
// COUNT others of 100 bytes. Every 100 ms the blocks of each node's data directory are counted.
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Link } from "./client.mjs";
import { Cluster, run } from "./cluster.mjs";

const { values: arg, positionals } = parseArgs({
  allowPositionals: true,
  options: { "base-port": { type: "string", default: process.env.DRILL_PORT ?? "24400" }, keep: { type: "boolean", default: false } },
});
const count = Number(positionals[0] ?? 20000);
const MIB = 1048576;
const SEGMENT = 16 * MIB;
const isSmall = count < 500000;
// What comes while a snapshot is taken, what stays behind it, and segments: the one that is written, the one made ahead,
// what is left of the first, and a reserve of four.
const constant = isSmall ? 4 * MIB + 16 * MIB + 7 * SEGMENT : 256 * MIB;
const root = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))));
const bin = process.env.HOLDFAST_BIN ?? join(root, "build");
const ctl = [join(bin, "holdfastctl"), join(bin, "src", "ctl", "holdfastctl")].find(existsSync);
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const dir = mkdtempSync(join(tmpdir(), "holdfast-bounded-"));
const cluster = new Cluster({ script: process.env.QX_LOCAL_CLUSTER ?? join(root, "deploy", "local-cluster"), dir, basePort: Number(arg["base-port"]), nodes: 3 });
let passed = 0;
let failed = 0;

function check(ok, what) {
  if (ok) passed++;
  else failed++;
  console.log(`${ok ? "good" : "BROKEN"}: ${what}`);
}

/** [blocks of all files, size of the largest snapshot] below a directory. */
function usage(path) {
  let blocks = 0;
  let image = 0;
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const name = join(path, entry.name);
    try {
      if (entry.isDirectory()) {
        const [b, i] = usage(name);
        blocks += b;
        image = Math.max(image, i);
      } else {
        const s = statSync(name);
        blocks += s.blocks * 512;
        if (name.endsWith(".snap")) image = Math.max(image, s.size);
      }
    } catch (error) {
      if (error.code !== "ENOENT") throw error; // removed meanwhile
    }
  }
  return [blocks, image];
}

async function enter(role, more, onFrame = () => {}) {
  const link = new Link({ url: cluster.info.url, ca: cluster.ca, onFrame });
  await link.ready;
  const { username, password } = cluster.info.logins[role];
  const reply = await link.request({ username, password, role, queuetype: "distribute", ...more });
  if (reply.status !== "Success.") throw new Error(`login refused: ${reply.code}`);
  return link;
}

const largest = [];
let samples = 0;
function sample() {
  cluster.nodes.forEach((node, i) => {
    const [bytes, image] = usage(join(node.dir, "data"));
    const over = bytes - 3 * image;
    if (!largest[i] || over > largest[i].over) largest[i] = { over, bytes, image };
    largest[i].most = Math.max(largest[i].most ?? 0, bytes);
  });
  samples++;
}

try {
  await cluster.up({ "max-messages": 1000000, ...(isSmall ? { "snapshot-min-bytes": MIB } : {}) });
  const held = [];
  const keeper = await enter("subscriber", { capacity: 1 }, (frame) => frame.body !== undefined && held.push(frame));
  const publisher = await enter("publisher", {});
  const first = await publisher.request({ body: "kept for ever", durability: 1 });
  if (first.status !== "Success.") throw new Error(JSON.stringify(first));
  while (held.length === 0) await sleep(10);
  publisher.drop("done");
  let running = true;
  const sampler = (async () => {
    while (running) {
      sample();
      await sleep(100);
    }
  })();
  const out = JSON.parse(await run(ctl, ["--json", "bench", "--url", cluster.info.url, "--ca", cluster.info.ca, "--login-file", join(dir, "logins.json"), "--yes", "--publishers", "4", "--subscribers", "4",
    "--size", "100", "--window", "64", "--seconds", "3600", "--count", String(count)], { timeoutMs: 1800000 }));
  await sleep(2000);
  running = false;
  await sampler;
  console.log(`${out.confirmed} published at ${out.confirm_per_s} a second, ${out.acked} acknowledged; ${samples} samples`);
  check(out.confirmed === count && out.acked === count, "all that came is gone");
  check(!keeper.shut && held.length === 1, "the first is held still");
  const status = cluster.nodes.map((node) => JSON.parse(execFileSync(ctl, ["--json", "--socket", node.socket, "cluster", "status"], { encoding: "utf8" })));
  check(status.every((s) => s.snapshot_index > 0), "every node has a snapshot");
  largest.forEach((l, i) => check(l.over <= constant, `node ${i + 1}: ${(l.most / MIB).toFixed(1)} MiB at most; ${(l.over / MIB).toFixed(1)} MiB over three images, ${(constant / MIB).toFixed(0)} are allowed`));
  keeper.drop("done");
} catch (error) {
  check(false, error.message);
}
await cluster.downAll().catch((error) => console.log(`down: ${error.message}`));
if (!arg.keep && failed === 0) rmSync(dir, { recursive: true, force: true });
else console.log(`kept: ${dir}`);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
