// The log at its highest level, in both formats: every line is one, from the first byte to the last, whoever wrote it;
// no body, password or id of a session is in it; and every event has a name that the manual page lists.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { execFileSync, spawnSync } from "node:child_process";
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import net from "node:net";
import { join } from "node:path";
import { after, test } from "node:test";
import { Cluster, Client, program, root, until } from "./lib.mjs";
import { get, parseLogfmt, readLog } from "./ops.mjs";

const clusters = [];
after(() => { for (const c of clusters) c.down(); });

const server = program("server", "holdfastd");

const documented = new Set([...readFileSync(join(root, "man/holdfastd.8"), "utf8").matchAll(/^\.It Li (.+)$/gm)].flatMap((m) => m[1].split(/[ ,]+/)));

/** Bodies, ids of sessions and messages, passwords that went over the wire. */
async function scenario(cluster) {
  const secrets = Object.values(cluster.info.logins).map((l) => l.password);
  const body = () => {
    const text = `secret-${randomBytes(12).toString("hex")}`;
    secrets.push(text);
    return text;
  };
  const leader = await cluster.waitLeader();
  const other = [1, 2, 3].find((n) => n !== leader);
  const publishers = [await cluster.publisher({ node: leader - 1 }), await cluster.publisher({ node: other - 1 })];
  for (const p of publishers) for (const durability of [0, 1, 2]) secrets.push((await p.ask({ body: body(), durability })).id);
  secrets.push((await publishers[0].ask({ body: "x", durability: 1, publisherkey: body() })).id ?? "none");
  const subscriber = await cluster.subscriber(3, { node: other - 1 });
  secrets.push(subscriber.loginReply.sessionid);
  const taken = [await subscriber.message(), await subscriber.message()];
  await subscriber.ask({ id: taken[0].id, ack: 1 });
  await subscriber.ask({ id: taken[1].id, ack: 0 });
  await subscriber.drop();
  const again = await until(() => cluster.subscriber(3, { node: leader - 1, sessionid: subscriber.loginReply.sessionid }).catch(() => null));
  secrets.push(again.loginReply.sessionid);
  const admin = await cluster.admin();
  for (const cmd of ["getcfg", "getlivestats", "getmsgs", "getdlqmsgs"]) await admin.ask({ cmd });
  // What is refused must not be quoted either.
  const bad = await Client.open(cluster.info.nodes[0].url, cluster.ca);
  bad.send({ ...cluster.login("publisher"), password: body() });
  await bad.closed;
  const broken = await Client.open(cluster.info.nodes[0].url, cluster.ca);
  broken.send(`{"username":"${body()}\n`);
  await broken.closed;
  for (const p of [{ body: body(), durability: 7 }, { body: { a: body() } }]) await publishers[0].ask(p).catch(() => {});
  // Strangers on every port.
  for (const url of cluster.info.nodes.flatMap((n) => [n.url, n.http, `http://127.0.0.1:${Number(new URL(n.url).port) + 10}`]))
    await new Promise((done) => {
      const s = net.connect(Number(new URL(url).port), "127.0.0.1", () => s.end("\x00\xff event=forged\nts=2026 level=error\r\n\r\n"));
      s.on("close", done).on("error", () => {});
      s.resume();
    });
  await get(`${cluster.info.nodes[0].http}/nothing%20here?event=forged`);
  for (const c of [...publishers, again, admin]) await c.drop();
  return secrets;
}

async function upset(cluster) {
  const leader = await cluster.waitLeader();
  cluster.run("kill", String(leader));
  await cluster.waitLeader(leader);
  cluster.run("start", String(leader));
  const pids = JSON.parse(cluster.run("status", "--json")).nodes;
  for (const node of pids) process.kill(node.pid, "SIGHUP");
  const next = await cluster.waitLeader();
  cluster.run("stop", String(next));
  cluster.run("start", String(next));
}

for (const format of ["logfmt", "json"])
  test(`every line is ${format}, and tells no secret`, { timeout: 180000 }, async () => {
    const cluster = await Cluster.up({ nodes: 3, set: { "log-level": "debug", "log-format": format, "message-timeout-secs": 1 } });
    clusters.push(cluster);
    const secrets = await scenario(cluster);
    await upset(cluster);
    cluster.run("down");
    const events = new Set();
    for (const node of cluster.info.nodes) {
      const lines = readLog(node, format);
      assert.ok(lines.length > 20);
      for (const line of lines) {
        assert.equal(String(line.node), String(node.id));
        events.add(line.event);
      }
      const text = readFileSync(join(node.dir, "log"), "utf8");
      for (const secret of secrets) assert.ok(!text.includes(secret), `${secret} is in the log`);
      for (const secret of secrets) assert.ok(!text.includes(Buffer.from(secret).toString("base64")), `${secret} is in the log as base64`);
    }
    for (const event of ["node.started", "leader.elected", "client.closed", "node.stopped", "peer.up"]) assert.ok(events.has(event), event);
    for (const event of events) assert.ok(documented.has(event), `${event} is not in man/holdfastd.8`);
  });

test("a server that does not start says so in lines of the same form", () => {
  const cluster = clusters[0];
  const config = readFileSync(join(cluster.info.nodes[0].dir, "holdfast.conf"), "utf8");
  const run = (name, text) => {
    const file = join(cluster.dir, `${name}.conf`);
    writeFileSync(file, text);
    const r = spawnSync(server, ["--config", file], { encoding: "utf8", timeout: 60000 });
    assert.equal(r.status, 1, name);
    return r.stderr.split("\n").slice(0, -1);
  };
  for (const [name, text, event] of [
    ["unknown", `${config}\nnonsense = "5\n`, "config.refused"],
    ["nodata", config.replace(/^data-dir.*$/m, "data-dir = /nonexistent/data"), "disk.refused"],
    ["nolog", `${config}log-file = /nonexistent/log\n`, "log.unwritable"],
    ["noport", config.replace(/^http-listen.*$/m, "http-listen = 192.0.2.1:9463"), "ops.failed"],
  ]) {
    const lines = run(name, text).map(parseLogfmt);
    assert.ok(lines.some((l) => l.event === event), `${name}: ${JSON.stringify(lines)}`);
    for (const line of lines) assert.ok(documented.has(line.event), line.event);
  }
  const quiet = run("file", `${config.replace(/^data-dir.*$/m, "data-dir = /nonexistent/data")}log-file = ${join(cluster.dir, "elsewhere")}\n`);
  assert.deepEqual(quiet.map((l) => parseLogfmt(l).event), ["node.not_started"]);
  appendFileSync(join(cluster.dir, "elsewhere"), "");
  assert.ok(readFileSync(join(cluster.dir, "elsewhere"), "utf8").split("\n").slice(0, -1).map(parseLogfmt).length > 0);
  assert.ok(execFileSync(server, ["--version"], { encoding: "utf8" }).startsWith("holdfastd "));
});
