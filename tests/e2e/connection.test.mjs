// The manual's "Connect and log in", "Why a connection closed" and the limits of a connection, byte by byte: at the
// leader and through a follower, which must not be told apart.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { Cluster, Client, root, sleep, until } from "./lib.mjs";
import { Raw, Wire, closeFrame, frame, pack, upgrade } from "./raw.mjs";

const LIMIT = 65536; // max-ws-msg-len
const MESSAGE_SECS = 2;
const DEFLATE = "permessage-deflate; client_no_context_takeover; server_no_context_takeover";

let cluster, places;
before(async () => {
  cluster = await Cluster.up({ nodes: 3, set: { "message-timeout-secs": MESSAGE_SECS } });
  const leader = await cluster.waitLeader();
  const of = (id) => cluster.info.nodes.find((n) => n.id === id);
  const follower = cluster.info.nodes.find((n) => n.id !== leader).id;
  places = [{ name: "leader", node: of(leader) }, { name: "follower", node: of(follower) }];
}, { timeout: 120000 });
after(() => cluster?.down());

/** A case for the leader and for a follower, both at once. */
function everywhere(name, fn, options = {}) {
  test(name, { timeout: 60000, ...options }, () => Promise.all(places.map(async ({ name: where, node }) => {
    try {
      await fn(node, where);
    } catch (error) {
      error.message = `${where}: ${error.message}`;
      throw error;
    }
  })));
}

const raw = (node, options) => Raw.open(node, cluster.ca, options);
const roles = ["publisher", "subscriber", "admin"];
const loginOf = (role, more = {}) => cluster.login(role, { ...(role === "subscriber" ? { capacity: 1 } : {}), ...more });

async function rawLogin(node, role = "publisher", options = {}, more = {}) {
  const r = await raw(node, options);
  const reply = await r.ask(loginOf(role, more));
  assert.equal(reply.status, "Success.", JSON.stringify(reply));
  return r;
}

async function withAdmin(fn) {
  const admin = await cluster.admin({ node: cluster.info.nodes.indexOf(places[0].node) });
  try {
    return await fn(admin);
  } finally {
    admin.drop();
  }
}

/** Sets settings for as long as fn runs. */
async function withSettings(values, fn) {
  return withAdmin(async (admin) => {
    const was = await admin.ask({ cmd: "getcfg" });
    const old = Object.fromEntries(Object.keys(values).map((name) => [name, was[name][1]]));
    assert.equal((await admin.ask({ cmd: "setcfg", ...values })).status, "Success.");
    try {
      return await fn(admin);
    } finally {
      await admin.ask({ cmd: "setcfg", ...old });
    }
  });
}

/** The bodies of all messages in the queue, deleted on the way. */
async function takeAll() {
  return withAdmin(async (admin) => {
    const bodies = [];
    for (;;) {
      const { csv } = await admin.ask({ cmd: "getmsgs", after: "", count: 500 });
      if (csv === "") return bodies;
      for (const id of csv.trim().split("\n").map((line) => line.split(",")[0])) {
        bodies.push((await admin.ask({ cmd: "getmsg", id })).msg.body);
        await admin.ask({ cmd: "delmsg", id });
      }
    }
  });
}

// --- HTTP and TLS --------------------------------------------------------------------------------

const NOT_OURS = {
  "a GET without an upgrade": "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
  "another path": () => upgrade({ line: "GET /chat HTTP/1.1" }),
  "a query": () => upgrade({ line: "GET /?a=b HTTP/1.1" }),
  "no path": () => upgrade({ line: "GET  HTTP/1.1" }),
  "HTTP/1.0": () => upgrade({ line: "GET / HTTP/1.0" }),
  "HTTP/2.0": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  "a method in small letters": () => upgrade({ line: "get / HTTP/1.1" }),
  "POST with an upgrade": () => upgrade({ line: "POST / HTTP/1.1" }),
  "CONNECT": "CONNECT localhost:443 HTTP/1.1\r\nHost: localhost\r\n\r\n",
  "OPTIONS *": "OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n",
  "a body": () => upgrade({ headers: { "Content-Length": "2" } }) + "{}",
  "a body in chunks": () => upgrade({ headers: { "Transfer-Encoding": "chunked" } }) + "0\r\n\r\n",
  "no Host": () => upgrade({ headers: { Host: undefined } }),
  "two Hosts": () => upgrade({ more: "Host: localhost\r\n" }),
  "no Upgrade": () => upgrade({ headers: { Upgrade: undefined } }),
  "Upgrade: h2c": () => upgrade({ headers: { Upgrade: "h2c" } }),
  "no Connection": () => upgrade({ headers: { Connection: undefined } }),
  "Connection: keep-alive": () => upgrade({ headers: { Connection: "keep-alive" } }),
  "no key": () => upgrade({ headers: { "Sec-WebSocket-Key": undefined } }),
  "a key of 15 bytes": () => upgrade({ headers: { "Sec-WebSocket-Key": randomBytes(15).toString("base64") } }),
  "a key that is no base64": () => upgrade({ headers: { "Sec-WebSocket-Key": "!!!!!!!!!!!!!!!!!!!!!!==" } }),
  "two keys": () => upgrade({ more: `Sec-WebSocket-Key: ${randomBytes(16).toString("base64")}\r\n` }),
  "version 8": () => upgrade({ headers: { "Sec-WebSocket-Version": "8" } }),
  "version 13, 8": () => upgrade({ headers: { "Sec-WebSocket-Version": "13, 8" } }),
  "no version": () => upgrade({ headers: { "Sec-WebSocket-Version": undefined } }),
  "a queue that is not there": () => upgrade({ host: "nobody.q.localhost" }),
  "a name no queue can have": () => upgrade({ host: "de_mo.q.localhost" }),
  "a folded header": () => upgrade({ more: "X-A: b\r\n c\r\n" }),
  "a blank before the colon": () => upgrade({ more: "X-A : b\r\n" }),
  "a bare line feed": () => upgrade().replace("\r\n", "\n"),
  "a NUL": () => upgrade({ more: "X-A: \0\r\n" }),
  "2000 headers": () => upgrade({ more: "X-A: b\r\n".repeat(2000) }),
  "one header of 100 kB": () => upgrade({ more: `X-A: ${"b".repeat(100000)}\r\n` }),
  "no HTTP at all": "hello\r\n\r\n",
  "zeros": Buffer.alloc(64),
};

everywhere("any other HTTP request gets a 400 reply, whole and without a reset", async (node) => {
  await Promise.all(Object.entries(NOT_OURS).map(async ([name, request]) => {
    const wire = await Wire.tls(node.url, cluster.ca);
    wire.write(typeof request === "function" ? request() : request);
    await wire.end().catch((error) => { throw new Error(`${name}: ${error.message}`); });
    const text = wire.got.toString("latin1");
    assert.match(text, /^HTTP\/1\.1 400 /, name);
    assert.match(text, /\r\nconnection: close\r\n/i, name);
    assert.match(text, /\r\nsec-websocket-version: 13\r\n/i, name);
    const [head, body] = text.split("\r\n\r\n");
    assert.equal(Number(/content-length: *(\d+)/i.exec(head)[1]), body.length, name);
  }));
});

everywhere("a large request body does not hide the 400", async (node) => {
  const wire = await Wire.tls(node.url, cluster.ca);
  wire.socket.pause(); // as a client that writes all before it reads
  wire.write("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000000\r\n\r\n");
  for (let i = 0; i < 40; i++) {
    wire.write(Buffer.alloc(100000, 120));
    await sleep(5);
  }
  wire.socket.resume();
  await wire.end();
  assert.match(wire.got.toString("latin1"), /^HTTP\/1\.1 400 /);
});

everywhere("an upgrade in single bytes, in any spelling, is taken", async (node) => {
  const wire = await Raw.tls(node.url, cluster.ca);
  const key = "AQIDBAUGBwgJCgsMDQ4PEC=="; // as in RFC 6455: its last bits are not zero
  const text = `GET / HTTP/1.1\r\nhOST:LOCALHOST:443\r\nuPGRADE: foo, WebSocket\r\nconnection:keep-alive,\tUPGRADE\r\nSEC-WEBSOCKET-KEY: ${key}\r\nsec-websocket-version:13\r\nSec-WebSocket-Protocol: mqtt\r\n\r\n`;
  for (const byte of Buffer.from(text)) wire.write(Buffer.from([byte]));
  await wire.until(() => wire.head !== null, "the answer");
  assert.match(wire.head, /^HTTP\/1\.1 101 /);
  assert.doesNotMatch(wire.head, /sec-websocket-protocol/i);
  assert.equal((await wire.ask(loginOf("publisher"))).status, "Success.");
  wire.destroy();
});

everywhere("a host names the queue", async (node) => {
  for (const host of ["demo.q.localhost", "DEMO.q.localhost:9443", "demo.q.localhost.", "127.0.0.1", "[::1]:9443", "localhost"]) {
    const r = await rawLogin(node, "publisher", { host });
    r.destroy();
  }
});

everywhere("TLS 1.2 and newer, with forward secrecy; nothing older; a client may offer HTTP/2", async (node) => {
  for (const version of ["TLSv1.2", "TLSv1.3"]) {
    const r = await rawLogin(node, "publisher", { minVersion: version, maxVersion: version, ALPNProtocols: ["h2", "http/1.1"] });
    assert.equal(r.socket.getProtocol(), version);
    if (version === "TLSv1.2") assert.match(r.socket.getCipher().name, /^ECDHE-.*(GCM|CHACHA20)/);
    r.destroy();
  }
  const old = { minVersion: "TLSv1.2", maxVersion: "TLSv1.2" };
  await assert.rejects(Wire.tls(node.url, cluster.ca, { ...old, ciphers: "AES128-SHA:@SECLEVEL=0" }));
  await assert.rejects(Wire.tls(node.url, cluster.ca, { minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "DEFAULT:@SECLEVEL=0" }));
});

everywhere("HTTP without TLS gets a 400, anything else nothing", async (node) => {
  const http = await Wire.tcp(node.url);
  http.write(upgrade());
  await http.end();
  assert.match(http.got.toString("latin1"), /^HTTP\/1\.1 400 /);
  for (const bytes of [Buffer.alloc(100), Buffer.from("\r\n\r\n\0\r\nQUIT\nxxxxxxxxxxxxxxxxxxxxx"), randomBytes(50).fill(7, 0, 1)]) {
    const wire = await Wire.tcp(node.url);
    wire.write(bytes);
    await wire.gone();
    assert.equal(wire.got.length, 0);
  }
});

test("the queue is at its IPv6 address too", { skip: !Object.values(networkInterfaces()).flat().some((a) => a.address === "::1") }, async () => {
  for (const { node } of places) {
    const r = await rawLogin({ url: node.url.replace("localhost", "[::1]") }, "subscriber");
    r.destroy();
  }
});

// --- The login -----------------------------------------------------------------------------------

everywhere("a data frame before the login's reply ends the connection: no reply, nothing published", async (node, where) => {
  const publish = (name) => frame(JSON.stringify({ body: `${where} ${name}` }));
  const behind = {
    "a message": () => [publish("a message")],
    "a binary message": () => [frame(`${where} binary`, { opcode: 2 })],
    "an empty message": () => [frame("")],
    "a first fragment": () => [frame('{"body":', { fin: false })],
    "a head without its payload": () => [frame("", { length: 40 })],
    "a ping and a message": () => [frame("x", { opcode: 9 }), publish("a ping and a message")],
  };
  for (const [name, frames] of Object.entries(behind)) {
    const r = await raw(node);
    r.write(frame(JSON.stringify(loginOf("publisher"))), ...frames());
    await r.closing().catch((error) => { throw new Error(`${name}: ${error.message}`); });
    assert.deepEqual(r.frames.filter((f) => f.opcode !== 10), [], name);
  }
});

everywhere("control frames during the login are no offence", async (node) => {
  const r = await raw(node);
  r.write(frame("before", { opcode: 9 }), frame("unasked", { opcode: 10 }), frame(JSON.stringify(loginOf("publisher"))), frame("during", { opcode: 9 }));
  assert.equal((await r.reply()).status, "Success.");
  assert.deepEqual([String(await r.pong()), String(await r.pong())], ["before", "during"]);
  r.destroy();
});

everywhere("a failed login: the reply, then the end without a close frame and without a reset", async (node) => {
  const login = loginOf("publisher");
  const bad = {
    100: "Hello", 102: Buffer.from(JSON.stringify(login)), 103: { ...login, username: 1 }, 107: { ...login, password: "wrong" },
    108: loginOf("admin", { queuetype: "copy" }), 109: loginOf("subscriber", { sessionid: "nobody" }), 110: loginOf("subscriber", { replay: 1 }),
    300: loginOf("subscriber", { capacity: 0 }), 203: { ...login, body: "x", delay: -1 },
  };
  await Promise.all(Object.entries(bad).map(async ([code, value]) => {
    const r = await raw(node);
    if (Buffer.isBuffer(value)) r.write(frame(value, { opcode: 2 }));
    else r.text(value);
    assert.equal((await r.reply()).code, Number(code));
    assert.equal(await r.closing(), undefined);
  }));
});

everywhere("the last reply reaches a client that reads late and has sent much more", async (node) => {
  const last = {
    "a failed login": [null, frame(JSON.stringify(loginOf("publisher", { username: 1 }))), 103],
    "text from an administrator": ["admin", frame("Hello"), 100],
    "text from a subscriber": ["subscriber", frame("Hello"), 100],
  };
  await Promise.all(Object.entries(last).map(async ([name, [role, words, code]]) => {
    const r = role ? await rawLogin(node, role) : await raw(node);
    r.socket.pause();
    r.write(words);
    await sleep(300); // so that the rest comes behind the login's reply
    for (let i = 0; i < 26; i++) {
      r.write(frame("x".repeat(50000)));
      await sleep(100);
    }
    r.socket.resume();
    assert.equal((await r.reply().catch((error) => { throw new Error(`${name}: ${error.message} ${r.error}`); })).code, code, name);
    await r.gone();
  }));
});

test("the time to log in covers TCP, TLS, the upgrade and the login, however slowly they come", { timeout: 60000 }, () => withSettings({ "no-reply-timeout-secs": 1 }, async () => {
  const calm = await cluster.publisher();
  /** Sends something each 50 ms until the connection ends, or for longer than any of them may last. */
  const again = async (wire, next) => {
    for (let i = 0; i < 200 && !wire.ended && !wire.closed && !wire.error; i++) {
      wire.write(next(i));
      await sleep(50);
    }
  };
  const dribble = (wire, bytes) => again(wire, (i) => bytes.subarray(i, i + 1));
  const slow = {
    "says nothing": (node) => Wire.tcp(node.url),
    "begins TLS": async (node) => { const w = await Wire.tcp(node.url); w.write(Buffer.from([22, 3, 1])); return w; },
    "only TLS": (node) => Wire.tls(node.url, cluster.ca),
    "a slow upgrade": async (node) => { const w = await Wire.tls(node.url, cluster.ca); dribble(w, Buffer.from(upgrade())); return w; },
    "only the upgrade": (node) => raw(node),
    "pings": async (node) => { const r = await raw(node); again(r, () => frame("", { opcode: 9 })); return r; },
    "a slow login": async (node) => { const r = await raw(node); dribble(r, frame(JSON.stringify(loginOf("publisher")))); return r; },
    "a login in slow fragments": async (node) => {
      const r = await raw(node);
      again(r, (i) => frame(i === 0 ? "{" : " ", { opcode: i === 0 ? 1 : 0, fin: false }));
      return r;
    },
  };
  await Promise.all(places.flatMap(({ node, name: where }) => Object.entries(slow).map(async ([name, begin]) => {
    const started = Date.now();
    const wire = await begin(node);
    await wire.gone();
    const took = Date.now() - started;
    assert.ok(took > 800 && took < 6000, `${where}, ${name}: closed after ${took} ms`);
    assert.equal(wire.closeCode, undefined, name);
  })));
  // Those that are logged in have no limit, and a wrong password is answered in spite of a short one.
  await sleep(500);
  assert.equal((await calm.ask({ body: "still here" })).status, "Success.");
  await takeAll();
  calm.drop();
  for (const { node } of places) assert.equal((await (await raw(node)).ask(loginOf("admin", { password: "wrong" }))).code, 107);
}));

everywhere("the time to log in changes at once for those who have not", async (node, where) => {
  if (where !== "leader") return;
  const LOGIN_SECS = 10; // that they would have else
  const waiting = await raw(places[1].node);
  const here = await raw(node);
  await sleep(1100);
  await withSettings({ "no-reply-timeout-secs": 1 }, () => Promise.all([waiting.gone(LOGIN_SECS * 500), here.gone(LOGIN_SECS * 500)]));
});

// --- Close codes -----------------------------------------------------------------------------------

/** What offends, whoever says it and whenever. */
const OFFENCES = {
  "an unmasked frame": [1002, () => frame("{}", { masked: false })],
  "RSV1 without compression": [1002, () => frame("{}", { rsv: 4 })],
  "RSV2": [1002, () => frame("{}", { rsv: 2 })],
  "opcode 3": [1002, () => frame("{}", { opcode: 3 })],
  "opcode 12": [1002, () => frame("", { opcode: 12 })],
  "a continuation of nothing": [1002, () => frame("{}", { opcode: 0 })],
  "a text within a message": [1002, () => Buffer.concat([frame("{", { fin: false }), frame("}")])],
  "a ping in fragments": [1002, () => frame("", { opcode: 9, fin: false })],
  "a ping of 126 bytes": [1002, () => frame("x".repeat(126), { opcode: 9 })],
  "a length not in its shortest form": [1002, () => Buffer.from([0x81, 0xfe, 0, 5, 1, 2, 3, 4, 0, 0, 0, 0, 0])],
  "a close frame of one byte": [1002, () => frame("x", { opcode: 8 })],
  "a close frame with 1005": [1002, () => closeFrame(1005)],
  "a close frame with 1006": [1002, () => closeFrame(1006)],
  "a close frame with 2999": [1002, () => closeFrame(2999)],
  "overlong UTF-8": [1007, () => frame(Buffer.from([0xc0, 0xaf]))],
  "a surrogate in UTF-8": [1007, () => frame(Buffer.from([0xed, 0xa0, 0x80]))],
  "UTF-8 above U+10FFFF": [1007, () => frame(Buffer.from([0xf4, 0x90, 0x80, 0x80]))],
  "UTF-8 that ends too soon": [1007, () => frame(Buffer.from([0x61, 0xe2, 0x82]))],
  "UTF-8 broken between fragments": [1007, () => Buffer.concat([frame(Buffer.from([0xe2]), { fin: false }), frame(Buffer.from([0x28, 0xa1]), { opcode: 0 })])],
  "bad UTF-8 in the first of two fragments": [1007, () => frame(Buffer.from([0xff]), { fin: false })],
  "65537 bytes": [1009, () => frame("x".repeat(LIMIT + 1))],
  "65537 bytes in two frames": [1009, () => Buffer.concat([frame("x".repeat(LIMIT), { fin: false }), frame("x", { opcode: 0 })])],
  "a head that says 2^62 bytes": [1009, () => frame("x", { length: 2 ** 62 })],
};

everywhere("each close code, for every role and before the login", async (node) => {
  for (const role of [null, ...roles]) {
    await Promise.all(Object.entries(OFFENCES).map(async ([name, [code, bytes]]) => {
      const r = role ? await rawLogin(node, role) : await raw(node);
      r.write(bytes());
      assert.equal(await r.closing().catch((error) => { throw new Error(`${role}, ${name}: ${error.message}`); }), code, `${role}, ${name}`);
      assert.deepEqual(r.frames.filter((f) => f.json?.status !== undefined), [], name);
    }));
  }
});

everywhere("a message that does not arrive whole in time: 1008, also as the login", async (node) => {
  for (const role of [null, "publisher"]) {
    await Promise.all([
      [frame('{"body":', { fin: false })],
      [frame('{"body":', { fin: false }), frame("", { opcode: 9 }), frame('"', { opcode: 0, fin: false })],
    ].map(async (frames) => {
      const r = role ? await rawLogin(node, role) : await raw(node);
      const started = Date.now();
      for (let i = 0; i < 20 && !r.ended && !r.closed; i++) { // what goes on makes the time no longer
        if (i < frames.length) r.write(frames[i]);
        else if (frames.length > 1) r.write(frame("x", { opcode: 0, fin: false }));
        await sleep(600);
      }
      assert.equal(await r.closing(), 1008);
      const took = Date.now() - started;
      assert.ok(took > MESSAGE_SECS * 1000 - 300 && took < MESSAGE_SECS * 1000 + 6000, `${took} ms`);
    }));
  }
});

everywhere("a close frame is answered with its code, behind all replies due before", async (node) => {
  for (const code of [1000, 1001, 1003, 1011, 3000, 4999]) {
    const r = await rawLogin(node, "publisher");
    r.write(closeFrame(code, "good bye é"));
    assert.equal(await r.closing(), code);
  }
  const { username, password } = cluster.info.logins.publisher;
  const job = await raw(node); // "A short job can log in and publish with one request", and closes
  job.write(frame(JSON.stringify({ username, password, role: "publisher", queuetype: "distribute", body: "a short job" })), closeFrame(1000));
  const { id } = await job.reply();
  assert.equal(await job.closing(), 1000);
  assert.equal((await withAdmin((admin) => admin.ask({ cmd: "delmsg", id }))).status, "Success.");
  const last = await rawLogin(node, "publisher");
  last.write(...[0, 1, 2].map((context) => frame(JSON.stringify({ body: "last", durability: 2, context }))), closeFrame(4000));
  for (const context of [0, 1, 2]) assert.equal((await last.reply()).context, context);
  assert.equal(await last.closing(), 4000);
  const empty = await rawLogin(node, "admin");
  empty.write(frame("", { opcode: 8 }));
  assert.equal(await empty.closing(), null);
});

everywhere("what came whole before the end of the stream is done", async (node, where) => {
  const bodies = [];
  for (let i = 0; i < 10; i++) {
    const r = await rawLogin(node, "publisher");
    const mine = [0, 1, 2].map((k) => `${where} end ${i}.${k}`);
    bodies.push(...mine);
    r.socket.end(Buffer.concat(mine.map((body) => frame(JSON.stringify({ body }))))); // data, close_notify and FIN together
    await r.gone();
  }
  const key = `${where} end `;
  const there = await until(async () => {
    const all = await withAdmin(async (admin) => {
      const { csv } = await admin.ask({ cmd: "getmsgs", after: "", count: 1600 });
      const ids = csv.trim().split("\n").filter(Boolean).map((line) => line.split(",")[0]);
      const found = [];
      for (const id of ids) found.push((await admin.ask({ cmd: "getmsg", id })).msg?.body);
      return found.filter((body) => body?.startsWith(key));
    });
    return all.length >= bodies.length && all;
  });
  assert.deepEqual(there, bodies);
});

// --- Frames ----------------------------------------------------------------------------------------

everywhere("a message of exactly the limit: whole, in fragments, packed; one byte more: 1009", async (node, where) => {
  const start = `{"body":"${where} exact `;
  const sized = (size) => `${start}${"x".repeat(size - start.length - 2)}"}`;
  const r = await rawLogin(node, "publisher", { extensions: DEFLATE });
  const text = sized(LIMIT);
  r.text(text);
  assert.equal((await r.reply()).status, "Success.");
  const parts = [text.slice(0, 1), "", text.slice(1, 40000), text.slice(40000)];
  r.write(...parts.map((part, i) => frame(part, { opcode: i === 0 ? 1 : 0, fin: i === 3 })));
  assert.equal((await r.reply()).status, "Success.");
  r.write(frame(pack(text), { rsv: 4 }));
  assert.equal((await r.reply()).status, "Success.");
  r.write(frame(pack(sized(LIMIT + 1)), { rsv: 4 }));
  assert.equal(await r.closing(), 1009);
});

everywhere("a compressed bomb: 1009 at once, also as the login", async (node) => {
  const bomb = pack(Buffer.alloc(50 << 20, 0x20));
  assert.ok(bomb.length < LIMIT);
  for (const role of [null, "subscriber"]) {
    const r = role ? await rawLogin(node, role, { extensions: DEFLATE }) : await raw(node, { extensions: DEFLATE });
    r.write(frame(bomb, { rsv: 4 }));
    assert.equal(await r.closing(8000), 1009);
  }
});

everywhere("a message in 131,000 fragments ends with 1009, also as the login", async (node) => {
  const many = Buffer.concat(Array(131000).fill(frame("", { opcode: 0, fin: false })));
  for (const role of [null, "publisher"]) {
    const r = role ? await rawLogin(node, role) : await raw(node);
    r.write(frame("{", { fin: false }), many);
    assert.equal(await r.closing(), 1009);
  }
});

everywhere("a compressed message that cannot be unpacked: 1011, also as the login", async (node) => {
  const whole = pack(JSON.stringify({ body: "abc".repeat(100) }));
  const broken = {
    "a block of type 3": Buffer.from([0x07, 0xff, 0xff]), "cut in the middle": whole.subarray(0, whole.length >> 1),
    "a distance before the begin": Buffer.from([0x4b, 0x04, 0x42, 0x00]).fill(0xaa, 1),
    "lengths that do not match": Buffer.from([0x00, 0x05, 0x00, 0x00, 0x00, 1, 2, 3, 4, 5]),
  };
  for (const role of [null, ...roles]) {
    for (const [name, bytes] of Object.entries(broken)) {
      const r = role ? await rawLogin(node, role, { extensions: DEFLATE }) : await raw(node, { extensions: DEFLATE });
      r.write(frame(bytes, { rsv: 4 }));
      assert.equal(await r.closing(), 1011, `${role}, ${name}`);
    }
  }
});

everywhere("compressed text that is not UTF-8: 1007; RSV1 on a continuation or a ping: 1002", async (node) => {
  const bad = pack(Buffer.from([0x22, 0xed, 0xbf, 0xbf, 0x22]));
  for (const [bytes, code] of [
    [frame(bad, { rsv: 4 }), 1007],
    [Buffer.concat([frame(bad.subarray(0, 3), { rsv: 4, fin: false }), frame(bad.subarray(3), { opcode: 0 })]), 1007],
    [Buffer.concat([frame(pack("{}"), { rsv: 4, fin: false }), frame("", { opcode: 0, rsv: 4 })]), 1002],
    [frame("", { opcode: 9, rsv: 4 }), 1002],
  ]) {
    const r = await rawLogin(node, "publisher", { extensions: DEFLATE });
    r.write(bytes);
    assert.equal(await r.closing(), code);
  }
});

/** Offers, and what must be agreed: null is no compression, else the parameters beside the two without context. */
const OFFERS = [
  ["permessage-deflate", ""], ["permessage-deflate; client_max_window_bits", ""], ["permessage-deflate; client_max_window_bits=8", ""],
  ["permessage-deflate; client_max_window_bits=15; server_no_context_takeover", ""], ["permessage-deflate; client_no_context_takeover", ""],
  ["permessage-deflate; server_max_window_bits=9", "; server_max_window_bits=9"], ["permessage-deflate; server_max_window_bits=15", "; server_max_window_bits=15"],
  ['permessage-deflate; server_max_window_bits="10"; client_max_window_bits="9"', "; server_max_window_bits=10"],
  ["PerMessage-Deflate; Server_No_Context_Takeover", ""], ["x-webkit-deflate-frame, permessage-deflate", ""], ["foo; bar=baz;quux, permessage-deflate ; client_max_window_bits", ""],
  ["permessage-deflate; unknown, permessage-deflate; server_max_window_bits=12", "; server_max_window_bits=12"],
  ["permessage-deflate; server_max_window_bits=7, permessage-deflate", ""],
  ["permessage-deflate; unknown", null], ["permessage-deflate; server_max_window_bits", null], ["permessage-deflate; server_max_window_bits=16", null],
  ["permessage-deflate; server_max_window_bits=09", null], ["permessage-deflate; client_max_window_bits=16", null], ["permessage-deflate; client_max_window_bits=7", null],
  ["permessage-deflate; server_no_context_takeover=1", null], ["permessage-deflate; client_no_context_takeover; client_no_context_takeover", null],
  ["permessage-deflate; server_max_window_bits=10; server_max_window_bits=10", null], ["permessage-bzip2", null], ["x-webkit-deflate-frame", null], ["permessage-deflate;;", null], ["=", null],
];

everywhere("every offer of permessage-deflate is answered as RFC 7692 says, and what is agreed works", async (node, where) => {
  await Promise.all(OFFERS.map(async ([offer, agreed], i) => {
    const queuetype = "copy";
    const subscriber = await rawLogin(node, "subscriber", { extensions: offer }, { queuetype });
    const want = agreed === null ? undefined : `permessage-deflate; server_no_context_takeover; client_no_context_takeover${agreed}`;
    assert.equal(subscriber.extensions, want, offer);
    const publisher = await rawLogin(node, "publisher", { extensions: offer }, { queuetype });
    const body = `${where} offer ${i} ${"abcdefgh".repeat(600)}`;
    const text = JSON.stringify({ body });
    const windowBits = Number(/client_max_window_bits="?(\d+)/.exec(offer)?.[1] ?? 15);
    publisher.write(agreed === null ? frame(text) : frame(pack(text, { windowBits: Math.max(9, windowBits) }), { rsv: 4 }));
    assert.equal((await publisher.reply()).status, "Success.", offer);
    const f = await subscriber.frame((x) => x.json?.body === body, "the message");
    assert.equal(f.isPacked, agreed !== null, offer);
    assert.ok(f.fin && !f.masked);
    publisher.destroy();
    subscriber.destroy();
  }));
});

everywhere("compressed messages in every form", async (node, where) => {
  const r = await rawLogin(node, "publisher", { extensions: "permessage-deflate" });
  const body = `${where} ${"häßlich 😀 ".repeat(500)}`;
  const text = JSON.stringify({ body });
  const z = pack(text);
  const forms = {
    "one frame": [frame(z, { rsv: 4 })],
    "in single bytes, with pings between": [...z].slice(0, 120).flatMap((byte, i) => [frame(Buffer.from([byte]), i === 0 ? { rsv: 4, fin: false } : { opcode: 0, fin: false }), ...(i % 40 === 0 ? [frame(`${i}`, { opcode: 9 })] : [])])
      .concat([frame(z.subarray(120), { opcode: 0 })]),
    "stored, not packed": [frame(pack(text, { level: 0 }), { rsv: 4 })],
    "with an empty block in the middle": [frame(Buffer.concat([pack(text.slice(0, 100)), Buffer.from([0, 0, 0xff, 0xff]), pack(text.slice(100))]), { rsv: 4 })],
    "plain, in between": [frame(text)],
    "plain, in fragments": [frame(text.slice(0, 7), { fin: false }), frame(text.slice(7), { opcode: 0 })],
    "with an empty last fragment": [frame(z, { rsv: 4, fin: false }), frame("", { opcode: 0 })],
    "binary": [frame(pack(Buffer.from([0, 255, 254, 1])), { opcode: 2, rsv: 4 })],
  };
  for (const [name, frames] of Object.entries(forms)) {
    r.write(...frames);
    assert.equal((await r.reply().catch((error) => { throw new Error(`${name}: ${error.message}`); })).status, "Success.", name);
  }
  r.destroy();
});

everywhere("every character may be split between fragments", async (node, where) => {
  const r = await rawLogin(node, "publisher");
  const body = `${where} \u00a2\u20ac\u{10348}\u{10ffff}\uffff`;
  const bytes = Buffer.from(JSON.stringify({ body }));
  for (let cut = 1; cut < bytes.length; cut++)
    r.write(frame(bytes.subarray(0, cut), { fin: false }), frame(bytes.subarray(cut), { opcode: 0 }));
  const ids = new Set();
  for (let cut = 1; cut < bytes.length; cut++) ids.add((await r.reply()).id);
  assert.equal(ids.size, bytes.length - 1);
  const [id] = ids;
  assert.equal((await withAdmin((admin) => admin.ask({ cmd: "getmsg", id }))).msg.body, body);
  r.destroy();
});

everywhere("pings are answered in order, each with its bytes, and take no part in a message", async (node) => {
  const r = await rawLogin(node, "admin");
  const payloads = Array.from({ length: 300 }, (_, i) => randomBytes(i % 126));
  r.write(frame('{"cmd":', { fin: false }), ...payloads.map((p) => frame(p, { opcode: 9 })), frame('"getlivestats"}', { opcode: 0 }));
  for (const p of payloads) assert.deepEqual(await r.pong(), p);
  assert.equal((await r.reply()).status, "Success.");
  r.destroy();
});

test("clean up", async () => {
  const bodies = await takeAll();
  assert.ok(bodies.length > 0);
  assert.deepEqual(bodies.filter((body) => /a message|binary|offer/.test(body)), [], "what must not be published");
});

// --- Slots and passwords -----------------------------------------------------------------------------

// A cluster of its own for these. It has never seen its logins when the guessing begins.
let small;
before(async () => { small = await Cluster.up({ nodes: 1, set: { "max-tasks": 4 } }); }, { timeout: 90000 });
after(() => small?.down());

/** Runs attack.mjs while fn runs; gives how often each code was answered. */
async function underAttack(options, fn) {
  const child = spawn(process.execPath, [join(root, "tests", "e2e", "attack.mjs"), JSON.stringify(options)], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  try {
    assert.equal((await lines.next()).value, "guessing");
    await fn();
    child.stdin.end();
    return JSON.parse((await lines.next()).value);
  } finally {
    child.kill();
  }
}

test("a hundred connections that guess passwords do not keep others out", { timeout: 60000 }, async () => {
  const [{ url }] = small.info.nodes;
  const { username } = small.info.logins.publisher;
  const timed = async (role, options, more = {}) => {
    const started = Date.now();
    const client = await Client.open(url, small.ca, options);
    const reply = await client.ask(small.login(role, more));
    assert.equal(reply.status, "Success.", JSON.stringify(reply));
    client.drop();
    return Date.now() - started;
  };
  const calm = await timed("publisher", {});
  const counts = await underAttack({ urls: [url], ca: small.info.ca, usernames: [username, "nobody"], connections: 100, localAddress: "127.0.0.1" }, async () => {
    await sleep(3000); // until they all wait for their answers
    const took = {
      "known already, from the attackers' address": await timed("publisher", { family: 4, localAddress: "127.0.0.1" }),
      "new, from another address": await timed("subscriber", { family: 4, localAddress: "127.0.0.2" }, { capacity: 1 }),
      "another new one": await timed("admin", { family: 4, localAddress: "127.0.0.3" }),
    };
    // A busy machine needs longer for one scrypt than a second; a hundred would take fifty times as long.
    for (const [who, ms] of Object.entries(took)) assert.ok(ms < Math.max(2000, 20 * calm), `${who}: ${ms} ms, and ${calm} without an attack`);
  });
  assert.deepEqual(Object.keys(counts), ["107"]);
});

test("with every slot in use, a new connection is closed with no message; a slot that is left can be taken at once", { timeout: 60000 }, async () => {
  const [node] = small.info.nodes;
  const open = [];
  for (const role of ["publisher", "subscriber", "admin", "publisher"]) open.push(await until(() => small.client(role, role === "subscriber" ? { capacity: 1 } : {}), undefined, 20));
  for (let i = 0; i < 3; i++) {
    const wire = await Raw.tls(node.url, small.ca);
    wire.write(upgrade(), frame(JSON.stringify(small.login("publisher"))));
    await wire.end();
    assert.deepEqual([wire.frames, wire.closeCode], [[], undefined]);
  }
  for (const client of open) assert.equal(client.closeCode, undefined);
  open[3].socket.close();
  await open[3].closed;
  const again = await until(() => small.publisher(), undefined, 20);
  assert.equal((await again.ask({ body: "x" })).status, "Success.");
  // A saved session takes none of the slots.
  assert.ok((await open[1].message()).id);
  await open[1].drop();
  const next = await until(() => small.publisher(), undefined, 20);
  assert.equal((await next.ask({ body: "y" })).status, "Success.");
  for (const client of [...open, again, next]) client.drop();
});
