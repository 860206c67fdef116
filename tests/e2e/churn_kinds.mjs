// The kinds of connections that come and go in churn.test.mjs: how each begins and how it ends.
// Each is async (cluster, node) => done when the client is gone; node counts from 0.
import { randomBytes } from "node:crypto";
import net from "node:net";
import { Duplex } from "node:stream";
import tls from "node:tls";
import { deflateRawSync } from "node:zlib";
import { Client, until } from "./lib.mjs";

const port = (cluster, node) => Number(new URL(cluster.info.nodes[node].url).port);
/** Resolves when a socket has ended in whatever way. */
const ended = (socket) => new Promise((done) => { socket.on("error", () => {}); socket.once("close", done); });

/** A frame's bytes as a client sends them, masked; opcode 0 goes on, 1 is text. */
export function frame(payload, { opcode = 1, fin = true, compressed = false } = {}) {
  const mask = randomBytes(4);
  const head = Buffer.alloc(payload.length < 126 ? 2 : 4);
  head[0] = (fin ? 0x80 : 0) | (compressed ? 0x40 : 0) | opcode;
  head[1] = 0x80 | (payload.length < 126 ? payload.length : 126);
  if (payload.length >= 126) head.writeUInt16BE(payload.length, 2);
  return Buffer.concat([head, mask, payload.map((byte, i) => byte ^ mask[i & 3])]);
}

const text = JSON.stringify({ body: randomBytes(6000).toString("hex") });
const deflated = deflateRawSync(Buffer.from(text)).subarray(0, 6000);

/**
 * Logs in with compression on, sends the first fragment of a compressed message and half of the second, and is gone.
 * The pong between them says that the server has inflated the first one. at: 0 while the login itself comes in pieces.
 */
export async function cutMidMessage(cluster, node, role = "publisher") {
  const client = role ? await cluster.client(role, { node, ...(role === "subscriber" && { capacity: 1 }) }) : await Client.open(cluster.info.nodes[node].url, cluster.ca);
  if (!client.socket.extensions.includes("permessage-deflate")) throw new Error("not compressed");
  const socket = client.socket._socket;
  socket.write(frame(deflated.subarray(0, 3000), { fin: false, compressed: true }));
  const pong = new Promise((done, fail) => { client.socket.once("pong", done); client.socket.once("close", () => fail(new Error("closed before the pong"))); });
  client.socket.ping();
  await pong;
  const second = frame(deflated.subarray(3000), { opcode: 0 });
  await new Promise((done) => socket.write(second.subarray(0, second.length / 2), done));
  await client.drop();
}

async function close(client) {
  client.socket.close();
  await client.closed;
}

async function loginFails(cluster, node, fields, code) {
  const client = await Client.open(cluster.info.nodes[node].url, cluster.ca);
  const reply = await client.ask(typeof fields === "string" ? fields : cluster.login(fields.role, fields));
  if (reply.code !== code) throw new Error(`${JSON.stringify(reply)} instead of ${code}`);
  await client.closed;
}

/** A TCP connection that sends these bytes and is cut, or waits until the server has had enough. */
async function bare(cluster, node, bytes, isPatient = false) {
  const socket = net.connect(port(cluster, node), "127.0.0.1");
  const end = ended(socket);
  socket.write(bytes, () => isPatient || socket.destroy());
  socket.resume();
  await end;
}

/** A handshake that is cut when the server has sent its part. */
async function halfHandshake(cluster, node) {
  const socket = net.connect(port(cluster, node), "127.0.0.1");
  const end = ended(socket);
  const pipe = new Duplex({ read() {}, write(chunk, encoding, done) { socket.write(chunk, done); } });
  tls.connect({ socket: pipe, ca: cluster.ca, servername: "localhost" }).on("error", () => {});
  socket.once("data", () => socket.destroy());
  await end;
}

/** TLS, and then these bytes. */
async function overTls(cluster, node, bytes, isPatient = false) {
  const socket = tls.connect({ port: port(cluster, node), host: "localhost", ca: cluster.ca, servername: "localhost" });
  const end = ended(socket);
  socket.once("secureConnect", () => socket.write(bytes, () => isPatient || socket.destroy()));
  socket.resume();
  await end;
}

const hello = Buffer.concat([Buffer.from([0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3]), randomBytes(32)]);

async function takeAll(client, count) {
  const messages = [];
  for (let i = 0; i < count; i++) messages.push(await client.message());
  return messages;
}

/** Messages that a wave takes: enough must be waiting when it begins. */
export const CAPACITY = 3;

export const kinds = {
  "publisher, closes": async (cluster, node) => {
    const client = await cluster.publisher({ node });
    for (const durability of [0, 1, 2]) await client.ask({ body: "churn", durability });
    await close(client);
  },
  "publisher, drops with replies on their way": async (cluster, node) => {
    const client = await cluster.publisher({ node });
    for (let i = 0; i < 3; i++) client.send({ body: "churn", durability: i });
    await client.drop();
  },
  "publishes in the login": async (cluster, node) => {
    const client = await Client.open(cluster.info.nodes[node].url, cluster.ca);
    client.send(cluster.login("publisher", { body: "in the login" }));
    await client.reply();
    await close(client);
  },
  "subscriber, logs out": async (cluster, node) => {
    const client = await cluster.subscriber(CAPACITY, { node });
    for (const { id } of await takeAll(client, 2)) await client.ask({ id, ack: 1 });
    await client.ask({ logout: true });
    await client.closed;
  },
  "subscriber, drops with messages held": async (cluster, node) => {
    const client = await cluster.subscriber(CAPACITY, { node });
    await takeAll(client, CAPACITY);
    await client.drop();
  },
  "subscriber, drops at once": async (cluster, node) => {
    const client = await cluster.subscriber(CAPACITY, { node });
    await client.drop();
  },
  "subscriber, comes back and logs out": async (cluster, node) => {
    const client = await cluster.subscriber(1, { node });
    await client.message();
    await client.drop();
    const sessionid = client.loginReply.sessionid;
    const again = await until(() => cluster.client("subscriber", { node: (node + 1) % 3, sessionid, replay: true }), undefined, 20);
    await again.message();
    await again.ask({ logout: true });
    await again.closed;
  },
  "administrator, pushes on": async (cluster, node) => {
    const client = await cluster.admin({ node });
    await client.ask({ cmd: "getlivestats", subscribe: 30 });
    await client.ask({ cmd: "getmsgs", after: "", count: 100 });
    await client.drop();
  },
  "copy publisher": async (cluster, node) => {
    const client = await cluster.publisher({ node, queuetype: "copy" });
    await client.ask({ body: "copied" });
    await close(client);
  },
  "copy subscriber": async (cluster, node) => {
    const client = await cluster.client("subscriber", { node, queuetype: "copy" });
    await client.drop();
  },
  "wrong password": (cluster, node) => loginFails(cluster, node, { role: "publisher", password: "wrong" }, 107),
  "wrong queue type": (cluster, node) => loginFails(cluster, node, { role: "admin", queuetype: "copy" }, 108),
  "wrong session": (cluster, node) => loginFails(cluster, node, { role: "subscriber", sessionid: "01a1c09f-64be-7000-99d3-a74b8cef2465" }, 109),
  "wrong capacity": (cluster, node) => loginFails(cluster, node, { role: "subscriber", capacity: 0 }, 300),
  "no JSON": (cluster, node) => loginFails(cluster, node, "hello", 100),
  "drops while the password is checked": async (cluster, node) => {
    const client = await Client.open(cluster.info.nodes[node].url, cluster.ca);
    client.send(cluster.login("publisher", { password: "wrong too" }));
    await client.drop();
  },
  "bare TCP": (cluster, node) => bare(cluster, node, Buffer.alloc(0)),
  "half a ClientHello": (cluster, node) => bare(cluster, node, hello),
  "half a ClientHello, waits": (cluster, node) => bare(cluster, node, hello, true),
  "half a handshake": halfHandshake,
  "half an upgrade": (cluster, node) => overTls(cluster, node, "GET / HTTP/1.1\r\nHost: localhost\r\n"),
  "half an upgrade, waits": (cluster, node) => overTls(cluster, node, "GET / HTTP/1.1\r\nHost: localhost\r\n", true),
  "no HTTP": (cluster, node) => overTls(cluster, node, "hello\r\n\r\n", true),
  "no login": async (cluster, node) => (await Client.open(cluster.info.nodes[node].url, cluster.ca)).drop(),
  "cut in a login": (cluster, node) => cutMidMessage(cluster, node, ""),
  "cut in a publish": (cluster, node) => cutMidMessage(cluster, node, "publisher"),
  "cut in an ack": (cluster, node) => cutMidMessage(cluster, node, "subscriber"),
  "cut in a command": (cluster, node) => cutMidMessage(cluster, node, "admin"),
};
