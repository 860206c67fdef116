// The ops endpoint of a running cluster: what /metrics counts, what the health pages say, what is refused; and that the
// alert rules and the dashboard ask for what is really there.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import net from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Cluster, root, until } from "./lib.mjs";
import { expressions, faults, get, parseMetrics, scrape, value } from "./ops.mjs";

let cluster, leader, follower;
const nodeOf = (id) => cluster.info.nodes.find((n) => n.id === id);
before(async () => {
  cluster = await Cluster.up({ nodes: 3, set: { "max-messages": 50 } });
  const id = await cluster.waitLeader();
  leader = nodeOf(id);
  follower = cluster.info.nodes.find((n) => n.id !== id);
}, { timeout: 120000 });
after(() => cluster?.down());

const publish = (c, body, durability = 1) => c.ask({ body, durability });

/** The metrics of a node, as soon as they are what is wanted: what a node knows, and what was agreed, takes its way to it. */
const scrapeUntil = (node, isWanted) => until(async () => { const m = await scrape(node); return isWanted(m) && m; });

test("every node answers, with its role", async () => {
  for (const node of cluster.info.nodes) {
    const m = await scrapeUntil(node, (now) => value(now, "holdfast_ready") === 1 && value(now, "holdfast_queues") === 1);
    const role = node.id === leader.id ? "leader" : "follower";
    for (const name of ["leader", "follower", "candidate", "stopped"])
      assert.equal(value(m, "holdfast_raft_role", { role: name }), Number(name === role));
    assert.equal(value(m, "holdfast_raft_leader_id"), leader.id);
    assert.equal(value(m, "holdfast_build_info", { node: String(node.id) }), 1);
    assert.equal(value(m, "holdfast_serving"), Number(node.id === leader.id));
    assert.equal(value(m, "holdfast_ready"), 1);
    const now = Date.now() / 1000;
    assert.ok(Math.abs(value(m, "process_start_time_seconds") - now) < 300);
    for (const use of ["client", "cluster"]) assert.ok(value(m, "holdfast_certificate_not_after_seconds", { use }) > now + 86400);
    for (const page of ["livez", "readyz", "startupz"]) {
      const r = await get(`${node.http}/${page}`);
      assert.deepEqual([r.status, r.text], [200, "ok\n"], page);
    }
    const status = JSON.parse((await get(`${node.http}/status`)).text);
    assert.equal(status.node, node.id);
    assert.equal(status.role, role);
    assert.equal(status.leader, leader.id);
    assert.equal(status.ready, true);
    assert.deepEqual(status.members.map((x) => x.id), [1, 2, 3]);
    assert.deepEqual(status.queues.map((q) => q.queue), ["demo"]);
  }
});

test("messages, clients and refusals are counted where they are", async () => {
  const queue = "demo";
  const places = [cluster.info.nodes.indexOf(leader), cluster.info.nodes.indexOf(follower)];
  const before = await scrape(leader);
  const count = (m, name, labels = {}) => (value(m, name, { queue, ...labels }) ?? 0) - (value(before, name, { queue, ...labels }) ?? 0);
  const publisher = await cluster.publisher({ node: places[1] });
  const copyist = await cluster.publisher({ node: places[0], queuetype: "copy" });
  const ids = [];
  for (let i = 0; i < 5; i++) ids.push((await publish(publisher, `body ${i}`)).id);
  assert.equal((await publisher.ask({ body: "later", durability: 2, delay: 600 })).status, "Success.");
  assert.equal((await publisher.ask({ durability: 9, body: "x" })).status, "Failure.");
  let m = await scrape(leader);
  assert.equal(value(m, "holdfast_queue_messages", { queue, state: "waiting" }), 5);
  assert.equal(value(m, "holdfast_queue_messages", { queue, state: "delayed" }), 1);
  assert.equal(value(m, "holdfast_queue_durable_messages", { queue }), 6);
  assert.equal(count(m, "holdfast_queue_received_total", { type: "distribute" }), 6);
  assert.equal(count(m, "holdfast_queue_received_bytes_total"), 5 * "body 0".length + "later".length);
  assert.equal(value(m, "holdfast_queue_messages_limit", { queue }), 50);
  assert.ok(value(m, "holdfast_queue_oldest_message_age_seconds", { queue }) > 0);
  assert.ok(value(m, "holdfast_queue_backlog_age_seconds", { queue }) > 0);
  assert.equal(value(m, "holdfast_queue_connections", { queue, role: "publisher", type: "distribute" }), 1);
  assert.equal(value(m, "holdfast_queue_connections", { queue, role: "publisher", type: "copy" }), 1);
  assert.ok(value(m, "holdfast_connections", { kind: "served" }) >= 2);
  assert.ok(value(await scrape(follower), "holdfast_connections", { kind: "relayed" }) >= 1);

  const first = await cluster.subscriber(4);
  const taken = [];
  for (let i = 0; i < 4; i++) taken.push(await first.message());
  await first.ask({ id: taken[0].id, ack: 1 });
  await first.ask({ id: taken[1].id, ack: 0 });
  await first.ask({ id: ids[4].replace(/.$/, (c) => (c === "0" ? "1" : "0")), ack: 1 }); // 301
  await until(async () => value(await scrape(leader), "holdfast_queue_messages", { queue, state: "held" }) === 3);
  m = await scrape(leader);
  assert.equal(count(m, "holdfast_queue_acked_total"), 1);
  assert.equal(count(m, "holdfast_queue_nacked_total"), 1);
  assert.equal(value(m, "holdfast_queue_dead_letters", { queue, reason: "nack" }), 1);
  assert.equal(value(m, "holdfast_queue_messages", { queue, state: "dead" }), 1);
  assert.equal(count(m, "holdfast_queue_dead_lettered_total", { reason: "nack" }), 1);
  assert.equal(value(m, "holdfast_requests_refused_total", { code: "301" }), 1);
  await first.drop();
  await until(async () => value(await scrape(leader), "holdfast_queue_saved_sessions", { queue }) === 1);
  const again = await cluster.subscriber(10, { sessionid: first.loginReply.sessionid });
  await again.ask({ logout: true });
  const second = await cluster.subscriber(10);
  for (let i = 0; i < 3; i++) await second.message();
  m = await scrape(leader);
  assert.equal(count(m, "holdfast_queue_returned_total"), 3);
  assert.equal(count(m, "holdfast_queue_redelivered_total"), 3);
  assert.equal(count(m, "holdfast_queue_delivered_total", { type: "distribute" }), 8);
  await scrapeUntil(leader, (now) => value(now, "holdfast_connections_closed_total", { code: "1000" }) >= 1); // the logout
  assert.ok(value(m, "holdfast_raft_commit_latency_seconds_count") > 0);
  assert.ok(value(m, "holdfast_disk_sync_latency_seconds_count") > 0, "one message had durability 2");
  for (const c of [publisher, copyist, second]) await c.drop();
});

test("a follower has the state, and says so in no gauge of a queue", async () => {
  const m = await scrape(follower);
  assert.equal(value(m, "holdfast_queue_messages", { queue: "demo", state: "waiting" }), undefined);
  assert.equal(value(m, "holdfast_queues"), 1);
  assert.equal(value(m, "holdfast_raft_peer_lag_entries", { peer: String(leader.id) }), undefined);
  // An entry may be on its way: the time of the cluster is one.
  await scrapeUntil(leader, (now) => value(now, "holdfast_raft_peer_lag_entries", { peer: String(follower.id) }) === 0);
});

test("alert rules and the dashboard use what is there, and as what it is", async () => {
  const all = new Map();
  for (const node of cluster.info.nodes)
    for (const [name, family] of await scrape(node)) {
      if (!all.has(name)) all.set(name, family);
      else all.get(name).samples.push(...family.samples);
    }
  const found = expressions(root);
  assert.ok(found.length > 50);
  assert.deepEqual(found.flatMap(({ where, expr }) => faults(expr, all).map((fault) => `${where}: ${fault}`)), []);
  // The check itself notices what it is for.
  for (const expr of ["holdfast_no_such_thing", "rate(holdfast_raft_term[5m])", "holdfast_queue_acked_total", "up + (1",
    'holdfast_ready{colour="red"}', "rate(holdfast_disk_sync_latency_seconds_bucket[5m])", "rate(holdfast_queue_acked_total)"])
    assert.notDeepEqual(faults(expr, all), [], expr);
  // Every rule's metrics that only trouble brings into being are there in quiet times too.
  for (const [name, family] of all)
    if (name !== "holdfast_requests_refused_total") assert.ok(family.samples.length > 0, `${name} has no sample on any node`);
});

test("promtool, where it is installed, agrees", async (t) => {
  if (spawnSync("promtool", ["--version"]).error) return t.skip("promtool is not installed");
  const page = await get(`${leader.http}/metrics`);
  const metrics = spawnSync("promtool", ["check", "metrics"], { input: page.text, encoding: "utf8" });
  assert.equal(metrics.status, 0, metrics.stdout + metrics.stderr);
  const rules = spawnSync("promtool", ["check", "rules", join(root, "deploy/prometheus/holdfast.rules.yml")], { encoding: "utf8" });
  assert.equal(rules.status, 0, rules.stdout + rules.stderr);
  const config = spawnSync("promtool", ["check", "config", join(root, "deploy/prometheus/prometheus.yml")], { encoding: "utf8" });
  assert.equal(config.status, 0, config.stdout + config.stderr);
});

test("other methods and paths are refused; nothing outside is reached", async () => {
  const url = follower.http;
  for (const method of ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"]) {
    const r = await get(`${url}/metrics`, { method });
    assert.equal(r.status, 405, method);
    assert.equal(r.headers.allow, "GET, HEAD");
  }
  const head = await get(`${url}/metrics`, { method: "HEAD" });
  assert.equal(head.status, 200);
  assert.ok(Number(head.headers["content-length"]) > 1000 && head.text === "");
  const raw = (text) => new Promise((done) => {
    const s = net.connect(Number(new URL(url).port), "127.0.0.1", () => s.write(text));
    let answer = "";
    s.on("data", (d) => { answer += d; });
    s.on("close", () => done(answer));
    s.on("error", () => {});
  });
  for (const path of ["/", "/../etc/passwd", "/metrics/../../etc/passwd", "/..%2f..%2fetc/passwd", "//metrics", "/metrics%00", "/;$(touch x)", "/`x`|&'\"<>*?",
    "/metrics\x7f", "http://metadata.internal/metrics"]) {
    const answer = await raw(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    assert.match(answer, /^HTTP\/1\.1 4\d\d /, path);
    assert.doesNotMatch(answer, /root:|touch/, path);
  }
});

const residentKb = (pid) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]);

test("a GiB to the ops port is refused and costs nothing", async () => {
  const before = residentKb(follower.pid);
  for (const head of ["POST /metrics HTTP/1.1\r\nContent-Length: 1073741824\r\n\r\n", "POST /metrics HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n40000000\r\n",
    "GET /metrics HTTP/1.1\r\nX: ", "GET /"]) {
    await new Promise((done) => {
      let left = 1 << 30;
      const part = Buffer.alloc(1 << 20, 0x78);
      const s = net.connect(Number(new URL(follower.http).port), "127.0.0.1");
      const push = () => {
        while (left > 0 && !s.destroyed) {
          left -= part.length;
          if (!s.write(part)) return s.once("drain", push);
        }
        return s.end();
      };
      s.on("connect", () => { s.write(head); push(); });
      s.resume();
      s.on("error", () => {});
      s.on("close", () => { assert.ok(left > 0, "it was cut off before its end"); done(); });
    });
  }
  assert.ok(residentKb(follower.pid) - before < 8192, "memory");
  assert.equal((await get(`${follower.http}/livez`)).status, 200);
});

const IDLE_SECS = 5; // an ops connection that says nothing more is cut off

test("500 connections that stay open stop neither scrapes nor messages", async () => {
  const port = Number(new URL(leader.http).port);
  const open = Array.from({ length: 500 }, () => {
    const s = net.connect(port, "127.0.0.1", () => s.write("GET /metr"));
    s.on("error", () => {});
    s.resume();
    return s;
  });
  const publisher = await cluster.publisher();
  try {
    let slowest = 0;
    for (let i = 0; i < 10; i++) {
      const from = performance.now();
      parseMetrics((await get(`${leader.http}/metrics`)).text);
      assert.equal((await publish(publisher, "x", 0)).status, "Success.");
      slowest = Math.max(slowest, performance.now() - from);
    }
    assert.ok(slowest < IDLE_SECS * 1000, `${slowest} ms: it waited until the others were cut off`);
    assert.ok(value(await scrape(leader), "process_open_fds") < 250);
  } finally {
    for (const s of open) s.destroy();
    await publisher.drop();
  }
});

test("scrapes in parallel all get whole pages", async () => {
  const pages = await Promise.all(Array.from({ length: 40 }, () => get(`${leader.http}/metrics`)));
  for (const page of pages) assert.ok(parseMetrics(page.text).size > 40);
});

test("the nodes know that they have applied the same", async () => {
  for (const node of cluster.info.nodes) {
    const applied = value(await scrape(node), "holdfast_raft_applied_index");
    assert.ok(applied > 0);
    const m = await until(async () => {
      const now = await scrape(node);
      return value(now, "holdfast_raft_agreed_index") >= applied && now;
    });
    assert.equal(value(m, "holdfast_raft_differences_total"), 0);
  }
});

test("without a majority a node lives and is not ready, and says why", async () => {
  const others = cluster.info.nodes.filter((n) => n !== follower);
  for (const node of others) cluster.run("kill", String(node.id));
  const r = await until(async () => {
    const page = await get(`${follower.http}/readyz`);
    return page.status === 503 && page;
  });
  assert.match(r.text, /^[^\n]+\n$/);
  const m = await scrapeUntil(follower, (now) => others.every((node) => value(now, "holdfast_raft_peer_up", { peer: String(node.id) }) === 0));
  assert.equal((await get(`${follower.http}/livez`)).status, 200);
  assert.equal((await get(`${follower.http}/startupz`)).status, 200);
  assert.equal(value(m, "holdfast_ready"), 0);
  await until(async () => { // two pages, and the reason may be another one from one to the next
    const { text } = await get(`${follower.http}/readyz`);
    const status = JSON.parse((await get(`${follower.http}/status`)).text);
    assert.equal(status.ready, false);
    assert.equal(`${status.not_ready}\n`, text);
    return true;
  });
  for (const node of others) cluster.run("start", String(node.id));
  await until(async () => (await get(`${follower.http}/readyz`)).status === 200, 30000);
  await scrapeUntil(follower, (now) => value(now, "holdfast_raft_leader_changes_total") >= 1);
});
