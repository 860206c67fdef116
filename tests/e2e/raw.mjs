// A client of hand-made bytes: what no WebSocket library would send, and how exactly a connection ends.
import { once } from "node:events";
import net from "node:net";
import tls from "node:tls";
import { randomBytes } from "node:crypto";
import { constants, deflateRawSync, inflateRawSync } from "node:zlib";
import { REPLY_MS, sleep } from "./lib.mjs";

const TAIL = Buffer.from([0, 0, 0xff, 0xff]);

/** A message as permessage-deflate packs it (RFC 7692 section 7.2.1). */
export function pack(data, options = {}) {
  const z = deflateRawSync(data, { finishFlush: constants.Z_SYNC_FLUSH, ...options });
  return z.subarray(0, z.length - TAIL.length);
}

const unpack = (data) => inflateRawSync(Buffer.concat([data, TAIL]), { finishFlush: constants.Z_SYNC_FLUSH });

/** One frame of a client. rsv: 4 is RSV1. length: what the head says, if not the truth. */
export function frame(payload = "", { opcode = 1, fin = true, rsv = 0, masked = true, length } = {}) {
  const data = Buffer.isBuffer(payload) ? payload : Buffer.from(payload);
  const size = length ?? data.length;
  const first = Buffer.from([(fin ? 0x80 : 0) | (rsv << 4) | opcode]);
  const bit = masked ? 0x80 : 0;
  let head;
  if (size < 126) head = Buffer.from([bit | size]);
  else if (size < 65536) head = Buffer.from([bit | 126, size >> 8, size & 255]);
  else {
    head = Buffer.alloc(9, bit | 127);
    head.writeBigUInt64BE(BigInt(size), 1);
  }
  if (!masked) return Buffer.concat([first, head, data]);
  const mask = randomBytes(4);
  const body = Buffer.from(data);
  for (let i = 0; i < body.length; i++) body[i] ^= mask[i & 3];
  return Buffer.concat([first, head, mask, body]);
}

export const closeFrame = (code, reason = "") => {
  const payload = Buffer.alloc(2 + Buffer.byteLength(reason));
  payload.writeUInt16BE(code);
  payload.write(reason, 2);
  return frame(payload, { opcode: 8 });
};

/** The upgrade as text. headers: changed or, with undefined, left out. */
export function upgrade({ line = "GET / HTTP/1.1", host = "localhost", headers = {}, more = "" } = {}) {
  const all = {
    Host: host, Upgrade: "websocket", Connection: "Upgrade",
    "Sec-WebSocket-Key": randomBytes(16).toString("base64"), "Sec-WebSocket-Version": "13", ...headers,
  };
  const lines = Object.entries(all).filter(([, value]) => value !== undefined).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${line}\r\n${lines.join("")}${more}\r\n`;
}

/** A TCP or TLS connection whose bytes and whose end are looked at. */
export class Wire {
  #waiting = [];
  got = Buffer.alloc(0);
  ended = false;  // the server's end of stream came
  closed = false; // and nothing is left of the connection
  error = null;   // a reset, for example

  static async tcp(url, options = {}) {
    const { hostname, port } = new URL(url);
    const socket = net.connect({ host: hostname.replace(/^\[|\]$/g, ""), port: Number(port), allowHalfOpen: true, noDelay: true, ...options });
    return new this(socket).#ready("connect");
  }

  static async tls(url, ca, options = {}) {
    const { hostname, port } = new URL(url);
    const host = hostname.replace(/^\[|\]$/g, "");
    const servername = net.isIP(host) ? undefined : host;
    const socket = tls.connect({ host, port: Number(port), ca, servername, allowHalfOpen: true, noDelay: true, ...options });
    return new this(socket).#ready("secureConnect");
  }

  constructor(socket) {
    this.socket = socket;
    socket.on("data", (data) => { this.got = Buffer.concat([this.got, data]); this.take?.(); this.#wake(); });
    socket.on("end", () => { this.ended = true; this.#wake(); });
    socket.on("error", (error) => { this.error = error; this.#wake(); });
    socket.on("close", () => { this.closed = true; this.#wake(); });
  }

  async #ready(event) {
    await Promise.race([once(this.socket, event), once(this.socket, "close").then(() => { throw this.error ?? new Error("closed"); })]);
    return this;
  }

  #wake() {
    for (const done of this.#waiting.splice(0)) done();
  }

  /** Waits until the condition holds. */
  async until(condition, what, ms = REPLY_MS) {
    const end = Date.now() + ms;
    while (!condition()) {
      const left = end - Date.now();
      if (left <= 0) throw new Error(`not within ${ms} ms: ${what}; got ${JSON.stringify(this.got.toString("latin1").slice(0, 200))}`);
      await Promise.race([new Promise((done) => this.#waiting.push(done)), sleep(left)]);
    }
  }

  write(...parts) {
    if (!this.socket.destroyed) this.socket.write(Buffer.concat(parts.map((part) => (Buffer.isBuffer(part) ? part : Buffer.from(part)))));
  }

  /** Waits for the server's end of stream; a reset is an error. */
  async end(ms) {
    await this.until(() => this.ended || this.closed || this.error, "the end of the connection", ms);
    if (this.error) throw this.error;
    this.socket.destroy();
  }

  /** Waits for any end. */
  async gone(ms) {
    await this.until(() => this.ended || this.closed || this.error, "the end of the connection", ms);
    this.socket.destroy();
  }

  destroy() {
    this.socket.destroy();
  }
}

/** A WebSocket over a wire: frames as they come. */
export class Raw extends Wire {
  head = null;
  frames = [];
  closeCode = undefined; // null: a close frame without a code

  static async open(node, ca, { host = "localhost", extensions, headers, ...options } = {}) {
    const raw = await Raw.tls(node.url, ca, options);
    raw.write(upgrade({ host, headers: { ...headers, "Sec-WebSocket-Extensions": extensions } }));
    await raw.until(() => raw.head !== null || raw.ended || raw.closed, "the answer to the upgrade");
    if (!raw.head?.startsWith("HTTP/1.1 101 ")) throw new Error(`no upgrade: ${raw.head}`);
    return raw;
  }

  get extensions() {
    return /^sec-websocket-extensions: *(.*)$/im.exec(this.head)?.[1];
  }

  take() {
    if (this.head === null) {
      const end = this.got.indexOf("\r\n\r\n");
      if (end < 0) return;
      this.head = this.got.subarray(0, end).toString("latin1");
      this.got = this.got.subarray(end + 4);
    }
    while (this.#frame());
  }

  #frame() {
    if (this.got.length < 2) return false;
    let size = this.got[1] & 127;
    let at = 2;
    if (size === 126) at = 4;
    if (size === 127) at = 10;
    if (this.got.length < at) return false;
    if (at === 4) size = this.got.readUInt16BE(2);
    if (at === 10) size = Number(this.got.readBigUInt64BE(2));
    if (this.got.length < at + size) return false;
    const [first, second] = this.got;
    const payload = Buffer.from(this.got.subarray(at, at + size));
    this.got = this.got.subarray(at + size);
    const isPacked = (first & 0x40) !== 0;
    const opcode = first & 15;
    const f = { opcode, isPacked, fin: (first & 0x80) !== 0, masked: (second & 0x80) !== 0, payload };
    if (opcode === 1) f.json = JSON.parse(String(isPacked ? unpack(payload) : payload));
    if (opcode === 8) this.closeCode = size >= 2 ? payload.readUInt16BE(0) : null;
    this.frames.push(f);
    return true;
  }

  async frame(wanted, what, ms) {
    const find = () => this.frames.findIndex(wanted);
    await this.until(() => find() >= 0 || this.ended || this.closed, what, ms);
    const i = find();
    if (i < 0) throw new Error(`closed (${this.closeCode}) while waiting for ${what}`);
    return this.frames.splice(i, 1)[0];
  }

  async reply(ms) {
    return (await this.frame((f) => f.json?.status !== undefined, "a reply", ms)).json;
  }

  async message(ms) {
    return (await this.frame((f) => f.json?.body !== undefined && f.json.status === undefined, "a message", ms)).json;
  }

  async pong(ms) {
    return (await this.frame((f) => f.opcode === 10, "a pong", ms)).payload;
  }

  text(value) {
    this.write(frame(typeof value === "string" ? value : JSON.stringify(value)));
  }

  async ask(value, ms) {
    this.text(value);
    return this.reply(ms);
  }

  /** Waits for the server's end; gives the code of its close frame (undefined: there was none). */
  async closing(ms) {
    await this.end(ms);
    return this.closeCode;
  }
}
