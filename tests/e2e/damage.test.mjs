// Flipped bits in log, snapshot and metadata, and a log that contradicts the cluster's: a node with enough
// others gets everything from them, a lone one refuses or shows what is left; nothing is lost or removed.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { closeSync, cpSync, existsSync, mkdtempSync, openSync, readFileSync, readdirSync, readSync, rmSync, statSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { Cluster, root, until } from "./lib.mjs";

const bin = (folder, name) => {
  const base = process.env.HOLDFAST_BIN;
  const places = base ? [join(base, name), join(base, "src", folder, name)] : [join(root, "build", "src", folder, name)];
  return places.find(existsSync);
};
const server = bin("server", "holdfastd");
const ctl = (...args) => spawnSync(bin("ctl", "holdfastctl"), args, { encoding: "utf8", timeout: 30000 });

const data = (cluster, id) => join(cluster.dir, `node${id}`, "data");
const nodeLog = (cluster, id) => readFileSync(join(cluster.dir, `node${id}`, "log"), "utf8");
const asides = (cluster, id) => readdirSync(data(cluster, id)).filter((name) => name.startsWith("aside-"));
const listed = (dir) => readdirSync(dir).map((name) => join(dir, name)).filter((path) => statSync(path).isFile());

function flip(file, at, mask = 0x10) {
  const fd = openSync(file, "r+");
  const byte = Buffer.alloc(1);
  assert.equal(readSync(fd, byte, 0, 1, at), 1);
  byte[0] ^= mask;
  writeSync(fd, byte, 0, 1, at);
  closeSync(fd);
}

const ask = (cluster, id, ...words) => {
  const socket = cluster.info.nodes.find((n) => n.id === id).socket;
  const result = ctl("--json", "--socket", socket, ...words);
  return result.status === 0 ? JSON.parse(result.stdout) : null;
};

/** All nodes up, at the same entry, with gates open; their common digest. */
async function agreed(cluster, ids = cluster.info.nodes.map((n) => n.id)) {
  return until(() => {
    const states = ids.map((id) => ask(cluster, id, "cluster", "status"));
    if (!states.every((s) => s && s.gate === "open" && !s.rejoining && s.leader !== 0)) return false;
    const digests = ids.map((id) => ask(cluster, id, "cluster", "digest"));
    if (!digests.every((d) => d && d.applied_index === digests[0].applied_index)) return false;
    assert.deepEqual(digests.map((d) => d.digest), ids.map(() => digests[0].digest));
    return digests[0];
  }, 60000, 200);
}

/** Publishes until told to stop, at whatever node answers; the bodies that were confirmed. */
function publishing(cluster, name, size) {
  const confirmed = new Set();
  let going = true;
  const work = (async () => {
    let client = null;
    for (let i = 0; going; i++) {
      const body = `${name}-${i}-${"x".repeat(size)}`;
      try {
        client ??= await cluster.publisher({ node: i % 3 });
        const reply = await client.ask({ body, durability: 1 + (i % 2) }, 8000);
        if (reply.status === "Success.") confirmed.add(body.split("x")[0]);
      } catch {
        client?.drop();
        client = null;
      }
    }
    client?.drop();
  })();
  return { confirmed, stop: async () => { going = false; await work; } };
}

/** Takes everything there is. */
async function drain(cluster) {
  const bodies = new Set();
  const subscriber = await until(() => cluster.subscriber(200, { node: 0 }), 30000, 300);
  const admin = await until(() => cluster.admin({ node: 0 }), 30000, 300);
  await until(async () => {
    for (;;) {
      let message;
      try { message = await subscriber.message(500); } catch { break; }
      bodies.add(message.body.split("x")[0]);
      await subscriber.ask({ id: message.id, ack: 1 });
    }
    return (await admin.ask({ cmd: "getlivestats" })).csv.startsWith("0,");
  }, 90000);
  await subscriber.ask({ logout: true });
  admin.drop();
  return bodies;
}

describe("three nodes", () => {
  let cluster;
  before(async () => { cluster = await Cluster.up({ nodes: 3, set: { "snapshot-min-bytes": 200000 } }); }, { timeout: 120000 });
  after(() => cluster?.down());

  /** A stopped node's file of one kind, and a place in use in it. */
  const targets = {
    log: (dir) => {
      const file = listed(join(dir, "log")).find((path) => readFileSync(path).lastIndexOf("xxxxxxxx") > 0);
      return { file, at: readFileSync(file).lastIndexOf("xxxxxxxx") };
    },
    snapshot: (dir) => {
      const file = listed(join(dir, "snapshots")).find((path) => path.endsWith(".snap"));
      return { file, at: Math.floor(statSync(file).size / 2) };
    },
    head: (dir) => ({ file: listed(join(dir, "log")).at(-2), at: 20 }),
  };

  for (const kind of Object.keys(targets)) {
    test(`damage in the ${kind === "head" ? "head of a segment" : kind} is repaired from the others, and nothing is lost`, async () => {
      const load = publishing(cluster, kind, 3000);
      await until(() => load.confirmed.size > 150, 60000);
      const id = kind === "log" ? await cluster.waitLeader() : 1 + (Object.keys(targets).indexOf(kind) % 3);
      await until(() => ask(cluster, id, "cluster", "status")?.snapshot_index > 0, 60000);
      await cluster.command("stop", String(id));
      const { file, at } = targets[kind](data(cluster, id));
      flip(file, at);
      const damaged = readFileSync(file);
      const kept = asides(cluster, id);
      await cluster.command("start", String(id));
      await load.stop();
      const digest = await agreed(cluster);
      assert.ok(digest.applied_index > 150);
      const made = asides(cluster, id).filter((name) => !kept.includes(name));
      assert.equal(made.length, 1);
      const where = join(data(cluster, id), made[0]);
      assert.ok(readFileSync(file.replace(data(cluster, id), where)).equals(damaged), "the damaged file is kept as it was");
      assert.match(readFileSync(join(where, "why"), "utf8"), /reason: .* at \d+: /);
      const lines = nodeLog(cluster, id).split("\n").filter((line) => line.includes(`aside=${made[0]}`));
      assert.equal(lines.length, 1);
      assert.match(lines[0], /level=error .*event=disk\.damaged file=\S+ offset=\d+ what=.* consequence="rejoining/);
      const got = await drain(cluster);
      assert.deepEqual([...load.confirmed].filter((body) => !got.has(body)), []);
    });
  }

  for (const name of ["meta-1", "meta-2", "boot"]) {
    test(`a damaged ${name} is harmless`, async () => {
      const id = 2;
      await agreed(cluster);
      await cluster.command("stop", String(id));
      flip(join(data(cluster, id), name), 50);
      const kept = asides(cluster, id);
      await cluster.command("start", String(id));
      await agreed(cluster);
      assert.deepEqual(asides(cluster, id), kept);
      await cluster.command("stop", String(id));
      const result = ctl("data", "check", data(cluster, id));
      assert.equal(result.status, 0, result.stdout);
      await cluster.command("start", String(id));
    });
  }

  test("with both copies of the metadata damaged the node refuses, and changes nothing", async () => {
    const id = 3;
    await agreed(cluster);
    await cluster.command("stop", String(id));
    const names = readdirSync(data(cluster, id));
    for (const name of ["meta-1", "meta-2"]) flip(join(data(cluster, id), name), 50);
    const result = spawnSync(server, ["--config", join(cluster.dir, `node${id}`, "holdfast.conf")], { encoding: "utf8", timeout: 15000 });
    assert.equal(result.status, 1);
    assert.match(result.stderr, /meta-1 .*meta-2: both damaged/);
    assert.match(result.stderr, /term and vote are lost and cannot be guessed/);
    assert.match(result.stderr, /holdfastctl data check /);
    assert.deepEqual(readdirSync(data(cluster, id)), names);
    const repair = ctl("data", "repair", data(cluster, id), "--yes", "--config", join(cluster.dir, `node${id}`, "holdfast.conf"));
    assert.equal(repair.status, 1);
    assert.match(repair.stderr, /not the only voter/);
    for (const name of ["meta-1", "meta-2"]) flip(join(data(cluster, id), name), 50);
    await cluster.command("start", String(id));
    await agreed(cluster);
  });
});

describe("a log that contradicts the cluster's", () => {
  let cluster;
  const saved = mkdtempSync(join(tmpdir(), "holdfast-e2e-saved-"));
  before(async () => { cluster = await Cluster.up({ nodes: 3, set: { "snapshot-min-bytes": 4096 } }); }, { timeout: 120000 });
  after(() => {
    cluster?.down();
    rmSync(saved, { recursive: true, force: true });
  });

  test("is set aside with what was committed in it, and the node rejoins", async () => {
    const start = (...ids) => Promise.all(ids.map((id) => cluster.command("start", String(id))));
    await agreed(cluster);
    cluster.run("down");
    for (const id of [1, 2]) cpSync(data(cluster, id), join(saved, String(id)), { recursive: true });
    await start(1, 2, 3);
    const before = await agreed(cluster);
    let publisher = await until(() => cluster.publisher());
    for (let i = 0; i < 60; i++) await publisher.ask({ body: `old ${i} ${"y".repeat(1000)}`, durability: 2 });
    publisher.drop();
    await until(() => ask(cluster, 3, "cluster", "status")?.snapshot_index > before.applied_index + 10, 30000);
    const { term } = ask(cluster, 3, "cluster", "status");
    cluster.run("down");
    // Two machines of three come back from an old backup: what was committed is gone from the majority.
    for (const id of [1, 2]) {
      rmSync(data(cluster, id), { recursive: true });
      cpSync(join(saved, String(id)), data(cluster, id), { recursive: true });
    }
    await start(1, 2);
    await until(async () => {
      const status = ask(cluster, cluster.leader() || 1, "cluster", "status");
      if (status && status.term > term) return true;
      if (status?.role === "leader") ask(cluster, status.node, "cluster", "step-down");
      return false;
    }, 60000, 300);
    publisher = await until(() => cluster.publisher());
    for (let i = 0; i < 5; i++) await publisher.ask({ body: `new ${i}`, durability: 2 });
    publisher.drop();
    await start(3);
    const pid = readFileSync(join(cluster.dir, "node3", "pid"), "utf8").split(" ")[0];
    await agreed(cluster);
    assert.ok(existsSync(`/proc/${pid}`), "it went on in the same process");
    assert.equal(asides(cluster, 3).length, 1);
    const lines = nodeLog(cluster, 3).split("\n").filter((line) => line.includes("event=log.conflict"));
    assert.equal(lines.length, 1);
    assert.match(lines[0], new RegExp(`level=error .* aside=${asides(cluster, 3)[0]} consequence="rejoining`));
    const got = await drain(cluster);
    assert.deepEqual([...got].sort(), [0, 1, 2, 3, 4].map((i) => `new ${i}`));
    assert.ok(listed(join(data(cluster, 3), asides(cluster, 3)[0], "snapshots")).length > 0);
  });
});

/** CRC-32C, bit by bit. */
function crc32c(bytes) {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let i = 0; i < 8; i++) crc = (crc >>> 1) ^ (crc & 1 ? 0x82f63b78 : 0);
  }
  return (crc ^ 0xffffffff) >>> 0;
}

describe("a node that has applied something else, with nothing damaged", () => {
  let cluster;
  before(async () => { cluster = await Cluster.up({ nodes: 3, set: { "snapshot-min-bytes": 4096 } }); }, { timeout: 120000 });
  after(() => cluster?.down());

  /** Another chain in its newest snapshot, under a checksum that fits. */
  function diverge(id) {
    const file = listed(join(data(cluster, id), "snapshots")).filter((path) => path.endsWith(".snap")).sort().at(-1);
    const head = readFileSync(file).subarray(0, 4096);
    head[48] ^= 1;
    head.writeUInt32LE(crc32c(head.subarray(0, 4092)), 4092);
    const fd = openSync(file, "r+");
    writeSync(fd, head, 0, head.length, 0);
    closeSync(fd);
  }

  async function prepare() {
    const { applied_index: applied } = await agreed(cluster);
    const publisher = await until(() => cluster.publisher());
    for (let i = 0; i < 30; i++) await publisher.ask({ body: `kept ${i} ${"y".repeat(1000)}`, durability: 2 });
    publisher.drop();
    await until(() => [1, 2, 3].every((id) => ask(cluster, id, "cluster", "status")?.snapshot_index > applied + 10), 30000);
    await agreed(cluster);
  }

  async function isMended(id, others) {
    await until(() => asides(cluster, id).length === 1, 30000);
    await agreed(cluster);
    await until(() => {
      const states = [1, 2, 3].map((n) => ask(cluster, n, "cluster", "status"));
      return states.every((s) => s.applied_index === states[0].applied_index && s.chain === states[0].chain);
    }, 30000, 100);
    assert.match(nodeLog(cluster, id), /level=error .*event=chain\.differs peer=\d index=\d+ chain=[0-9a-f]{16} its_chain=[0-9a-f]{16} consequence="/);
    const lines = nodeLog(cluster, id).split("\n").filter((line) => line.includes("event=log.conflict"));
    assert.equal(lines.length, 1);
    assert.match(lines[0], new RegExp(`level=error .*a majority has applied something else.* aside=${asides(cluster, id)[0]} consequence="rejoining`));
    for (const other of others) assert.deepEqual(asides(cluster, other), []);
  }

  test("a follower sets it aside and gets everything from the others", async () => {
    await prepare();
    const leader = await cluster.waitLeader();
    const [id, other] = [1, 2, 3].filter((n) => n !== leader);
    cluster.run("stop", String(id));
    diverge(id);
    await cluster.command("start", String(id));
    await isMended(id, [leader, other]);
  });

  test("a leader does, too", async () => {
    await agreed(cluster);
    const id = [1, 2, 3].find((n) => asides(cluster, n).length === 0);
    const others = [1, 2, 3].filter((n) => n !== id);
    cluster.run("down");
    diverge(id);
    await Promise.all([1, 2, 3].map((n) => cluster.command("start", String(n))));
    await until(async () => { // it leads, or has been found out before it could
      if (asides(cluster, id).length > 0) return true;
      const status = ask(cluster, cluster.leader() || 1, "cluster", "status");
      if (status?.role === "leader" && status.node !== id) ask(cluster, status.node, "cluster", "step-down", "--to", String(id));
      return false;
    }, 60000, 100);
    await isMended(id, others.filter((n) => asides(cluster, n).length === 0));
  });
});

describe("a lone node", () => {
  let cluster;
  before(async () => { cluster = await Cluster.up({ nodes: 1 }); }, { timeout: 60000 });
  after(() => cluster?.down());

  const conf = () => join(cluster.dir, "node1", "holdfast.conf");
  const find = (text) => {
    const file = listed(join(data(cluster, 1), "log")).find((path) => readFileSync(path).includes(text));
    return { file, at: readFileSync(file).indexOf(text) };
  };

  test("shows a message whose body was damaged as damaged in the dead letter queue", async () => {
    const publisher = await cluster.publisher();
    const ids = [];
    for (let i = 0; i < 10; i++) ids.push((await publisher.ask({ body: `body ${i}, in full`, durability: 1 + (i % 2) })).id);
    const taker = await cluster.subscriber(1);
    const first = await taker.message();
    await taker.ask({ id: first.id, ack: 1 });
    await taker.ask({ logout: true });
    publisher.drop();
    cluster.run("stop", "1");
    for (const text of ["body 0, in full", "body 3, in full"]) { // the first was acknowledged
      const { file, at } = find(text);
      flip(file, at, 0x20);
    }
    const check = ctl("data", "check", data(cluster, 1));
    assert.equal(check.status, 1, check.stdout);
    assert.match(check.stdout, /\.seg +DAMAGED .*; at \d+: damaged body of a message/);
    assert.match(check.stdout, /2 entries hold messages with damaged bodies: the node starts/);
    const repair = ctl("data", "repair", data(cluster, 1), "--yes");
    assert.equal(repair.status, 0, repair.stderr);
    assert.match(repair.stderr, /nothing to repair/);
    await cluster.command("start", "1");
    const admin = await until(() => cluster.admin());
    const reply = await admin.ask({ cmd: "getdlqmsg", id: ids[3] });
    assert.deepEqual(reply.msg, { id: ids[3], damaged: true, file: Buffer.from("Body 3, in full").toString("base64") });
    assert.equal((await admin.ask({ cmd: "getdlqmsg", id: ids[0] })).code, 301);
    const subscriber = await cluster.subscriber(20);
    const got = [];
    for (let i = 0; i < 8; i++) got.push((await subscriber.message()).body);
    assert.deepEqual(got.sort(), [1, 2, 4, 5, 6, 7, 8, 9].map((i) => `body ${i}, in full`));
    await assert.rejects(subscriber.message(300));
    subscriber.drop();
    assert.equal((await admin.ask({ cmd: "deldlqmsg", id: ids[3] })).status, "Success.");
    admin.drop();
    cluster.run("stop", "1");
    await cluster.command("start", "1"); // and it stays so
    const again = await until(() => cluster.admin());
    assert.match((await again.ask({ cmd: "getlivestats" })).csv, /^8,/);
    again.drop();
  });

  test("refuses other damage with file, offset and the command to run, which says what is lost", async () => {
    const publisher = await cluster.publisher();
    for (let i = 0; i < 10; i++) await publisher.ask({ body: `later ${i}`, durability: 2 });
    publisher.drop();
    cluster.run("stop", "1");
    const { file, at } = find("later 4");
    flip(file, at - 2); // the checksum of its record's head
    const damaged = readFileSync(file);
    const names = readdirSync(data(cluster, 1));
    const refused = spawnSync(server, ["--config", conf()], { encoding: "utf8", timeout: 15000 });
    assert.equal(refused.status, 1);
    const dir = data(cluster, 1);
    assert.match(refused.stderr, /event=disk\.damaged file=log\/[0-9a-f]{16}\.seg offset=\d+ /);
    assert.ok(refused.stderr.includes(`run: holdfastctl data check ${dir}, then: holdfastctl data repair ${dir} --config ${conf()}`), refused.stderr);
    assert.deepEqual(readdirSync(dir), names);
    assert.ok(readFileSync(file).equals(damaged));
    const check = ctl("data", "check", dir, "--json");
    assert.equal(check.status, 1);
    const found = JSON.parse(check.stdout);
    assert.equal(found.starts, false);
    const bad = found.files.filter((f) => !f.good && join(dir, f.file) === file);
    assert.equal(bad.length, 1);
    assert.match(found.damage, new RegExp(`at ${bad[0].offset}: damaged record`));
    assert.equal(ctl("data", "repair", dir).status, 2);
    assert.ok(readFileSync(file).equals(damaged));
    const repair = ctl("data", "repair", dir, "--yes", "--json");
    assert.equal(repair.status, 0, repair.stderr);
    const told = JSON.parse(repair.stdout);
    assert.match(repair.stderr, new RegExp(`Entries ${told.lost_first} to ${told.lost_last} are LOST`));
    assert.ok(readFileSync(file.replace(dir, join(dir, told.aside))).equals(damaged), "what it was is kept");
    const mended = JSON.parse(ctl("data", "check", dir, "--json").stdout);
    assert.equal(mended.starts, true);
    assert.equal(mended.last_index, told.lost_first - 1);
    assert.equal(mended.damaged_bodies, 2); // of the test before
    await cluster.command("start", "1");
    const got = await drain(cluster);
    for (let i = 0; i < 10; i++) assert.equal(got.has(`later ${i}`), i < 4);
    assert.ok(got.has("body 9, in full".split("x")[0]));
  });

  test("does without a damaged copy of the metadata, and makes both anew when it is told to", async () => {
    const dir = data(cluster, 1);
    cluster.run("stop", "1");
    flip(join(dir, "meta-1"), 50);
    await cluster.command("start", "1");
    cluster.run("stop", "1");
    for (const name of ["meta-1", "meta-2"]) flip(join(dir, name), 50);
    const refused = spawnSync(server, ["--config", conf()], { encoding: "utf8", timeout: 15000 });
    assert.equal(refused.status, 1);
    assert.match(refused.stderr, /both damaged/);
    assert.equal(ctl("data", "repair", dir, "--yes").status, 1); // whose node it is is not known
    const repair = ctl("data", "repair", dir, "--yes", "--config", conf());
    assert.equal(repair.status, 0, repair.stderr);
    assert.match(repair.stderr, /made anew, with term \d+ and no vote\.\nNothing is lost\./);
    await cluster.command("start", "1");
    const publisher = await until(() => cluster.publisher());
    assert.equal((await publisher.ask({ body: "after all", durability: 2 })).status, "Success.");
    publisher.drop();
  });

  test("examines no directory that is in use, and none that is none", () => {
    assert.equal(ctl("data", "check", data(cluster, 1)).status, 5);
    assert.equal(ctl("data", "repair", data(cluster, 1), "--yes").status, 5);
    assert.equal(ctl("data", "check", tmpdir()).status, 4);
    assert.equal(ctl("data", "check").status, 2);
  });
});
