// Garbage on every port never brings a node down, and damage in a log is named.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, openSync, readFileSync, readdirSync, readSync, statSync, writeSync, closeSync } from "node:fs";
import net from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Cluster, program } from "./lib.mjs";

let cluster;
before(async () => { cluster = await Cluster.up({ nodes: 1 }); }, { timeout: 60000 });
after(() => cluster?.down());

const config = () => readFileSync(join(cluster.dir, "node1", "holdfast.conf"), "utf8");
const port = (key) => Number(config().match(new RegExp(`^${key} *=.*?:(\\d+)`, "m"))[1]);

/** Sends bytes and waits until the other side ends, or has had a moment for them. */
function throwAt(where, bytes) {
  return new Promise((done) => {
    const socket = net.connect(where);
    socket.on("error", () => done());
    socket.on("close", () => done());
    socket.on("data", () => {});
    socket.write(bytes, () => setTimeout(() => socket.destroy(), 100));
  });
}

test("garbage on the client, the cluster and the control port leaves the node at work", async () => {
  const places = [port("client-listen"), port("cluster-listen")].map((p) => ({ host: "127.0.0.1", port: p }));
  places.push({ path: cluster.info.nodes[0].socket });
  const loads = [
    Buffer.alloc(0), Buffer.from("GET / HTTP/1.1\r\n\r\n"), Buffer.from("\r\n\r\n\0\r\nQUIT\n"), Buffer.from('{"argv":[]}\n'), Buffer.from('{"argv":["cluster",7]}\n'),
    Buffer.from("{}\n".repeat(1000)), Buffer.alloc(2 << 20, 0x16), Buffer.from([0x16, 3, 1, 0xff, 0xff]), randomBytes(100000), Buffer.alloc(100000, 0xff),
  ];
  for (const place of places) await Promise.all(loads.map((bytes) => throwAt(place, bytes)));
  const subscriber = await cluster.subscriber(1);
  const publisher = await cluster.publisher();
  const { id } = await publisher.ask({ body: "still here", durability: 2 });
  assert.equal((await subscriber.message()).id, id);
  await subscriber.ask({ id, ack: 1 });
  subscriber.drop();
  publisher.drop();
  assert.ok(existsSync(`/proc/${cluster.info.nodes[0].pid}`));
});

test("a log that is damaged in more than a body is refused with file and offset, and nothing changes on the disk", async () => {
  const publisher = await cluster.publisher();
  for (let i = 0; i < 50; i++) await publisher.ask({ body: `body ${i} ${"x".repeat(500)}`, durability: 2 });
  publisher.drop();
  cluster.run("stop", "1");
  const dir = join(cluster.dir, "node1", "data", "log");
  const file = readdirSync(dir).map((name) => join(dir, name)).find((path) => readFileSync(path).includes("body 10 "));
  const size = statSync(file).size;
  const at = readFileSync(file).indexOf("body 10 ") - 2; // the checksum of the record's head
  const fd = openSync(file, "r+");
  const byte = Buffer.alloc(1);
  readSync(fd, byte, 0, 1, at);
  byte[0] ^= 0x10;
  writeSync(fd, byte, 0, 1, at);
  closeSync(fd);
  const before = readFileSync(file);
  const names = readdirSync(dir);
  const result = spawnSync(program("server", "holdfastd"), ["--config", join(cluster.dir, "node1", "holdfast.conf")], { encoding: "utf8", timeout: 15000 });
  assert.equal(result.status, 1, result.stderr);
  assert.match(result.stderr, new RegExp(file.replaceAll("/", "\\/")));
  assert.match(result.stderr, /\.seg: at \d+: damaged record/);
  assert.ok(readFileSync(file).equals(before));
  assert.equal(statSync(file).size, size);
  assert.deepEqual(readdirSync(dir), names);
});
