// The certificates that holdfastctl makes: OpenSSL takes them, a cluster and its clients run with them, keys are
// private, and nothing is written over without --yes.
import assert from "node:assert/strict";
import { X509Certificate, createPrivateKey } from "node:crypto";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Cluster, program, root } from "./lib.mjs";

const ctl = (...args) => spawnSync(program("ctl", "holdfastctl"), args, { encoding: "utf8", timeout: 30000 });
const DAY = 86400000;

let dir;
before(() => { dir = mkdtempSync(join(tmpdir(), "holdfast-cert-")); });
after(() => rmSync(dir, { recursive: true, force: true }));
const path = (name) => join(dir, name);
const signed = (ca = "ca") => ["--ca-cert", path(`${ca}/ca.pem`), "--ca-key", path(`${ca}/ca.key`), "--out", path("out")];
const made = (...args) => {
  const result = ctl("--json", "cert", ...args);
  assert.equal(result.status, 0, result.stderr);
  return JSON.parse(result.stdout);
};
const read = (name) => new X509Certificate(readFileSync(path(name)));

function checkFiles(cert, key) {
  assert.equal(statSync(path(key)).mode & 0o777, 0o600);
  const certificate = read(cert);
  const secret = createPrivateKey(readFileSync(path(key)));
  assert.equal(secret.asymmetricKeyType, "ec");
  assert.equal(secret.asymmetricKeyDetails.namedCurve, "prime256v1");
  assert.ok(certificate.checkPrivateKey(secret));
  return certificate;
}

const days = (certificate) => Math.round((Date.parse(certificate.validTo) - Date.now()) / DAY);

test("an authority, a node's certificate and one for clients", () => {
  made("ca", path("ca"));
  const ca = checkFiles("ca/ca.pem", "ca/ca.key");
  assert.ok(ca.ca && ca.verify(ca.publicKey));
  assert.equal(days(ca), 3650);
  const said = made("node", "7", ...signed(), "--dns", "db7.example.net,192.0.2.7,2001:db8::7");
  assert.equal(said.cert, path("out/node-7.pem"));
  const node = checkFiles("out/node-7.pem", "out/node-7.key");
  assert.ok(node.verify(ca.publicKey) && node.checkIssued(ca) && !node.ca);
  assert.equal(node.subjectAltName, "DNS:node-7.holdfast.internal, DNS:db7.example.net, IP Address:192.0.2.7, IP Address:2001:DB8:0:0:0:0:0:7");
  assert.deepEqual(node.keyUsage, ["1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.2"]);
  assert.equal(days(node), 365);
  made("client-tls", ...signed(), "--dns", "*.q.example.net,localhost", "--days", "30");
  const client = checkFiles("out/client-tls.pem", "out/client-tls.key");
  assert.deepEqual(client.keyUsage, ["1.3.6.1.5.5.7.3.1"]);
  assert.equal(client.checkHost("orders.q.example.net"), "*.q.example.net");
  assert.equal(days(client), 30);
  const serials = new Set([ca, node, client].map((c) => c.serialNumber));
  assert.equal(serials.size, 3);
  const verified = spawnSync("openssl", ["verify", "-x509_strict", "-CAfile", path("ca/ca.pem"), path("out/node-7.pem"), path("out/client-tls.pem")], { encoding: "utf8" });
  assert.equal(verified.status, 0, verified.stderr);
});

test("show says what is in a file", () => {
  const { certificates } = made("show", path("out/node-7.pem"));
  assert.equal(certificates.length, 1);
  const [shown] = certificates;
  assert.deepEqual([shown.authority, shown.server, shown.client, shown.expired], [false, true, true, false]);
  assert.deepEqual(shown.names, ["node-7.holdfast.internal", "db7.example.net", "192.0.2.7", "2001:db8::7"]);
  assert.equal(shown.sha256, read("out/node-7.pem").fingerprint256.replaceAll(":", "").toLowerCase());
  assert.ok(shown.days_left >= 364);
  writeFileSync(path("chain.pem"), readFileSync(path("out/node-7.pem"), "utf8") + readFileSync(path("ca/ca.pem"), "utf8"));
  assert.deepEqual(made("show", path("chain.pem")).certificates.map((c) => c.authority), [false, true]);
  const text = ctl("cert", "show", path("chain.pem")).stdout;
  assert.match(text, /for +servers and clients/);
  assert.match(text, /for +signing/);
  writeFileSync(path("none.pem"), "nothing\n");
  assert.equal(ctl("cert", "show", path("none.pem")).status, 1);
  assert.equal(ctl("cert", "show", path("missing.pem")).status, 4);
});

test("nothing is written over without --yes", () => {
  for (const args of [["ca", path("ca")], ["node", "7", ...signed()], ["client-tls", ...signed(), "--dns", "a.example"]]) {
    const file = args[0] === "ca" ? "ca/ca.key" : args[0] === "node" ? "out/node-7.key" : "out/client-tls.key";
    const was = readFileSync(path(file), "utf8");
    const refused = ctl("cert", ...args);
    assert.equal(refused.status, 5, args[0]);
    assert.match(refused.stderr, /--yes replaces it/);
    assert.equal(readFileSync(path(file), "utf8"), was);
    if (args[0] === "ca") continue; // the others need it
    made(...args, "--yes");
    assert.notEqual(readFileSync(path(file), "utf8"), was);
  }
});

test("what is wrong is refused before anything is written", () => {
  made("ca", path("second"));
  const wrong = [
    [["node", "0", ...signed()], 2, /no node id/],
    [["node", "1x", ...signed()], 2, /no node id/],
    [["node", "1", "--out", path("wrong")], 2, /--ca-cert/],
    [["client-tls", ...signed()], 2, /--dns/],
    [["node", "8", ...signed(), "--dns", "a b,c"], 0, null], // blanks part names, too
    [["node", "9", ...signed(), "--dns", "evil,DNS:*"], 2, /not a host name/],
    [["node", "9", ...signed(), "--dns", "x\nIP:1.2.3.4"], 2, /not a host name/],
    [["node", "9", "--ca-cert", path("ca/ca.pem"), "--ca-key", path("second/ca.key"), "--out", path("out")], 1, /key is not that of its certificate/],
    [["node", "9", "--ca-cert", path("out/node-7.pem"), "--ca-key", path("out/node-7.key"), "--out", path("out")], 1, /no CA's certificate/],
    [["node", "9", "--ca-cert", path("missing"), "--ca-key", path("ca/ca.key"), "--out", path("out")], 4, /missing/],
  ];
  for (const [args, status, words] of wrong) {
    const result = ctl("cert", ...args);
    assert.equal(result.status, status, `${args.join(" ")}: ${result.stderr}`);
    if (words) assert.match(result.stderr, words);
  }
  assert.equal(existsSync(path("out/node-9.pem")) || existsSync(path("out/node-9.key")), false);
});

test("no certificate holds for longer than its authority", () => {
  made("ca", path("short"), "--days", "10");
  made("node", "3", ...signed("short"), "--days", "500");
  assert.equal(days(read("out/node-3.pem")), 10);
});

test("a cluster and its clients run with them", { timeout: 120000 }, async () => {
  const cluster = await Cluster.up({ nodes: 2 });
  try {
    const { certificates } = made("show", join(cluster.dir, "node1/cluster.pem"));
    assert.ok(certificates[0].names.includes("node-1.holdfast.internal"));
    const publisher = await cluster.publisher({ node: 1 });
    assert.equal((await publisher.ask({ body: "hello", durability: 2 })).status, "Success.");
    publisher.drop();
  } finally {
    cluster.down();
  }
});
