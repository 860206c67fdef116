// Who belongs to a cluster: what is refused and with which exit code, no answer without a quorum but by a deadline, and
// what is left of a lost majority. tests/drills/members has the changes under load.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Cluster, program, sleep, until } from "./lib.mjs";

let cluster;
before(async () => {
  cluster = await Cluster.up({ nodes: 3 });
  await cluster.waitLeader();
}, { timeout: 120000 });
after(() => cluster?.down());

const ctl = program("ctl", "holdfastctl");
const server = program("server", "holdfastd");
const nodeOf = (id) => cluster.info.nodes.find((n) => n.id === id);

/** One command; with --json there is always one document. */
function run(...args) {
  const r = spawnSync(ctl, ["--json", ...args], { encoding: "utf8", timeout: 60000, stdio: ["ignore", "pipe", "pipe"] });
  return { code: r.status, err: r.stderr, out: r.stdout.trim() === "" ? {} : JSON.parse(r.stdout) };
}
const at = (id, ...args) => run("--socket", nodeOf(id).socket, ...args);

test("members and level are shown by every node", async () => {
  await until(() => [1, 2, 3].every((id) => at(id, "cluster", "level").out.level === 2)); // a new cluster raises it by itself, to the newest
  for (const { id } of cluster.info.nodes) {
    const { code, out } = at(id, "cluster", "members");
    assert.equal(code, 0);
    assert.deepEqual(out.members.map((m) => m.id), [1, 2, 3]);
    assert.equal(out.members.filter((m) => m.role === "leader").length, 1);
    assert.equal(at(id, "cluster", "status").out.member, "voter");
  }
  assert.equal(at(2, "cluster", "level", "2").code, 0, "to raise it again does nothing");
  assert.equal(at(2, "cluster", "level", "99").code, 7, "no member reads that");
});

const REFUSED = [
  [2, "cluster", "add"],
  [2, "cluster", "add", "four", "127.0.0.1:1"],
  [2, "cluster", "add", "0", "127.0.0.1:1"],
  [2, "cluster", "add", "4", "nowhere"],
  [2, "cluster", "add", "4", "127.0.0.1:0"],
  [2, "cluster", "add", "4", "127.0.0.1:99999"],
  [2, "cluster", "add", "4"],
  [4, "cluster", "step-down", "--to", "9"],
  [7, "cluster", "level", "1"],
  [2, "cluster", "remove", "x", "--yes"],
  [2, "cluster", "remove", "3"], // not confirmed, and nobody to ask
  [2, "cluster", "level", "two"],
  [2, "cluster", "invite", "4"],
  [2, "cluster", "replace", "3", "3", "127.0.0.1:1", "--yes"],
  [2, "cluster", "join"],
  [2, "cluster", "recover"],
];
test("what makes no sense is refused with its code, and changes nothing", () => {
  for (const [code, ...args] of REFUSED) {
    const r = args[1] === "join" || args[1] === "recover" ? run(...args) : at(1, ...args);
    assert.equal(r.code, code, `${args.join(" ")}: ${r.err}`);
    assert.ok(r.out.error, `${args.join(" ")} says why in its document`);
  }
  assert.equal(at(1, "cluster", "remove", "7", "--yes").code, 0, "who is no member is gone already");
  assert.deepEqual(at(1, "cluster", "members").out.members.map((m) => [m.id, m.role !== "stand-by"]), [[1, true], [2, true], [3, true]]);
});

test("an invitation says what a new node needs; a configuration that does not fit is told line by line", () => {
  const file = join(cluster.dir, "invite.json");
  assert.equal(at(1, "cluster", "invite", "4", "127.0.0.1:1", "--out", file).code, 0);
  assert.equal(at(1, "cluster", "invite", "4", "127.0.0.1:1", "--out", file).code, 5, "it is never written over");
  const invite = JSON.parse(readFileSync(file, "utf8"));
  assert.equal(invite.node, 4);
  assert.match(invite.ca, /BEGIN CERTIFICATE/);
  assert.match(invite.initial_cluster, /^1=.*,2=.*,3=.*,4=127.0.0.1:1$/);
  const conf = join(cluster.dir, "four.conf");
  const lines = readFileSync(join(nodeOf(1).dir, "holdfast.conf"), "utf8").replaceAll("/node1/", "/node4/");
  const tryWith = (text) => {
    writeFileSync(conf, text);
    return run("cluster", "join", "--config", conf, "--invite", file);
  };
  assert.match(tryWith(lines).err, /node-id is 1, the invitation is for node 4/);
  const four = lines.replace(/^node-id = 1$/m, "node-id = 4");
  assert.match(tryWith(four.replace(/^cluster-token = .*$/m, "cluster-token = other")).err, /cluster-token = /);
  const three = invite.initial_cluster.split(",")[2]; // one that is there and not named
  assert.match(tryWith(four.replace(`,${three}`, "")).err, new RegExp(`initial-cluster = ${three}`));
  assert.match(tryWith(four).err, /the invitation has none/, "its own entry is not needed");
  assert.match(tryWith(four.replace(/^initial-cluster = .*$/m, `initial-cluster = ${invite.initial_cluster}`)).err, /cluster.pem.*the invitation has none|the invitation has none/);
  assert.ok(!existsSync(join(cluster.dir, "node4", "data")), "nothing was made");
});

test("an invitation is signed by an authority of the nodes alone", () => {
  const invite = (ca, out) => at(1, "cluster", "invite", "4", "127.0.0.1:1", "--ca-cert", join(cluster.dir, `${ca}.pem`),
    "--ca-key", join(cluster.dir, `${ca}.key`), "--out", join(cluster.dir, out));
  const wrong = invite("ca", "wrong.json");
  assert.equal(wrong.code, 1);
  assert.match(wrong.err, /ca\.pem is not among the authorities of the node's cluster-ca/);
  assert.ok(!existsSync(join(cluster.dir, "wrong.json")), "nothing was written");
  assert.equal(invite("cluster-ca", "right.json").code, 0);
  assert.match(JSON.parse(readFileSync(join(cluster.dir, "right.json"), "utf8")).cert, /BEGIN CERTIFICATE/);
});

test("a node that joined and was not added yet says what it is", async () => {
  const dir = join(cluster.dir, "node9");
  mkdirSync(dir);
  const text = readFileSync(join(nodeOf(1).dir, "holdfast.conf"), "utf8");
  const free = [50, 51, 52].map((i) => Number(text.match(/^client-listen = .*:([0-9]+)$/m)[1]) + i); // of this cluster's range
  const invitation = join(cluster.dir, "nine.json");
  assert.equal(at(1, "cluster", "invite", "9", `127.0.0.1:${free[0]}`, "--ca-cert", join(cluster.dir, "cluster-ca.pem"),
    "--ca-key", join(cluster.dir, "cluster-ca.key"), "--out", invitation).code, 0);
  const peers = JSON.parse(readFileSync(invitation, "utf8")).initial_cluster;
  const set = (key, value) => (t) => t.replace(new RegExp(`^${key} *=.*$`, "m"), `${key} = ${value}`);
  const conf = [set("node-id", 9), set("initial-cluster", peers), set("cluster-listen", `127.0.0.1:${free[0]}`), set("client-listen", `127.0.0.1:${free[1]}`),
    set("client-advertise", `127.0.0.1:${free[1]}`), set("http-listen", free[2]), set("cluster-cert", join(dir, "c.pem")), set("cluster-key", join(dir, "c.key"))]
    .reduce((t, change) => change(t), text.replaceAll("/node1/", "/node9/"));
  writeFileSync(join(dir, "holdfast.conf"), conf);
  assert.equal(run("cluster", "join", "--config", join(dir, "holdfast.conf"), "--invite", invitation).code, 0);
  const child = runNode(dir);
  try {
    const socket = conf.match(/^control-socket *= *(.*)$/m)[1];
    const shown = await until(() => {
      const { code, out } = run("--socket", socket, "cluster", "members");
      return code === 0 && out.members.length === 4 && out;
    });
    assert.deepEqual(shown.members.map((m) => m.role), ["unknown", "unknown", "unknown", "joining"]);
    const plain = spawnSync(ctl, ["--socket", socket, "cluster", "members"], { encoding: "utf8" }).stdout;
    assert.match(plain, /^ *9 +joining /m);
    assert.match(plain, /it waits to be added \(cluster add 9\)/);
  } finally {
    child.kill("SIGKILL");
  }
});

/** Runs a node that local-cluster would wait for in vain. */
function runNode(dir) {
  const child = spawn(server, ["--config", join(dir, "holdfast.conf")], { stdio: ["ignore", "ignore", "pipe"] });
  child.text = "";
  child.stderr.on("data", (d) => { child.text += d; });
  return child;
}

const ELECTION_MS = 1000;

test("a voter with a wiped disk has no vote before it has everything, also when its directory was made anew", async () => {
  const c = await Cluster.up({ nodes: 3, set: { "election-ms": ELECTION_MS } });
  const children = [];
  try {
    await c.waitLeader();
    const ask = (id, ...args) => run("--socket", c.info.nodes.find((n) => n.id === id).socket, ...args).out;
    const dir = (id) => c.info.nodes.find((n) => n.id === id).dir;
    c.run("kill", "1");
    await c.waitLeader(1);
    const publisher = await until(() => c.client("publisher", { node: 1 }));
    for (let i = 0; i < 5; i++) assert.equal((await publisher.ask({ body: `kept ${i}`, durability: 2 })).status, "Success.");
    c.run("kill", "2");
    c.run("kill", "3");
    rmSync(join(dir(2), "data"), { recursive: true });
    assert.equal(run("data", "init", "--config", join(dir(2), "holdfast.conf")).code, 0);
    for (const id of [1, 2]) children.push(runNode(dir(id)));
    // Node 1 lacks the five messages; with the vote of 2 it would lead without them.
    await until(() => children[1].text.includes("event=log.distrusted"));
    await until(() => [1, 2].every((id) => ask(id, "cluster", "status").role)); // they can be asked
    const until_ = performance.now() + 4 * ELECTION_MS;
    while (performance.now() < until_) {
      assert.notEqual(ask(1, "cluster", "status").role, "leader");
      assert.equal(ask(2, "cluster", "status").rejoining, true);
      await sleep(200);
    }
    children.push(runNode(dir(3)));
    const leads = await until(() => [1, 2, 3].find((id) => ask(id, "cluster", "status").serving), 30000);
    assert.equal(leads, 3);
    await until(() => ask(2, "cluster", "status").gate === "open");
    const subscriber = await until(() => c.client("subscriber", { node: 2, capacity: 10 }));
    const got = new Set();
    while (got.size < 5) got.add((await subscriber.message()).body);
    await until(() => {
      const [a, b, d] = [1, 2, 3].map((id) => ask(id, "cluster", "digest"));
      return a.applied_index === b.applied_index && b.applied_index === d.applied_index && a.digest === b.digest && b.digest === d.digest;
    });
  } finally {
    for (const child of children) child.kill("SIGKILL");
    c.down();
  }
});

test("without a quorum a change is refused by a deadline; what is left can go on alone", async () => {
  const publisher = await cluster.client("publisher");
  for (let i = 0; i < 20; i++) assert.equal((await publisher.ask({ body: `kept ${i}`, durability: 2 })).status, "Success.");
  const leader = await cluster.waitLeader();
  const [one, two] = [1, 2, 3].filter((id) => id !== leader);
  cluster.run("kill", String(one));
  cluster.run("kill", String(two));
  await until(() => at(leader, "cluster", "status").out.role !== "leader", 30000);
  const from = performance.now();
  const removed = at(leader, "cluster", "remove", String(one), "--yes");
  assert.equal(removed.code, 3, removed.err);
  assert.ok(performance.now() - from < 25000, "it does not hang");
  const conf = join(nodeOf(leader).dir, "holdfast.conf");
  assert.equal(run("cluster", "recover", "--config", conf, "--yes").code, 5, "it runs: refused");
  cluster.run("kill", String(leader));
  assert.equal(run("cluster", "recover", "--config", conf).code, 2, "not confirmed");
  const recovered = run("cluster", "recover", "--config", conf, "--yes");
  assert.equal(recovered.code, 0, recovered.err);
  assert.match(recovered.err, /lost for ever/);
  assert.equal(run("cluster", "recover", "--config", conf, "--yes").code, 0, "again: nothing to do");
  cluster.run("start", String(leader));
  await until(() => at(leader, "cluster", "status").out.serving, 40000);
  assert.deepEqual(at(leader, "cluster", "members").out.members.map((m) => m.id), [leader]);
  const subscriber = await until(() => cluster.client("subscriber", { node: leader - 1, capacity: 50 }));
  const got = new Set();
  while (got.size < 20) got.add((await subscriber.message()).body);
  assert.ok(got.has("kept 0") && got.has("kept 19"));
  // The others' old disks are those of another cluster now: they are turned away.
  const back = runNode(nodeOf(one).dir);
  await until(() => /not a member of this cluster/.test(back.text)).finally(() => back.kill("SIGKILL"));
  assert.deepEqual(at(leader, "cluster", "members").out.members.map((m) => m.id), [leader]);
});
