// What one operation costs when a million messages wait, compared with a thousand.
//
//   deploy/build && node tests/bench/depth.mjs [DEPTH]      (needs tests/e2e/node_modules; `tests/run e2e` installs it)
//
// Two clusters of three nodes on this machine: in one 1,000 messages wait, in the other DEPTH (999,000 without one: a
// queue holds 1,000,000 at most). They are measured in turns, so that whatever else the machine does falls on both. For
// each operation it prints the processor time that the nodes together spent on it (/proc/PID/stat, many in flight), the
// median time to its answer (one in flight), and the ratios of deep to shallow. A snapshot that falls into it, one for
// each 64 MiB of log, is counted too. It judges nothing: times belong to the machine, and a ratio far above 1 is for a
// person to explain.
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Cluster, program, root, sleep, until } from "../e2e/lib.mjs";

const DEPTHS = [1000, Number(process.argv[2] ?? 999000)];
const ROUNDS = 100;
const ROUND = 800; // messages published, and then taken: the depth stays about as it is
const SINGLES = 1000;
const CAPACITY = 100;
const PAGE_ROUNDS = 150;
const PAGES = 20; // in flight
const PAGE = 400;
const LIST_MOST = 1600;
const TICK_US = 10000;
const body = "sixteen letters.";

async function ok(reply) {
  const answer = await reply;
  if (answer.status !== "Success.") throw new Error(JSON.stringify(answer));
  return answer;
}

/** One cluster, with a publisher, an administrator, and a subscriber that always holds as much as it may. */
class Side {
  static async up() {
    const side = new Side();
    side.cluster = await Cluster.up({ nodes: 3, set: { "max-messages": 1000000, "max-messages-memory": 2 ** 31 } });
    side.publisher = await side.cluster.publisher();
    side.admin = await side.cluster.admin();
    return side;
  }

  /** Processor time of all nodes so far, in microseconds. */
  spent() {
    let ticks = 0;
    for (const { pid } of this.cluster.info.nodes) {
      const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
      ticks += Number(fields[11]) + Number(fields[12]); // utime, stime
    }
    return ticks * TICK_US;
  }

  async depth() {
    return Number((await ok(this.admin.ask({ cmd: "getlivestats" }))).csv.split(",")[0]);
  }

  /** Publishes with holdfastctl's bench, many in flight, and waits until the nodes have nothing left to do. */
  async fill(count) {
    const { info, dir } = this.cluster;
    const args = ["--json", "bench", "--url", info.url, "--ca", info.ca, "--login-file", join(dir, "logins.json"), "--publishers", "4",
      "--subscribers", "0", "--size", String(body.length), "--window", "1000", "--seconds", "3600", "--count", String(count)];
    const out = await new Promise((done, fail) => execFile(program("ctl", "holdfastctl"), args, (error, text) => (error ? fail(error) : done(text))));
    if (JSON.parse(out).confirmed !== count) throw new Error(out);
    await until(async () => {
      const begin = this.spent();
      await sleep(1000);
      return this.spent() - begin < 5 * TICK_US;
    }, 120000);
  }

  async publish(count) {
    for (let i = 0; i < count; i++) this.publisher.send({ body });
    for (let i = 0; i < count; i++) await ok(this.publisher.reply());
  }

  async beginTaking() {
    this.subscriber = await this.cluster.subscriber(CAPACITY);
    this.held = [];
    await this.take(0);
  }

  /** Acknowledges count messages, all that are held at once; waits for the replies and for what comes instead. */
  async take(count) {
    let [sent, done] = [0, 0];
    while (done < count || this.held.length < CAPACITY) {
      while (sent < count && this.held.length > 0) {
        this.subscriber.send({ id: this.held.shift(), ack: 1 });
        sent++;
      }
      const frame = await this.subscriber.take(() => true, "an answer");
      if (frame.body !== undefined) this.held.push(frame.id);
      else done += (await ok(frame)) ? 1 : 0;
    }
  }

  /** The id in the middle of all, which are listed page by page. Complains about their order and number. */
  async findMiddle() {
    const count = await this.depth();
    let [last, middle, seen] = ["", "", 0];
    for (;;) {
      const { csv } = await ok(this.admin.ask({ cmd: "getmsgs", after: last, count: LIST_MOST }));
      const ids = csv.split("\n").slice(0, -1).map((row) => row.split(",")[0]);
      if (ids.length === 0) break;
      for (const id of ids) {
        if (id <= last) throw new Error(`${id} is listed behind ${last}`);
        last = id;
        if (seen++ === count >> 1) middle = id;
      }
    }
    if (seen !== count) throw new Error(`${seen} messages are listed, ${count} are counted`);
    return middle;
  }

  async page(count, where) {
    for (let i = 0; i < count; i++) this.admin.send({ cmd: "getmsgs", count: PAGE, ...where });
    for (let i = 0; i < count; i++) await ok(this.admin.reply());
  }
}

/** What an operation cost, in microseconds: us of processor time, and the median time to its answer. */
class Cost {
  total = 0;
  operations = 0;
  times = [];

  get us() {
    return this.total / this.operations;
  }

  get median() {
    return this.times.sort((a, b) => a - b)[this.times.length >> 1];
  }
}

async function many(side, cost, operations, work) {
  const begin = side.spent();
  await work(operations);
  cost.total += side.spent() - begin;
  cost.operations += operations;
}

async function one(cost, work) {
  const begin = performance.now();
  await work(1);
  cost.times.push((performance.now() - begin) * 1000);
}

/** work(side, which) for each side, in turns. */
async function inTurns(sides, rounds, work) {
  for (let i = 0; i < rounds; i++) for (const which of i % 2 ? [0, 1] : [1, 0]) await work(sides[which], which);
}

const pair = () => [new Cost(), new Cost()];

async function measureMessages(sides) {
  const [publish, take] = [pair(), pair()];
  for (const side of sides) await side.beginTaking();
  await inTurns(sides, ROUNDS, async (side, which) => {
    await many(side, publish[which], ROUND, (count) => side.publish(count));
    await many(side, take[which], ROUND, (count) => side.take(count));
  });
  await inTurns(sides, SINGLES, async (side, which) => {
    await one(publish[which], (count) => side.publish(count));
    await one(take[which], (count) => side.take(count));
  });
  return { publish, "deliver and ack": take };
}

async function measurePages(sides) {
  const costs = {};
  const middles = [await sides[0].findMiddle(), await sides[1].findMiddle()];
  for (const name of ["start", "middle", "end"]) {
    const cost = pair();
    const where = (which) => (name === "end" ? { before: "" } : { after: name === "start" ? "" : middles[which] });
    await inTurns(sides, PAGE_ROUNDS, (side, which) => many(side, cost[which], PAGES, (count) => side.page(count, where(which))));
    await inTurns(sides, SINGLES, (side, which) => one(cost[which], (count) => side.page(count, where(which))));
    costs[`page, ${name}`] = cost;
  }
  return costs;
}

function print(costs) {
  const row = (...columns) => console.log(columns.map((text, i) => (i ? String(text).padStart(11) : text.padEnd(16))).join(""));
  row("", "cpu us", "cpu us", "ratio", "median us", "median us", "ratio");
  row("", ...DEPTHS, "", ...DEPTHS, "");
  for (const [name, [shallow, deep]] of Object.entries(costs))
    row(name, shallow.us.toFixed(1), deep.us.toFixed(1), (deep.us / shallow.us).toFixed(2), shallow.median.toFixed(0), deep.median.toFixed(0), (deep.median / shallow.median).toFixed(2));
}

const sides = [];
try {
  for (const count of DEPTHS) {
    sides.push(await Side.up());
    await sides.at(-1).fill(count);
    console.log(`${await sides.at(-1).depth()} messages wait`);
  }
  print({ ...(await measureMessages(sides)), ...(await measurePages(sides)) });
} finally {
  for (const side of sides) side.cluster.down();
}
process.exit(0);
