// For how long nobody gets a confirmation when the leader is killed, and when it hands over.
//
//   node tests/bench/gaps.mjs [ROUNDS]      (50 of each; needs tests/e2e/node_modules)
//
// Three nodes on this machine, four publishers with one publish in flight each and a few milliseconds between them, through
// random nodes. Each round kills the leader with SIGKILL, or lets it step down, waits until publishing goes on, and starts
// the dead node again; the next round begins when it has everything. A gap is the longest time between two confirmations
// of any client since just before the blow. Prints p50, p99 and the longest of each kind; judges nothing but that nothing
// that was confirmed is lost. HOLDFAST_BIN names another build directory.
import { execFile } from "node:child_process";
import { Cluster, program, sleep, until } from "../e2e/lib.mjs";
import { Load } from "../drills/lib/load.mjs";

const rounds = Number(process.argv[2] ?? 50);
const ctl = program("ctl", "holdfastctl");
const cluster = await Cluster.up({ nodes: 3, set: { "election-ms": 1000 } }); // the default
const { nodes } = cluster.info;

function ask(node, ...args) {
  return new Promise((done) => execFile(ctl, ["--json", "--socket", node.socket, ...args], { timeout: 10000 }, (error, text) => done(error ? undefined : JSON.parse(text))));
}

/** The leader, when every other node has all that it has, give or take what is on its way. */
async function settled() {
  return until(async () => {
    const all = await Promise.all(nodes.map((node) => ask(node, "cluster", "status")));
    const leader = all.find((status) => status?.role === "leader" && status.serving);
    const isWhole = leader?.peers.every((peer) => peer.connected && peer.lag < 1000) && all.every((status) => status?.leader === leader.node && status.gate === "open");
    return isWhole && nodes.find(({ id }) => id === leader.node);
  }, 30000);
}

async function goesOn(load, count) {
  const before = load.confirmed.size;
  await until(() => load.confirmed.size >= before + count, 30000, 5);
}

const blows = {
  "leader killed": async (leader) => {
    await cluster.command("kill", String(leader.id));
    return () => cluster.command("start", String(leader.id));
  },
  "leader hands over": async (leader) => {
    await ask(leader, "cluster", "step-down");
    return () => {};
  },
};

const load = new Load({ seed: 1, nodes: () => nodes, logins: cluster.info.logins, ca: cluster.ca, publishers: 4, subscribers: 2, pauseMs: 4 });
console.log(`${"".padEnd(20)}${["rounds", "p50 ms", "p99 ms", "longest ms"].map((text) => text.padStart(12)).join("")}`);
try {
  for (const [name, strike] of Object.entries(blows)) {
    const gaps = [];
    for (let i = 0; i < rounds; i++) {
      const leader = await settled();
      await goesOn(load, 50);
      load.mark();
      const mend = await strike(leader);
      await goesOn(load, 50);
      await until(async () => (await Promise.all(nodes.map((node) => ask(node, "cluster", "status")))).some((status) => status?.role === "leader" && status.node !== leader.id), 30000);
      gaps.push(load.gap());
      await mend();
    }
    gaps.sort((a, b) => a - b);
    const at = (share) => gaps[Math.min(gaps.length - 1, Math.floor(gaps.length * share))];
    console.log(`${name.padEnd(20)}${[gaps.length, at(0.5), at(0.99), gaps.at(-1)].map((value) => String(value).padStart(12)).join("")}`);
  }
  const missing = await load.finish();
  console.log(`${load.confirmed.size} confirmed, ${missing.length} missing`);
  process.exitCode = missing.length ? 1 : 0;
} finally {
  load.isLoading = load.isDraining = false;
  await sleep(100);
  cluster.down();
}
process.exit();
