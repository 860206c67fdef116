// Does the cost of a message stay the same as everything grows? Rate, and processor time of all nodes for each message
// that is published, delivered and acknowledged, while one thing grows: messages that wait, connections, queues, size.
//
//   node tests/bench/growth.mjs [--short] [--only NAME] [--out FILE.svg]     (needs tests/e2e/node_modules)
//
// Three nodes and the load share this machine. What connecting costs is measured by itself and taken off. Ratios are to
// the first row of a table: rate below 1 and processor time above 1 are what growth costs. FILE.svg (growth.svg in the
// build directory) shows the processor time; beside it the same as FILE.tsv. It judges nothing. HOLDFAST_BIN names another
// build directory.
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Cluster, program, root, sleep, until } from "../e2e/lib.mjs";

const argument = (name) => (process.argv.includes(name) ? process.argv[process.argv.indexOf(name) + 1] : undefined);
const isShort = process.argv.includes("--short");
const only = argument("--only");
const bin = process.env.HOLDFAST_BIN ?? join(root, "build");
const out = argument("--out") ?? join(bin, "growth.svg");
const COUNT = isShort ? 10000 : 100000;
const IN_FLIGHT = 1024; // publishes of all connections together
const TICK_US = 10000; // of /proc

function ctl(...args) {
  return new Promise((done, fail) =>
    execFile(program("ctl", "holdfastctl"), ["--json", ...args.map(String)], { maxBuffer: 1 << 26 }, (error, text) => (error ? fail(new Error(`${args.join(" ")}: ${text} ${error.message}`)) : done(JSON.parse(text)))),
  );
}

class Side {
  static async up() {
    const side = new Side();
    side.cluster = await Cluster.up({ nodes: 3, set: { "max-messages": 2000000, "max-messages-memory": 2 ** 32, "max-tasks": 8000 } });
    side.leader = side.cluster.info.nodes.find(({ id }) => id === side.cluster.leader());
    // A body of 64 KiB is more as a frame.
    const file = join(side.cluster.dir, "logins.json");
    await ctl("cfg", "set", "max-ws-msg-len=131072", "--url", side.leader.url, "--ca", side.cluster.info.ca, "--login-file", file);
    side.queues = [{ host: undefined, file }];
    return side;
  }

  /** Processor time of all nodes so far, in microseconds. */
  spent() {
    let ticks = 0;
    for (const { pid } of this.cluster.info.nodes) {
      const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
      ticks += Number(fields[11]) + Number(fields[12]);
    }
    return ticks * TICK_US;
  }

  /** Snapshots and syncs that follow a load are over when the nodes are idle. */
  async quiet() {
    await until(async () => {
      const before = this.spent();
      await sleep(1000);
      return this.spent() - before < 10 * TICK_US;
    }, 120000);
  }

  async addQueues(count) {
    while (this.queues.length < count) {
      const name = `queue-${this.queues.length}`;
      const file = join(this.cluster.dir, `${name}.json`);
      const made = await ctl("--socket", this.leader.socket, "queue", "create", name);
      writeFileSync(file, JSON.stringify(made), { mode: 0o600 });
      this.queues.push({ host: made.host, file });
    }
  }

  /** One load of count messages through the first queues, a program for each; the sum of their rates. */
  async load({ queues = 1, count, publishers = 4, subscribers = 4, size = 1024 }) {
    const window = Math.max(1, Math.floor(IN_FLIGHT / (publishers * queues)));
    const runs = this.queues.slice(0, queues).map(({ host, file }) =>
      ctl("bench", "--yes", "--url", this.leader.url, "--ca", this.cluster.info.ca, "--login-file", file, ...(host ? ["--host", host] : []), "--publishers", publishers, "--subscribers", subscribers,
        "--size", size, "--window", window, "--seconds", 3600, "--timeout", 120, "--count", Math.ceil(count / queues)),
    );
    const results = await Promise.all(runs);
    return results.reduce((sum, { confirm_per_s }) => sum + confirm_per_s, 0);
  }

  /** Rate and microseconds of processor time a message, without what connecting costs. */
  async measure(options) {
    const few = options.publishers ?? 4;
    await this.load({ ...options, count: few * (options.queues ?? 1) }); // the logins are known from here on
    await this.quiet();
    let before = this.spent();
    await this.load({ ...options, count: few * (options.queues ?? 1) });
    const connecting = this.spent() - before;
    before = this.spent();
    const rate = await this.load(options);
    return { rate, us: Math.max(0, this.spent() - before - connecting) / options.count };
  }
}

const tables = {
  waiting: {
    title: "messages that wait",
    rows: isShort ? [0, 10000] : [0, 100000, 1000000],
    run: async (side, waiting, state) => {
      if (waiting > state.waiting) await side.load({ count: waiting - state.waiting, subscribers: 0 });
      state.waiting = waiting;
      return side.measure({ count: Math.max(COUNT, waiting) }); // a snapshot of many is spread over as many
    },
  },
  connections: {
    title: "connections",
    rows: isShort ? [2, 100] : [2, 10, 100, 1000, 5000],
    run: (side, connections) => side.measure({ count: COUNT, publishers: connections / 2, subscribers: connections / 2 }),
  },
  queues: {
    title: "queues",
    rows: isShort ? [1, 10] : [1, 10, 100],
    run: async (side, queues) => {
      await side.addQueues(queues);
      return side.measure({ count: COUNT, queues, publishers: 1, subscribers: 1 });
    },
  },
  size: {
    title: "bytes of a body",
    rows: [100, 1024, 65536],
    run: (side, size) => side.measure({ count: size > 10000 ? COUNT / 10 : COUNT, size }),
  },
};

const row = (...columns) => console.log(columns.map((text, i) => (i ? String(text).padStart(11) : text.padEnd(20))).join(""));

async function measureTable({ title, rows, run }) {
  const results = [];
  const state = { waiting: 0 };
  const side = await Side.up();
  try {
    row(title, "rate/s", "ratio", "cpu us", "ratio");
    for (const amount of rows) {
      const { rate, us } = await run(side, amount, state);
      results.push({ title, amount, rate, us });
      row(String(amount), rate.toFixed(0), (rate / results[0].rate).toFixed(2), us.toFixed(1), (us / results[0].us).toFixed(2));
    }
  } finally {
    side.cluster.down();
  }
  console.log("");
  return results;
}

/** Bars of processor time for each message, a group for each table. */
function draw(all) {
  const [left, bar, height] = [230, 22, 14];
  const most = Math.max(...all.map(({ us }) => us));
  const lines = all.map(({ title, amount, us, rate }, i) => {
    const y = 40 + i * bar;
    const width = Math.max(1, (us / most) * 420);
    return `<text x="${left - 8}" y="${y + 12}" text-anchor="end">${amount} ${title}</text><rect x="${left}" y="${y}" width="${width.toFixed(1)}" height="${height}" fill="#2b6cb0"/><text x="${left + width + 6}" y="${y + 12}">${us.toFixed(1)} us, ${rate.toFixed(0)}/s</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="860" height="${60 + all.length * bar}" font-family="sans-serif" font-size="12">
<rect width="100%" height="100%" fill="#fff"/><text x="${left}" y="22">processor time of three nodes for each message, us</text>
${lines.join("\n")}
</svg>
`;
}

const all = [];
for (const [name, table] of Object.entries(tables)) if (only === undefined || only === name) all.push(...(await measureTable(table)));
writeFileSync(out, draw(all));
writeFileSync(out.replace(/\.svg$/, "") + ".tsv", ["what\tamount\trate_per_s\tcpu_us", ...all.map(({ title, amount, rate, us }) => [title, amount, rate.toFixed(0), us.toFixed(2)].join("\t"))].join("\n") + "\n");
console.log(`${out} shows it`);
process.exit(0);
