// What an operator does beyond the manual, over a node's control socket and as an administrator: redriving and purging many,
// a message's history, sessions and logins. Three nodes; each thing is asked of any of them.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import net from "node:net";
import { after, before, test } from "node:test";
import { Client, Cluster, program, until } from "./lib.mjs";

let cluster, admin, publisher;
before(async () => {
  cluster = await Cluster.up({ nodes: 3 });
  await cluster.waitLeader();
  await until(async () => (await ask("cluster", "level")).json.level >= 2); // a new cluster raises it by itself
  admin = await cluster.admin();
  publisher = await cluster.publisher({ node: 1 });
}, { timeout: 120000 });
after(() => cluster?.down());

/** One command over the control socket of a node: {exit, json, text}. */
function askNode(id, ...argv) {
  return new Promise((done, fail) => {
    const socket = net.connect(cluster.info.nodes.find((n) => n.id === id).socket);
    let text = "";
    socket.on("data", (data) => {
      text += data;
      if (text.endsWith("\n")) socket.end();
    });
    socket.on("end", () => done(JSON.parse(text)));
    socket.on("error", fail);
    socket.write(JSON.stringify({ argv }) + "\n");
  });
}
let turn = 0;
/** Each time on another node: it passes the command on to the leader. */
const ask = (...argv) => askNode(1 + (turn++ % 3), ...argv);
const done = async (...argv) => {
  const r = await ask(...argv);
  assert.equal(r.exit, 0, r.text);
  return r.json;
};
const publish = async (body, more = {}) => (await publisher.ask({ body, durability: 1, ...more })).id;
const bury = async (count, more = {}) => {
  const ids = [];
  for (let i = 0; i < count; i++) ids.push(await publish(`dead ${i}`, more));
  for (const id of ids) assert.equal((await admin.ask({ cmd: "movetodlq", id })).status, "Success.");
  return ids;
};
const idsOf = (reply) => reply.csv.split("\n").filter(Boolean).map((row) => row.split(",")[0]);
const waiting = async () => idsOf(await admin.ask({ cmd: "getmsgs", after: "", count: 1000 }));
const dead = async () => idsOf(await admin.ask({ cmd: "getdlqmsgs", after: "", count: 1000 }));
const empty = async () => {
  await done("msg", "purge", "--all");
  await done("dlq", "purge");
  assert.deepEqual([await waiting(), await dead()], [[], []]);
};

test("a redrive keeps ids, chooses, and only looks when told so", async () => {
  await empty();
  const plain = await bury(3);
  const keyed = await bury(2, { publisherkey: "batch-7" });
  assert.equal((await done("dlq", "redrive", "--all", "--dry-run")).redriven, 5);
  assert.equal((await dead()).length, 5);
  assert.deepEqual(await done("dlq", "redrive", "--all", "--filter", "key=batch-7"), { queue: "demo", redriven: 2, records: 1, dry_run: false });
  assert.deepEqual(await waiting(), keyed);
  assert.equal((await done("dlq", "redrive", "--count", "1")).redriven, 1); // the oldest
  assert.deepEqual(await dead(), plain.slice(1));
  assert.equal((await done("dlq", "redrive", plain[2], "--queue", "demo")).redriven, 1);
  assert.deepEqual(await dead(), [plain[1]]);
  assert.equal((await done("dlq", "redrive", "--all", "--filter", "reason=nack")).redriven, 0);
  assert.equal((await done("dlq", "redrive", "--all", "--filter", "older=3600")).redriven, 0);
  assert.equal((await done("dlq", "redrive", "--all", "--filter", "reason=moved,key=other")).redriven, 0);
  const got = await cluster.subscriber(10, { node: 2 });
  const bodies = [];
  for (let i = 0; i < 4; i++) bodies.push((await got.message()).id);
  assert.deepEqual(bodies, [...keyed, plain[0], plain[2]]); // behind each other, in the order of the redrives
  got.send({ logout: true });
  await got.closed;
});

test("what is asked wrongly is refused by name", async () => {
  const exits = [
    [["dlq", "redrive"], 2],
    [["dlq", "redrive", "--all", "--count", "1"], 2],
    [["dlq", "redrive", "nonsense"], 2],
    [["dlq", "redrive", "01a1c09f-62da-7000-a30b-0817c9a42e3f"], 4],
    [["dlq", "redrive", "--all", "--filter", "color=blue"], 2],
    [["dlq", "redrive", "--all", "--queue", "none"], 4],
    [["msg", "purge", "--filter", "reason=nack"], 2],
    [["msg", "history", "nonsense"], 2],
    [["msg", "history", "01a1c09f-62da-7000-a30b-0817c9a42e3f"], 4],
    [["session", "end", "x"], 2],
    [["session", "end", "987654321"], 4],
    [["login", "rotate", "king"], 2],
  ];
  for (const [argv, exit] of exits) {
    const r = await ask(...argv);
    assert.equal(r.exit, exit, `${argv.join(" ")}: ${r.text}`);
    assert.equal(r.json.error, r.text);
  }
});

test("a purge leaves held messages unless all are to go", async () => {
  await empty();
  const s = await cluster.subscriber(1);
  const held = await publish("held");
  assert.equal((await s.message()).id, held);
  for (let i = 0; i < 4; i++) await publish("waits", { durability: i % 3 });
  await publish("delayed", { delay: 600 });
  assert.equal((await done("msg", "purge", "--dry-run")).purged, 5);
  assert.equal((await done("msg", "purge", "--count", "2")).purged, 2);
  assert.equal((await done("msg", "purge")).purged, 3);
  assert.deepEqual(await waiting(), [held]);
  assert.equal((await done("msg", "purge", "--all")).purged, 1);
  assert.deepEqual(await s.take((f) => f.deleted !== undefined, "a notice"), { deleted: true, id: held });
  const next = await publish("next");
  assert.equal((await s.message()).id, next); // there is room again
  s.send({ logout: true });
  await s.closed;
});

test("a message's history is told after a change of leader too", async () => {
  await empty();
  const id = await publish("x");
  const first = await cluster.subscriber(1);
  assert.equal((await first.message()).id, id);
  first.send({ logout: true });
  await first.closed;
  const second = await cluster.subscriber(1);
  await second.message();
  assert.equal((await second.ask({ id, ack: 0 })).status, "Success.");
  await done("dlq", "redrive", id);
  await second.message();
  const wanted = ["received", "returned session-end", "held", "dead nack", "redriven", "held"];
  const names = (events) => events.map((e) => `${e.event} ${e.reason ?? ""}`.trim());
  const before = await done("msg", "history", id);
  assert.deepEqual(names(before.events), wanted);
  assert.equal(before.place, "held");
  assert.equal(before.deliveries, 1); // a redrive begins anew
  const times = before.events.map((e) => e.at_ms);
  assert.deepEqual(times, [...times].sort((a, b) => a - b));
  assert.equal(before.events[2].session, before.events[3].session);
  const reply = await admin.ask({ cmd: "history", id });
  assert.equal(reply.status, "Success.");
  assert.equal(reply.place, "held");
  assert.deepEqual(reply.csv.split("\n").filter(Boolean).map((row) => row.split(",").slice(1, 3).join(" ").trim()), wanted);
  const old = await cluster.waitLeader();
  cluster.run("kill", String(old));
  await cluster.waitLeader(old);
  const other = cluster.info.nodes.find((n) => n.id !== old).id;
  await until(async () => {
    const r = await askNode(other, "msg", "history", id);
    return r.exit === 0 && names(r.json.events).join() === wanted.join();
  });
  cluster.run("start", String(old));
  await cluster.waitLeader();
  const alive = cluster.info.nodes.findIndex((n) => n.id !== old);
  admin = await until(() => cluster.admin({ node: alive }));
  publisher = await until(() => cluster.publisher({ node: alive }));
});

test("an administrator redrives and purges, a record a request", async () => {
  await empty();
  const ids = await bury(5);
  let reply = await admin.ask({ cmd: "redrive", count: 2 });
  assert.deepEqual(reply, { status: "Success.", count: 2, more: true, last: ids[1] });
  reply = await admin.ask({ cmd: "redrive", count: 100, after: reply.last, context: 4 });
  assert.deepEqual(reply, { context: 4, status: "Success.", count: 3, more: false, last: ids[4] });
  assert.equal((await admin.ask({ cmd: "redrive", id: ids[0] })).code, 301); // not dead any more
  assert.equal((await admin.ask({ cmd: "redrive" })).code, 412);
  assert.equal((await admin.ask({ cmd: "purge", count: 1 })).code, 417);
  assert.equal((await admin.ask({ cmd: "redrive", count: 1, reason: "late" })).code, 418);
  assert.equal((await admin.ask({ cmd: "history", id: "x" })).code, 301);
  assert.equal((await admin.ask({ cmd: "purge", place: "waiting", count: 10, dryrun: true })).count, 5);
  assert.equal((await admin.ask({ cmd: "purge", place: "waiting", count: 10 })).count, 5);
  assert.deepEqual(await waiting(), []);
});

test("sessions are listed and ended, and their messages go to others", async () => {
  await empty();
  for (const x of (await done("session", "list")).sessions) await done("session", "end", String(x.session));
  const s = await cluster.subscriber(3, { node: 1 });
  const id = await publish("x");
  await s.message();
  const { sessions } = await done("session", "list", "--queue", "demo");
  assert.equal(sessions.length, 1);
  const { session, since_ms, ...rest } = sessions[0];
  assert.deepEqual(rest, { queue: "demo", state: "connected", held: 1, capacity: 3 });
  assert.ok(Math.abs(since_ms - Date.now()) < 60000);
  assert.equal((await done("session", "end", String(session))).returned, 1);
  await s.closed;
  const next = await cluster.subscriber(1);
  assert.equal((await next.message()).id, id);
  await next.drop(); // its session is saved
  const saved = await until(async () => (await done("session", "list")).sessions.find((x) => x.state === "saved"));
  assert.equal(saved.held, 1);
  await done("session", "end", String(saved.session));
  assert.deepEqual((await done("session", "list")).sessions, []);
  const history = await done("msg", "history", id);
  assert.equal(history.place, "waiting");
  assert.equal(history.events.filter((e) => e.reason === "session-ended-by-operator").length, 2);
});

test("a rotated login is the only good one, and connections stay unless told to close", async () => {
  const { url } = cluster.info.nodes[0];
  const old = cluster.login("publisher");
  const fresh = await done("login", "rotate", "publisher");
  assert.equal(fresh.username, old.username);
  assert.equal(fresh.closed, 0);
  assert.equal(typeof (await publisher.ask({ body: "still here" })).id, "string");
  const refused = await Client.open(url, cluster.ca);
  assert.equal((await refused.ask(old)).code, 107);
  const taken = await Client.open(url, cluster.ca);
  assert.equal((await taken.ask({ ...old, password: fresh.password })).status, "Success.");
  const { logins } = await done("login", "list");
  assert.deepEqual(logins.map((x) => x.role), ["publisher", "subscriber", "admin"]);
  assert.equal(logins[0].connections, 2);
  assert.ok(!JSON.stringify(logins).includes(fresh.password));
  const last = await done("login", "rotate", "publisher", "--close");
  assert.equal(last.closed, 2);
  await Promise.all([publisher.closed, taken.closed]);
  const again = await Client.open(url, cluster.ca);
  assert.equal((await again.ask({ ...old, password: last.password })).status, "Success.");
  await again.drop();
});

test("a cluster without a leader is told apart from a connection that broke", async () => {
  const left = await cluster.waitLeader();
  for (const { id } of cluster.info.nodes) if (id !== left) cluster.run("kill", String(id));
  const { url } = cluster.info.nodes.find((n) => n.id === left);
  const env = { ...process.env, HOLDFAST_USERNAME: "x", HOLDFAST_PASSWORD: "x" };
  const run = () => new Promise((done) => execFile(program("ctl", "holdfastctl"), ["stats", "live", "--url", url, "--ca", cluster.info.ca], { env }, (error, out, err) => done({ code: error?.code ?? 0, err })));
  const last = await until(async () => {
    const r = await run();
    return ![6, 8].includes(r.code) && r; // it leads still, or has just given up
  }, 30000);
  assert.equal(last.code, 3, last.err);
  assert.match(last.err, /knows no leader/);
});
