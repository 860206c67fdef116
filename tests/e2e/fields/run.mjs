// Runs rows against a cluster and says, for each that went otherwise, what went otherwise.
import assert from "node:assert/strict";
import { Client, sleep } from "../lib.mjs";
import { objectText, shortName } from "./json.mjs";

const WAIT_MS = 15000;
/** Connections that are open at a time for rows that need one of their own. */
const AT_ONCE = 6;

const within = (promise, what, ms = WAIT_MS) => Promise.race([promise, sleep(ms).then(() => { throw new Error(`no ${what} within ${ms} ms`); })]);

/** Keeps what replies say to the letter: a number in a context comes back character for character. */
function listen(c) {
  if (c.texts !== undefined) return c;
  c.texts = [];
  c.socket.on("message", (data) => c.texts.push(String(data)));
  c.socket.on("error", () => {});
  return c;
}

function send(c, row) {
  if (row.binary !== undefined) c.socket.send(row.binary, { binary: true });
  else if (row.notText !== undefined) c.socket.send(row.notText, { binary: false });
  else c.socket.send(row.text ?? objectText(row.members), { binary: false });
}

/** A frame that the server answers whatever else it does: the connection is open, and all before it was read. */
async function isOpen(c) {
  const pong = new Promise((done) => c.socket.once("pong", () => done(true)));
  c.socket.ping();
  return within(Promise.race([pong, c.closed.then(() => false)]), "pong");
}

function contextProblem(row, reply, text) {
  if (row.context === undefined) return reply.context === undefined ? "" : `a context that was not given: ${text}`;
  const isSame = row.context.startsWith('"') ? reply.context === JSON.parse(row.context) : text.includes(`"context":${row.context},`);
  return isSame ? "" : `the context ${shortName(row.context)} came back otherwise: ${text.slice(0, 300)}`;
}

/** What is wrong with a reply; empty when nothing is. */
function replyProblem(row, reply, text) {
  if (row.code === 0) {
    if (reply.status !== "Success.") return `refused: ${text.slice(0, 200)}`;
    if (row.reply !== undefined && text !== row.reply) return `not ${row.reply}: ${text.slice(0, 200)}`;
    const isForm = row.keys === undefined || [...row.keys].sort().join() === Object.keys(reply).sort().join();
    return isForm ? contextProblem(row, reply, text) : `fields: ${text.slice(0, 200)}`;
  }
  if (reply.status !== "Failure." || reply.code !== row.code) return `not ${row.code}: ${text.slice(0, 200)}`;
  const keys = ["code", "reason", "status", ...(row.context === undefined ? [] : ["context"])].sort().join();
  if (Object.keys(reply).sort().join() !== keys || typeof reply.reason !== "string" || reply.reason === "") return `form: ${text.slice(0, 200)}`;
  const isCompact = row.context !== undefined || text === `{"status":"Failure.","code":${row.code},"reason":${JSON.stringify(reply.reason)}}`;
  return isCompact ? contextProblem(row, reply, text) : `not compact, or in another order: ${text.slice(0, 200)}`;
}

async function takeReply(c, row) {
  const reply = await c.reply(WAIT_MS);
  const at = c.texts.findIndex((text) => JSON.parse(text).status !== undefined);
  return { reply, problem: replyProblem(row, reply, c.texts.splice(at, 1)[0]) };
}

async function closeProblem(c, row) {
  const code = await within(c.closed, "close");
  if (code !== row.closes) return `closed with ${code}, not ${row.closes}`;
  return c.frames.length === 0 ? "" : `more frames: ${JSON.stringify(c.frames).slice(0, 200)}`;
}

/** Rows on one connection that stays open. each: looks at a success further, and says what is wrong with it. */
export async function runOpen(c, rows, each = () => "") {
  const problems = [];
  listen(c);
  for (const row of rows) {
    send(c, row);
    const { reply, problem } = await takeReply(c, row).catch((error) => { throw new Error(`${row.name}: ${error.message}`); });
    const found = problem || (row.code === 0 ? await each(row, reply) : "");
    if (found) problems.push(`${row.name}: ${found}`);
  }
  if (!(await isOpen(c))) problems.push("the connection closed at the end");
  if (c.frames.length > 0) problems.push(`frames that nobody asked for: ${JSON.stringify(c.frames).slice(0, 200)}`);
  return problems;
}

async function runOne(cluster, row, login, each) {
  const c = listen(await Client.open(cluster.info.nodes[0].url, cluster.ca));
  try {
    if (login !== undefined) {
      c.socket.send(objectText(login));
      const { reply } = await takeReply(c, { code: 0 });
      assert.equal(reply.status, "Success.");
    }
    send(c, row);
    const taken = row.code === undefined ? { problem: "" } : await takeReply(c, row);
    if (taken.problem) return taken.problem;
    if (row.closes !== undefined) return await closeProblem(c, row);
    if (!(await isOpen(c))) return "the connection closed";
    return row.code === 0 ? await each(row, taken.reply) : "";
  } catch (error) {
    return error.message;
  } finally {
    await c.drop();
  }
}

/** Rows with a connection of their own, logged in first with the members login, if there are any. */
export async function runFresh(cluster, rows, { login, each = () => "" } = {}) {
  const problems = [];
  const left = [...rows];
  const worker = async () => {
    for (let row = left.shift(); row !== undefined; row = left.shift()) {
      const problem = await runOne(cluster, row, login, each);
      if (problem) problems.push(`${row.name}: ${problem}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return problems;
}

/** Rows sent at once, without a wait for replies: these come in the order of the requests. */
export async function runTogether(c, rows) {
  const problems = [];
  listen(c);
  for (const row of rows) send(c, row);
  for (const row of rows) {
    const { problem } = await takeReply(c, row).catch((error) => { throw new Error(`${row.name}: ${error.message}`); });
    if (problem) problems.push(`${row.name}: ${problem}`);
  }
  return problems;
}

/** The same rows as part of another request: base, and of each row what base does not have. */
export function carry(base, rows, more = {}) {
  const names = new Set(base.map(([name]) => name));
  return rows.map((r) => ({ ...r, ...more, members: [...base, ...r.members.filter(([name]) => !names.has(name))] }));
}

/** Everything that an administrator can see of a queue. */
export async function snapshot(admin) {
  const get = async (request) => {
    const { status, ...rest } = await admin.ask(request, WAIT_MS);
    assert.equal(status, "Success.");
    return rest;
  };
  return {
    live: await get({ cmd: "getlivestats" }), messages: await get({ cmd: "getmsgs", after: "", count: 1600 }),
    dead: await get({ cmd: "getdlqmsgs", after: "", count: 1600 }), settings: await get({ cmd: "getcfg" }),
  };
}

/** Waits until the queue looks as before: connections that ended are counted a moment longer. */
export async function assertUnchanged(admin, before) {
  const end = Date.now() + WAIT_MS;
  for (;;) {
    const now = await snapshot(admin);
    if (JSON.stringify(now) === JSON.stringify(before)) return;
    if (Date.now() > end) assert.deepEqual(now, before, "a refused request changed something");
    await sleep(20);
  }
}

export const assertNone = (problems, count) => assert.deepEqual(problems, [], `${problems.length} of ${count} rows went otherwise`);
