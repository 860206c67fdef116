// The rounds of the crash points: what a victim lives through from its start to its end, and what has to be true
// when it was killed anywhere in it and started again.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Over, server, sleep, tracer, until } from "./victim.mjs";

// Three of these are more than a segment of 16 MiB; with two smaller ones the log is long enough for a snapshot (SNAPSHOT
// bytes). Few and large ones make few system calls, and being removed one by one they make a small image.
const LARGE = "x".repeat(5800000);
const MEDIUM = "x".repeat(600000);
export const SET = { "snapshot-min-bytes": 18300000, "max-ws-msg-len": 6 << 20, "election-ms": 400, "heartbeat-ms": 50 };
const SMALL = "s".repeat(100);
const SEGMENTS_MOST = 7;
const DAMAGE = /event=(disk\.damaged|disk\.refused|disk\.not_set_aside|log\.conflict|log\.refused|node\.fatal)\b.*/g;

/** What was confirmed as stored, and what as gone. What is in neither may be there or not. */
export class Ledger {
  there = new Set();
  gone = new Set();

  /** One publish through an administrator; null when nobody can say what became of it. */
  async publish(w, child, durability, body = SMALL) {
    const reply = await this.#ask(w, child, { cmd: "addmsg", body, durability });
    if (reply?.status !== "Success.") return null;
    if (durability > 0) this.there.add(reply.id);
    return reply.id;
  }

  async remove(w, child, id) {
    this.there.delete(id);
    const reply = await this.#ask(w, child, { cmd: "delmsg", id });
    if (reply?.status === "Success.") this.gone.add(id);
  }

  async #ask(w, child, request) {
    const admin = await w.link("admin", child);
    const asked = admin.request(request).catch(() => null);
    const reply = await (child ? Promise.race([asked, child.over]) : asked);
    if (child?.isOver) throw new Over();
    return reply;
  }

  /** A subscriber gets what is there and acknowledges two of it. */
  async acknowledge(w, child) {
    const arrived = [];
    w.links.get("subscriber")?.drop("bye"); // of a life that ended here
    const link = await w.link("subscriber", child, { capacity: 20 }, (frame) => frame.body !== undefined && arrived.push(frame.id));
    for (let i = 0; i < 2; i++) {
      await until(() => arrived.length > 0 || link.shut, "a delivery", child);
      if (link.shut) return;
      const id = arrived.shift();
      this.there.delete(id);
      const reply = await link.request({ id, ack: 1 }).catch(() => null);
      if (reply?.status === "Success.") this.gone.add(id);
    }
    await link.request({ logout: true }).catch(() => {});
    link.drop("bye");
  }

  /** Both are as they were confirmed; then everything goes. Says what is wrong. */
  async settle(w) {
    const wrong = [];
    const admin = await w.link("admin");
    const rows = (await admin.request({ cmd: "getmsgs", after: "", count: 1600 })).csv.split("\n").filter(Boolean);
    const listed = new Set(rows.map((row) => row.split(",")[0]));
    for (const id of this.there) if (!listed.has(id)) wrong.push(`lost ${id}`);
    for (const id of this.gone) if (listed.has(id)) wrong.push(`back again ${id}`);
    for (const id of listed) await admin.request({ cmd: "delmsg", id });
    this.there.clear();
    this.gone.clear();
    return wrong;
  }
}

/** More entries, so that the log behind the next snapshot does not only grow. */
export async function fill(w, count, body = SMALL) {
  const admin = await w.link("admin");
  for (let i = 0; i < count; i += 2) {
    const { id } = await admin.request({ cmd: "addmsg", body, durability: 1 });
    if (id) await admin.request({ cmd: "delmsg", id });
  }
}

/** A segment and more, and the snapshot that this makes due: when the log is larger than the last image. */
async function grow(w, child, ledger) {
  const was = (await w.status())?.snapshot_index ?? 0;
  const isThere = async () => (await w.status())?.snapshot_index > was;
  for (let round = 0; round < 5; round++) {
    for (const body of [LARGE, LARGE, LARGE, MEDIUM, MEDIUM]) {
      const id = await ledger.publish(w, child, 1, body);
      if (id) await ledger.remove(w, child, id);
    }
    try {
      return await until(isThere, "a snapshot", child, 5000);
    } catch (e) {
      if (e instanceof Over || round === 4) throw e;
    }
  }
}

/** A clean end is counted, too. */
async function end(child) {
  child.signal("SIGTERM");
  await until(() => child.isOver, "a clean stop");
  if (child.code !== 0) throw new Over();
}

async function few(w, child, ledger) {
  for (const durability of [1, 2, 0, 2, 1]) await ledger.publish(w, child, durability);
}

async function alone(w, child, ledger) {
  await w.whole(child);
  await few(w, child, ledger);
  const [first] = ledger.there;
  if (first) await ledger.remove(w, child, first);
  await grow(w, child, ledger);
  await ledger.publish(w, child, 2);
  await end(child);
}

async function trio(w, child, ledger) {
  await w.whole(child);
  await few(w, child, ledger);
  await ledger.acknowledge(w, child);
  await w.handTo(w.victim, child);
  await few(w, child, ledger);
  await w.handTo(w.others()[0], child);
  await grow(w, child, ledger);
  await ledger.publish(w, child, 2);
  await w.whole(child);
  await end(child);
}

/** Until it has all that the others have. */
async function catchUp(w, child) {
  await w.whole(child);
}

/** A state in which every snapshot lets go of something: entries, segments and an older snapshot. */
export async function prepare(w, round, ledger) {
  const child = w.start();
  await w.whole(child);
  for (let i = 0; i < 3; i++) {
    await grow(w, child, ledger);
    await fill(w, 260);
  }
  await grow(w, child, ledger);
  await w.whole(child);
  child.signal(round.stop);
  await child.over;
  ledger.there.clear();
  ledger.gone.clear();
}

/** The others go on until the leader has no entry any more that the victim needs. */
async function leaveBehind(w) {
  const last = w.examine().last_index;
  await until(async () => {
    await fill(w, 64, "x".repeat(80000));
    return (await w.leader())?.first_index > last + 1;
  }, "a log that was cut", null, 60000);
}

/** The victim dies in the middle of a record. */
async function tear(w, ledger) {
  for (let at = 3; at < 12; at++) {
    const child = w.start(["--calls", "write", "--path", ".seg", "--half", "--at", String(at)]);
    try {
      await w.whole(child);
      for (let i = 0; i < 50; i++) await ledger.publish(w, child, 1 + (i % 2));
    } catch (error) {
      if (!(error instanceof Over)) throw error;
    }
    child.signal("SIGKILL"); // it had fewer writes than that
    await child.over;
    if (w.examine().torn_tail) return;
  }
  throw new Error("no torn tail was made");
}

async function damage(w) {
  w.damageLog();
}

const count = (calls, call, path, to = /^/) => calls.filter((c) => c.call === call && path.test(c.path) && to.test(c.to ?? "")).length;
const segments = (calls) => new Set(calls.filter((c) => /^pwrite/.test(c.call) && /^log\/.*\.seg$/.test(c.path)).map((c) => c.path)).size;

/** What a whole round has to have in it: name and test over its calls. */
const PARTS = {
  "the lock": (c) => count(c, "flock", /^lock$/) > 0,
  "a new segment": (c) => count(c, "renameat", /^log\/next\.tmp$/) >= 2,
  "a rotation": (c) => segments(c) >= 2 && count(c, "renameat", /^log\/next\.tmp$/) >= 3,
  "a vote": (c) => count(c, "pwritev", /^meta-1$/) >= 2 && count(c, "pwritev", /^meta-2$/) >= 2,
  "two votes": (c) => count(c, "pwritev", /^meta-1$/) >= 3,
  "a snapshot": (c) => count(c, "renameat", /^snapshots\/local\.tmp$/) > 0,
  "a segment removed": (c) => count(c, "unlinkat", /^log\/.*\.seg$/) > 0,
  "a snapshot removed": (c) => count(c, "unlinkat", /^snapshots\/.*\.snap$/) > 0,
  "a snapshot installed": (c) => count(c, "renameat", /^snapshots\/incoming\.tmp$/) > 0,
  "a tail cut": (c) => count(c, "ftruncate", /^log\/.*\.seg$/) > 0,
  "a clean stop": (c) => count(c, "renameat", /^boot\.tmp$/) >= 2,
  "a log set aside": (c) => count(c, "renameat", /^log$/, /^aside\/log$/) === 1 && count(c, "renameat", /^aside$/) === 1,
};

const ONE = ["the lock", "a new segment", "a rotation", "a vote", "a snapshot", "a segment removed", "a snapshot removed", "a clean stop"];

export const ROUNDS = {
  alone: { nodes: 1, round: alone, parts: ONE, stop: "SIGTERM" },
  trio: { nodes: 3, round: trio, parts: [...ONE, "two votes"], stop: "SIGKILL" },
  install: { nodes: 3, round: catchUp, before: leaveBehind, parts: ["a snapshot installed"], stop: "SIGKILL", fill: 0 },
  torn: { nodes: 3, round: catchUp, before: tear, parts: ["a tail cut"], stop: "SIGTERM" },
  aside: { nodes: 3, round: catchUp, before: damage, parts: ["a log set aside", "a snapshot installed"], stop: "SIGTERM", isAside: true },
};

export function missingParts(round, calls) {
  return round.parts.filter((name) => !PARTS[name](calls));
}

/** The data of the dead victim: whole, or torn at its end, and with all that it had acknowledged. */
function examine(w, acknowledged) {
  const seen = w.examine();
  if (!seen?.starts) return { wrong: [`the data is damaged: ${JSON.stringify(seen)}`], seen };
  const last = Math.max(seen.last_index, seen.snapshot_index);
  return { seen, last, wrong: last < acknowledged ? [`entries up to ${acknowledged} were acknowledged, ${last} is the last`] : [] };
}

async function sameDigests(w) {
  const ids = w.cluster.nodes.map((n) => n.id);
  let all = [];
  await until(async () => {
    all = await Promise.all(ids.map((id) => w.ask(id, "cluster", "digest")));
    return all.every((d) => d && d.applied_index === all[0].applied_index);
  }, "the nodes are at one entry");
  return all.every((d) => d.digest === all[0].digest) ? [] : [`the digests at ${all[0].applied_index} differ: ${all.map((d) => d.digest)}`];
}

/** Asides: one after damage, else none. They go, so that more can be made. */
function checkAsides(w, isExpected) {
  const names = w.asides();
  const wrong = names.length === (isExpected ? 1 : 0) && !names.includes("aside") ? [] : [`aside: ${names.join(" ") || "none"}`];
  for (const name of names) rmSync(join(w.data, name), { recursive: true });
  return wrong;
}

/** The victim starts again as it is. What is wrong then, as a list; it is down at the end. */
export async function check(w, round, ledger, acknowledged) {
  const { seen, last, wrong } = round.isAside || round.nodes === 1 ? { seen: null, wrong: [] } : examine(w, acknowledged);
  const child = w.start();
  try {
    const s = await w.whole(child);
    const errors = [...w.logText().matchAll(DAMAGE)].map((m) => m[0]).filter((line) => !round.isAside || !line.startsWith("event=disk.damaged"));
    wrong.push(...errors);
    if (seen?.torn_tail && !w.logText().includes("event=log.tail_cut")) wrong.push("the tail was cut in silence");
    if (seen && s.last_index < last) wrong.push(`the log ended at ${last}, now at ${s.last_index}`);
    wrong.push(...(await ledger.settle(w)));
    await fill(w, round.fill ?? 40);
    // Each start makes a segment; a round without a snapshot would let go of none.
    if (w.segments() > SEGMENTS_MOST) await grow(w, null, ledger);
    await w.whole(child);
    wrong.push(...(await sameDigests(w)));
    wrong.push(...checkAsides(w, round.isAside));
  } catch (error) {
    wrong.push(child.isOver ? `it does not start again: ${child.code}\n${w.logText().slice(-2000)}` : `${error.message}\n${w.logText().slice(-2000)}`);
  }
  child.signal(round.stop);
  await until(() => child.isOver, "the victim ends");
  return wrong;
}

/** One life: what led to it, the round with its death, the check. */
export async function live(w, round, ledger, crash) {
  const words = crash ?? ["--calls", "write,change"];
  await round.before?.(w, ledger);
  const child = w.start(words);
  let survived = false;
  let error = null;
  try {
    await round.round(w, child, ledger);
    survived = true;
  } catch (e) {
    if (!(e instanceof Over)) error = e;
  }
  if (error) await Promise.race([child.over, sleep(3000)]);
  const acknowledged = (await w.leader())?.peers.find((p) => p.id === w.victim)?.match_index ?? 0;
  const wrong = error && !child.isOver ? [`the round failed: ${error.stack}`] : [];
  if (!child.isOver) child.signal("SIGKILL");
  await child.over;
  const calls = w.calls();
  wrong.push(...(await check(w, round, ledger, acknowledged)));
  return { survived, calls, wrong };
}

/** A data directory is made, with a death at a call; then it is made again, or is there, and is good. */
export function initOnce(w, crash) {
  const dir = mkdtempSync(join(w.dir, "init-"));
  const data = join(dir, "data");
  const config = join(dir, "holdfast.conf");
  writeFileSync(config, readFileSync(w.config, "utf8").replace(/^data-dir = .*$/m, `data-dir = ${data}`));
  const init = [server, "--config", config, "--init"];
  const first = spawnSync(tracer, ["--dir", data, "--out", w.trace, ...crash, ...init], { encoding: "utf8" });
  const calls = w.calls(data);
  const again = spawnSync(init[0], init.slice(1), { encoding: "utf8" });
  const seen = w.examine(data, config);
  const isGood = seen?.starts && seen.good && (again.status === 0 || /not empty/.test(again.stderr));
  const wrong = isGood ? [] : [`made again: ${again.status} ${again.stderr.trim()} ${JSON.stringify(seen)}`];
  rmSync(dir, { recursive: true });
  return { survived: first.status === 0, calls, wrong };
}
