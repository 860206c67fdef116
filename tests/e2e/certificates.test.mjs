// HUP swaps both certificates whole: old connections live on, new ones see the new, a bad file changes nothing and is
// named; and the alarm ahead of the end.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import tls from "node:tls";
import { after, before, test } from "node:test";
import { Cluster, until } from "./lib.mjs";
import { readLog, scrape, value } from "./ops.mjs";

let cluster, leader, follower;
const nodeOf = (id) => cluster.info.nodes.find((n) => n.id === id);
before(async () => {
  cluster = await Cluster.up({ nodes: 3 });
  writeFileSync(path("openssl.cnf"), sections(cluster.info.nodes.map((n) => n.id)));
  const id = await cluster.waitLeader();
  leader = nodeOf(id);
  follower = cluster.info.nodes.find((n) => n.id !== id);
}, { timeout: 120000 });
after(() => cluster?.down());

const path = (name) => join(cluster.dir, name);
const openssl = (...args) => execFileSync("openssl", args, { cwd: cluster.dir, stdio: ["ignore", "pipe", "ignore"] });

const sections = (ids) => `[req]
distinguished_name = name
prompt = no
[name]
[server]
basicConstraints = critical,CA:FALSE
keyUsage = critical,digitalSignature
extendedKeyUsage = serverAuth
subjectAltName = DNS:localhost,DNS:*.q.localhost,IP:127.0.0.1,IP:::1
${ids.map((id) => `[node${id}]
basicConstraints = critical,CA:FALSE
keyUsage = critical,digitalSignature
extendedKeyUsage = serverAuth,clientAuth
subjectAltName = DNS:node-${id}.holdfast.internal
`).join("")}`;

/** Makes NAME.pem and NAME.key of a section of openssl.cnf, signed by a CA of the cluster. */
function make(name, { section = "server", ca = "ca", days = 100, sign = [] } = {}) {
  openssl("req", "-new", "-config", "openssl.cnf", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", `/CN=${section}`,
    "-keyout", `${name}.key`, "-out", `${name}.csr`);
  openssl("x509", "-req", "-in", `${name}.csr`, "-CA", `${ca}.pem`, "-CAkey", `${ca}.key`, "-CAcreateserial", "-days", String(days),
    "-extfile", "openssl.cnf", "-extensions", section, "-out", `${name}.pem`, ...sign);
  return name;
}

const serial = (file) => String(openssl("x509", "-in", file, "-noout", "-serial")).trim().replace("serial=", "");

/** The serial number of the certificate that a new client is shown. */
async function shown(node) {
  return new Promise((done, fail) => {
    const s = tls.connect({ port: Number(new URL(node.url).port), host: "127.0.0.1", servername: "localhost", rejectUnauthorized: false }, () => {
      const got = s.getPeerCertificate().serialNumber;
      s.destroy();
      done(got);
    });
    s.on("error", fail);
  });
}

/** Puts files in place, sends HUP, waits until the node says that it has reloaded; what it logged meanwhile. */
async function reload(node, files) {
  for (const [to, from] of Object.entries(files)) {
    copyFileSync(path(from), `${to}.new`);
    renameSync(`${to}.new`, to);
  }
  return hup(node);
}

async function hup(node) {
  const count = readLog(node).length;
  process.kill(node.pid, "SIGHUP");
  return until(() => {
    const lines = readLog(node).slice(count);
    return lines.some((l) => l.event === "node.reloaded") && lines;
  });
}

const live = { cert: () => path("server.pem"), key: () => path("server.key") };

test("a swap under load: connections live on, new ones see the new certificate", async () => {
  make("second");
  const old = await cluster.publisher({ node: cluster.info.nodes.indexOf(leader) });
  let sent = 0;
  let isDone = false;
  const load = (async () => {
    while (!isDone) {
      assert.equal((await old.ask({ body: `${sent}`, durability: 1 })).status, "Success.");
      sent++;
    }
  })();
  assert.notEqual(await shown(leader), serial("second.pem"));
  const lines = await reload(leader, { [live.cert()]: "second.pem", [live.key()]: "second.key" });
  assert.equal(lines.find((l) => l.event === "node.reloaded").client_certificate, "new");
  assert.equal(lines.find((l) => l.event === "certificate.loaded" && l.use === "client").file, live.cert());
  assert.equal(await shown(leader), serial("second.pem"));
  const at = sent;
  await until(() => sent > at + 20);
  isDone = true;
  await load;
  const fresh = await cluster.publisher({ node: cluster.info.nodes.indexOf(leader) });
  assert.equal((await fresh.ask({ body: "new", durability: 1 })).status, "Success.");
  await old.drop();
  await fresh.drop();
  // The others serve from the same files, and have not been told.
  assert.notEqual(await shown(leader), undefined);
});

test("a bad file keeps the old certificate, and is named with the reason", async () => {
  const before = await shown(leader);
  const good = { [live.cert()]: "good.pem", [live.key()]: "good.key" };
  copyFileSync(live.cert(), path("good.pem"));
  copyFileSync(live.key(), path("good.key"));
  make("other");
  make("expired", { days: 0 });
  writeFileSync(path("garbage"), "-----BEGIN NONSENSE-----\n");
  writeFileSync(path("empty"), "");
  for (const [files, step, reason] of [
    [{ [live.key()]: "garbage" }, "key", /.+/],
    [{ [live.cert()]: "garbage" }, "certificate", /line/],
    [{ [live.cert()]: "empty" }, "certificate", /.+/],
    [{ [live.key()]: "other.key" }, "key", /mismatch/],
    [{ [live.cert()]: "other.pem" }, "key", /mismatch/],
    [{ [live.cert()]: "expired.pem", [live.key()]: "expired.key" }, "dates", /expired/],
  ]) {
    const lines = await reload(leader, files);
    const refused = lines.find((l) => l.event === "certificate.refused");
    assert.ok(refused, JSON.stringify([files, lines]));
    assert.deepEqual([refused.level, refused.use, refused.step], ["error", "client", step]);
    assert.match(refused.reason, reason);
    assert.equal(lines.find((l) => l.event === "node.reloaded").client_certificate, "kept");
    assert.equal(await shown(leader), before);
    const c = await cluster.publisher({ node: cluster.info.nodes.indexOf(leader) });
    await c.drop();
    await reload(leader, good);
  }
  rmSync(live.key());
  const lines = await hup(leader);
  assert.match(lines.find((l) => l.event === "certificate.refused").reason, /No such file/);
  assert.equal(await shown(leader), before);
  await reload(leader, good);
});

test("an end within 14 days is told at HUP and in the metrics", async () => {
  make("short", { days: 5 });
  const quiet = await hup(leader);
  assert.ok(!quiet.some((l) => l.event === "certificate.expires"));
  const lines = await reload(leader, { [live.cert()]: "short.pem", [live.key()]: "short.key" });
  const told = await until(() => readLog(leader).slice(-20).find((l) => l.event === "certificate.expires"));
  assert.deepEqual([told.level, told.use], ["warn", "client"], JSON.stringify(lines));
  assert.match(told.days, /^[45]$/);
  const left = value(await scrape(leader), "holdfast_certificate_not_after_seconds", { use: "client" }) - Date.now() / 1000;
  assert.ok(left > 4.9 * 86400 && left <= 5 * 86400, `${left} s`);
});

test("and at the start", async () => {
  cluster.run("stop", String(follower.id));
  const count = readLog(follower).length;
  cluster.run("start", String(follower.id)); // serves from the same files
  const told = await until(() => readLog(follower).slice(count).find((l) => l.event === "certificate.expires"));
  assert.equal(told.use, "client");
  assert.match(told.days, /^[45]$/);
  make("long");
  copyFileSync(path("long.pem"), live.cert());
  copyFileSync(path("long.key"), live.key());
});

test("cluster certificates are swapped the same way; links live on", async () => {
  for (const node of cluster.info.nodes) node.pid = JSON.parse(cluster.run("status", "--json")).nodes.find((n) => n.id === node.id).pid;
  await until(async () => { // the node that was started again has all its links
    for (const node of cluster.info.nodes) {
      const m = await scrape(node);
      for (const { id } of cluster.info.nodes) if (id !== node.id && value(m, "holdfast_raft_peer_up", { peer: String(id) }) !== 1) return false;
    }
    return true;
  });
  const term = value(await scrape(leader), "holdfast_raft_term");
  const days = { 1: 200, 2: 201, 3: 10 };
  for (const node of cluster.info.nodes) {
    const name = make(`new${node.id}`, { section: `node${node.id}`, ca: "cluster-ca", days: days[node.id] });
    const lines = await reload(node, { [join(node.dir, "cluster.pem")]: `${name}.pem`, [join(node.dir, "cluster.key")]: `${name}.key` });
    assert.equal(lines.find((l) => l.event === "node.reloaded").cluster_certificate, "new");
    assert.ok(!lines.some((l) => l.event.startsWith("peer.")), "links live on");
    const left = value(await scrape(node), "holdfast_certificate_not_after_seconds", { use: "cluster" }) - Date.now() / 1000;
    assert.ok(Math.abs(left - days[node.id] * 86400) < 3600);
  }
  const told = await until(() => readLog(nodeOf(3)).slice(-20).find((l) => l.event === "certificate.expires" && l.use === "cluster"));
  assert.match(told.days, /^(9|10)$/);
  assert.equal(value(await scrape(leader), "holdfast_raft_term"), term);
  // New links are made with the new certificates.
  cluster.run("kill", String(follower.id));
  cluster.run("start", String(follower.id));
  await until(async () => value(await scrape(leader), "holdfast_raft_peer_lag_entries", { peer: String(follower.id) }) === 0
    && value(await scrape(leader), "holdfast_raft_peer_up", { peer: String(follower.id) }) === 1);
});

test("a bad cluster certificate keeps the old one, and is named with the reason", async () => {
  const node = nodeOf(leader.id);
  const files = { [join(node.dir, "cluster.pem")]: `new${node.id}.pem`, [join(node.dir, "cluster.key")]: `new${node.id}.key` };
  const before = value(await scrape(node), "holdfast_certificate_not_after_seconds", { use: "cluster" });
  const [cert, key] = Object.keys(files);
  const name = node.id === 1 ? 2 : 1;
  make("foreign", { section: `node${node.id}`, ca: "ca" });
  make("past", { section: `node${node.id}`, ca: "cluster-ca", days: 0 });
  for (const [bad, reason] of [
    [{ [key]: "garbage" }, /cannot use key/],
    [{ [key]: `new${name}.key` }, /cannot use key.*mismatch/],
    [{ [cert]: `new${name}.pem`, [key]: `new${name}.key` }, /not this node's name/],
    [{ [cert]: "foreign.pem", [key]: "foreign.key" }, /not signed by the CA/],
    [{ [cert]: "past.pem", [key]: "past.key" }, /expired/],
  ]) {
    const lines = await reload(node, bad);
    const refused = lines.find((l) => l.event === "certificate.refused" && l.use === "cluster");
    assert.match(refused?.reason ?? JSON.stringify(lines), reason);
    assert.equal(lines.find((l) => l.event === "node.reloaded").cluster_certificate, "kept");
    assert.equal(value(await scrape(node), "holdfast_certificate_not_after_seconds", { use: "cluster" }), before);
    await reload(node, files);
  }
  assert.ok(existsSync(cert));
  const c = await cluster.publisher();
  assert.equal((await c.ask({ body: "still", durability: 1 })).status, "Success.");
  await c.drop();
  assert.ok(readFileSync(join(node.dir, "log"), "utf8").length > 0);
});
