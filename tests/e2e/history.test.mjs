// getstats and getusage: what is recorded, and that it is kept when nodes die. The records come each second here; the
// manual's shortest periods are five and thirty minutes.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Cluster, sleep, until } from "./lib.mjs";

const DAY_SECS = 86400;
const HOLD_SECS = 3;

let cluster;
before(async () => {
  process.env.TZ = "Pacific/Kiritimati"; // the nodes' own time zone, far from UTC
  cluster = await Cluster.up({ nodes: 3, set: { "stats-frequency-secs": 1, "usage-frequency-secs": 1, "saved-session-timeout-secs": 60 } });
}, { timeout: 120000 });
after(() => cluster?.down());

const ok = (reply) => { assert.equal(reply.status, "Success.", JSON.stringify(reply)); return reply; };
const dateOf = (secs) => { const d = new Date(secs * 1000); return { year: d.getUTCFullYear(), month: d.getUTCMonth() + 1, day: d.getUTCDate() }; };
const FLAGS = { getstats: "average", getusage: "totals" };

/** An administrator at any node that serves. */
async function admin() {
  return until(async () => {
    for (let node = 0; node < 3; node++) {
      try { return await cluster.admin({ node }); } catch { /* the next one */ }
    }
    return null;
  });
}

async function withAdmin(fn) {
  const client = await admin();
  try {
    return await fn(client);
  } finally {
    client.drop();
  }
}

const linesOf = (csv) => csv.split("\n").slice(0, -1).map((line) => line.split(",").map((text) => (/^\d+$/.test(text) ? Number(text) : text)));

/** A day's records, or its one line. */
async function day(client, cmd, isOne = false, secs = Date.now() / 1000) {
  const { csv } = ok(await client.ask({ cmd, [FLAGS[cmd]]: isOne, ...dateOf(secs) }));
  assert.ok(csv === "" || csv.endsWith("\n"));
  return linesOf(csv);
}

/** Records of today and of yesterday: the test may run over midnight. */
async function all(client, cmd) {
  const now = Date.now() / 1000;
  const yesterday = await client.ask({ cmd, [FLAGS[cmd]]: false, ...dateOf(now - DAY_SECS) });
  return [...linesOf(yesterday.csv ?? ""), ...await day(client, cmd, false, now)];
}

function checkTimes(records, what) {
  for (let i = 1; i < records.length; i++) assert.ok(records[i][0] > records[i - 1][0], `${what}: ${records[i - 1][0]} then ${records[i][0]}`);
  for (const [time] of records) assert.ok(Number.isInteger(time) && Math.abs(time - Date.now() / 1000) < 600, `${what}: at ${time}`);
}

test("a stats record each period has the live counters, in UTC", { timeout: 60000 }, () => withAdmin(async (client) => {
  const publisher = await cluster.publisher();
  const subscriber = await cluster.subscriber(2);
  for (const more of [{ durability: 0 }, { durability: 1 }, { durability: 2 }, { delay: 1000 }]) ok(await publisher.ask({ body: "x", ...more }));
  await subscriber.message();
  ok(await subscriber.ask({ id: (await subscriber.message()).id, ack: 0 }));
  const { csv } = ok(await client.ask({ cmd: "getlivestats" }));
  const want = csv.split(",").map(Number);
  const since = Math.ceil(Date.now() / 1000);
  let records;
  await until(async () => { // one each second; a busy machine may miss some, not always
    records = (await all(client, "getstats")).filter(([time]) => time > since);
    const run = records.slice(-HOLD_SECS);
    assert.deepEqual(run.map(([time]) => time), Array.from({ length: HOLD_SECS }, (_, i) => run[0][0] + i), "one each second");
    return true;
  });
  for (const record of records) assert.deepEqual(record.slice(1), want);
  checkTimes(records, "stats");
  publisher.drop();
  subscriber.drop();
}));

test("usage records count the bytes of clients, whichever node they use, and what is stored", { timeout: 60000 }, () => withAdmin(async (client) => {
  const columns = ["time", "sent", "received", "written", "read", "held", "type", "region", "ipv4"];
  const read = async () => (await all(client, "getusage")).map((record) => Object.fromEntries(record.map((value, i) => [columns[i], value])));
  const sum = (records, name) => records.reduce((total, record) => total + record[name], 0);
  const before = await read();
  const size = 40000;
  for (let node = 0; node < 3; node++) {
    const publisher = await cluster.publisher({ node });
    const copies = await cluster.client("subscriber", { node, queuetype: "copy" });
    const copier = await cluster.publisher({ node, queuetype: "copy" });
    for (let i = 0; i < 5; i++) {
      const body = Array.from({ length: size }, () => String.fromCharCode(33 + Math.floor(Math.random() * 90))).join("").replaceAll('"', "!").replaceAll("\\", "!");
      ok(await publisher.ask({ body, delay: 1000 }));
      ok(await copier.ask({ body }));
      await copies.take((f) => f.body === body, "the copy");
    }
    for (const one of [publisher, copies, copier]) one.drop();
  }
  const records = await until(async () => {
    const now = await read();
    const grew = (name, most) => assert.ok(sum(now, name) - sum(before, name) > most, `${name} ${sum(now, name) - sum(before, name)}`);
    grew("received", 30 * size * 0.75); // each column comes with the next record of the node that knows it
    grew("sent", 15 * size * 0.75);
    grew("written", 15 * size);
    return now.length > before.length + 1 && now;
  });
  const more = (name) => sum(records, name) - sum(before, name);
  assert.ok(more("written") < 25 * size, `written ${more("written")}`);
  assert.equal(more("read"), 0);
  assert.ok(records.at(-1).held >= 15 * size);
  for (const record of records) assert.deepEqual([record.type, record.region, record.ipv4], ["self-hosted", "local", 1]);
  checkTimes(records.map(({ time }) => [time]), "usage");
}));

test("the day's line: averages of stats, sums of usage with the average of what is held, at the day's first second", { timeout: 60000 }, () => withAdmin(async (client) => {
  for (const cmd of Object.keys(FLAGS)) {
    const isOne = { [FLAGS[cmd]]: true };
    await until(async () => {
      const now = Date.now() / 1000;
      client.send({ cmd, ...dateOf(now), [FLAGS[cmd]]: false, context: 1 });
      client.send({ cmd, ...dateOf(now), ...isOne, context: 2 });
      client.send({ cmd, ...dateOf(now), [FLAGS[cmd]]: false, context: 3 });
      const [records, line, again] = [await client.reply(), await client.reply(), await client.reply()].map((reply) => linesOf(ok(reply).csv));
      if (records.length !== again.length) return false; // one was made in between
      assert.equal(line.length, 1);
      assert.equal(line[0][0], Math.floor(now / DAY_SECS) * DAY_SECS);
      const sums = records[0].map((value, i) => (typeof value === "number" ? records.reduce((total, record) => total + record[i], 0) : value));
      const mean = (i) => Math.round(sums[i] / records.length);
      if (cmd === "getstats") assert.deepEqual(line[0].slice(1), sums.slice(1).map((_, i) => mean(i + 1)));
      else assert.deepEqual(line[0].slice(1), [...sums.slice(1, 5), mean(5), ...records.at(-1).slice(6)]);
      return true;
    });
    const tomorrow = { cmd, ...dateOf(Date.now() / 1000 + DAY_SECS) };
    for (const value of [true, false]) assert.equal(ok(await client.ask({ ...tomorrow, [FLAGS[cmd]]: value })).csv, "");
    const { code, reason } = await client.ask({ cmd, ...dateOf(Date.now() / 1000 - 2 * DAY_SECS), ...isOne });
    assert.equal(code, 407, reason);
  }
}));

test("records are kept, once each and in order, when leaders die while they are made", { timeout: 120000 }, async () => {
  const known = { getstats: [], getusage: [] };
  const look = () => withAdmin(async (client) => {
    for (const cmd of Object.keys(FLAGS)) {
      const records = await all(client, cmd);
      checkTimes(records, cmd);
      assert.deepEqual(records.slice(0, known[cmd].length), known[cmd], `${cmd} has changed`);
      known[cmd] = records;
    }
  });
  await look();
  for (const how of ["kill", "stop", "kill"]) {
    const leader = await cluster.waitLeader();
    // Just as a record is made, on one side of the second or the other.
    await sleep(1000 - (Date.now() % 1000) + (how === "stop" ? 0 : -15 + Math.random() * 30));
    await cluster.command(how, String(leader));
    await look();
    const count = known.getstats.length;
    await until(async () => { await look(); return known.getstats.length > count + 1; }, undefined, 300);
    await cluster.command("start", String(leader));
  }
  const times = known.getstats.map(([time]) => time);
  const missing = times.at(-1) - times[0] + 1 - times.length;
  assert.ok(missing < 3 * 6, `${missing} seconds without a record`);
});

test("records are kept when every node is killed, and settings too", { timeout: 120000 }, async () => {
  const was = await withAdmin(async (client) => {
    ok(await client.ask({ cmd: "setcfg", "saved-session-timeout-secs": 61 }));
    return { stats: await all(client, "getstats"), usage: await all(client, "getusage"), settings: ok(await client.ask({ cmd: "getcfg" })) };
  });
  for (const { id } of cluster.info.nodes) await cluster.command("kill", String(id));
  await Promise.all(cluster.info.nodes.map(({ id }) => cluster.command("start", String(id))));
  await withAdmin(async (client) => {
    assert.deepEqual((await all(client, "getstats")).slice(0, was.stats.length), was.stats);
    assert.deepEqual((await all(client, "getusage")).slice(0, was.usage.length), was.usage);
    const now = ok(await client.ask({ cmd: "getcfg" }));
    assert.deepEqual({ ...now, "messages-memory-used": 0 }, { ...was.settings, "messages-memory-used": 0 });
    const before = was.stats.length;
    await until(async () => (await all(client, "getstats")).length > before);
    checkTimes(await all(client, "getstats"), "stats");
  });
});

test("a new period counts at once", { timeout: 30000 }, () => withAdmin(async (client) => {
  ok(await client.ask({ cmd: "setcfg", "stats-frequency-secs": 300, "usage-frequency-secs": 1800 }));
  const [stats, usage] = [await all(client, "getstats"), await all(client, "getusage")];
  await sleep(2500);
  const isOld = (old) => ([time]) => time <= old.at(-1)[0] || time % 300 === 0;
  assert.deepEqual((await all(client, "getstats")).filter((record) => !isOld(stats)(record)), []);
  assert.deepEqual((await all(client, "getusage")).filter((record) => !isOld(usage)(record)), []);
}));
