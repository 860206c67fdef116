// See tests/bench/restart. COUNT messages of SIZE bytes wait in three nodes on this machine; all three get the signal at
// once, and when the last is gone all three are started at once. What is printed for each round: seconds from the start
// of the last node to the first confirmed publish, the processor time of the three by then, how long the stop took, and
// from each node's log when its stages ended.
import { execFile, execFileSync } from "node:child_process";
import { readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { Client, Cluster, program, root, sleep, until } from "../e2e/lib.mjs";

const count = Number(process.argv[2] ?? 986000);
const size = Number(process.argv[3] ?? 100);
const signal = process.argv[4] ?? "TERM";
const rounds = Number(process.argv[5] ?? 1);
const BATCH = 250; // in flight for each publisher
const TICKS = 100; // of /proc in a second
const STAGES = /^(start\.stage|node\.started|leader\.(elected|serving))/;

const stat = (pid) => readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
const spent = (pid) => (Number(stat(pid)[11]) + Number(stat(pid)[12])) / TICKS;
const exists = (pid) => {
  try {
    return !"ZX".includes(stat(pid)[0]);
  } catch {
    return false;
  }
};

/** Wall clock time at which a process began, in ms. */
function beganAt(pid) {
  const boot = Number(readFileSync("/proc/stat", "utf8").match(/^btime (\d+)$/m)[1]) * 1000;
  const uptime = Number(readFileSync("/proc/uptime", "utf8").split(" ")[0]);
  const now = Date.now();
  return Math.max(boot, now - (uptime - Number(stat(pid)[19]) / TICKS) * 1000);
}

function ctl(...args) {
  return new Promise((done, fail) => execFile(program("ctl", "holdfastctl"), ["--json", ...args], (error, out) => (error ? fail(error) : done(JSON.parse(out)))));
}

async function fill(cluster) {
  const { info, dir } = cluster;
  const out = await ctl("bench", "--url", info.url, "--ca", info.ca, "--login-file", join(dir, "logins.json"), "--publishers", "4", "--subscribers", "0",
    "--size", String(size), "--window", String(BATCH), "--seconds", "3600", "--count", String(count));
  if (out.confirmed !== count) throw new Error(JSON.stringify(out));
  // What follows the last confirmation (snapshots, syncs) is over when the nodes are idle.
  const all = () => info.nodes.reduce((sum, { pid }) => sum + spent(pid), 0);
  await until(async () => {
    const before = all();
    await sleep(1000);
    return all() - before < 0.1;
  }, 120000);
}

async function firstConfirm(cluster) {
  let refused = 0;
  for (;;) {
    let client;
    try {
      client = await Client.open(cluster.info.nodes[0].url, cluster.ca);
      const login = await client.ask(cluster.login("publisher"), 30000);
      if (login.status === "Success.") {
        const reply = await client.ask({ body: "the first", durability: 1 }, 30000);
        if (reply.status === "Success.") return Date.now();
        if (++refused === 100) throw new Error(`refused: ${JSON.stringify(reply)}`);
      }
    } catch (error) {
      if (refused === 100) throw error;
      await sleep(10);
    } finally {
      client?.socket.terminate();
    }
  }
}

const fields = (line) => Object.fromEntries([...line.matchAll(/(\w+)=("(?:[^"\\]|\\.)*"|\S+)/g)].map((m) => [m[1], m[2]]));

function stages(node, from, zero) {
  const lines = readFileSync(join(node.dir, "log"), "utf8").slice(from).split("\n").filter(Boolean);
  const shown = [];
  for (const line of lines) {
    const f = fields(line);
    const event = f.event ?? line.split(" ").find((word) => STAGES.test(word)) ?? "";
    const time = Date.parse(f.time ?? f.ts ?? line.split(" ")[0]);
    if (STAGES.test(event)) shown.push(`${event === "start.stage" ? f.stage : event} ${((time - zero) / 1000).toFixed(2)}`);
  }
  return shown.join(", ");
}

async function round(cluster, number) {
  const { nodes } = cluster.info;
  const images = nodes.map((n) => readdirSync(join(n.dir, "data", "snapshots")).length);
  const stopAt = Date.now();
  for (const { pid } of nodes) process.kill(pid, `SIG${signal}`);
  await until(() => nodes.every(({ pid }) => !exists(pid)), 120000, 5);
  const stopped = (Date.now() - stopAt) / 1000;
  const from = nodes.map((n) => statSync(join(n.dir, "log")).size);
  const up = cluster.command("up", "--json");
  const served = await firstConfirm(cluster);
  cluster.info = JSON.parse(await up);
  const pids = cluster.info.nodes.map((n) => n.pid);
  const cpu = pids.map((pid) => spent(pid).toFixed(2));
  const zero = Math.max(...pids.map(beganAt));
  console.log(`round ${number}: ${signal}, ${count} x ${size} bytes: ${((served - zero) / 1000).toFixed(2)} s to the first confirmed publish; cpu ${cpu} s; stop ${stopped.toFixed(2)} s; ${images} snapshots; load ${readFileSync("/proc/loadavg", "utf8").split(" ")[0]}`);
  cluster.info.nodes.forEach((n, i) => console.log(`  node ${n.id}: ${stages(n, from[i], zero)}`));
}

const cluster = await Cluster.up({ nodes: 3, set: { "max-messages": 2 * count, "max-messages-memory": 2 ** 33, "election-ms": 1000 } });
try {
  await fill(cluster);
  for (let i = 1; i <= rounds; i++) await round(cluster, i);
} finally {
  if (process.env.KEEP_DIR) console.log(`kept: ${cluster.dir}`), execFileSync(join(root, "deploy", "local-cluster"), ["down", "--dir", cluster.dir]);
  else cluster.down();
}
process.exit(0);
