import { WebSocket } from "../../e2e/ws.mjs";

// No reply came: the operation may or may not have happened.
export class Unknown extends Error {}

// One connection. Replies are matched by "context".
export class Link {
  constructor({ url, ca, servername, insecure = false, deflate = true, opTimeoutMs = 8000, onFrame = () => {}, onShut = () => {} }) {
    Object.assign(this, { url, opTimeoutMs, onFrame, onShut });
    this.pending = new Map();
    this.next = 1;
    this.shut = false;
    this.opened = false;
    this.quiet = false;
    this.ws = new WebSocket(url, {
      ca,
      servername,
      rejectUnauthorized: !insecure,
      perMessageDeflate: deflate,
      handshakeTimeout: opTimeoutMs,
      maxPayload: 16 * 1024 * 1024,
    });
    this.ready = new Promise((resolve, reject) => {
      this.ws.once("open", () => {
        this.opened = true;
        resolve(this);
      });
      this.ws.once("close", () => reject(new Unknown("closed")));
      this.ws.on("error", (error) => reject(error));
    });
    this.ready.catch(() => {});
    this.ws.on("close", (code, reason) => this.#end("server", code, String(reason)));
    this.ws.on("message", (data) => this.#frame(data));
  }

  #frame(data) {
    if (this.shut) return;
    let frame;
    try {
      frame = JSON.parse(String(data));
    } catch {
      this.onFrame({ broken: true });
      return;
    }
    if (frame.status !== undefined && frame.context !== undefined) {
      const waiter = this.pending.get(frame.context);
      if (waiter) {
        this.pending.delete(frame.context);
        clearTimeout(waiter.timer);
        waiter.resolve(frame);
      }
      return;
    }
    if (frame.body !== undefined || frame.deleted || frame.movedtodlq) this.onFrame(frame);
    else if (frame.status === "Failure." && this.pending.size === 1) {
      // A refused login may come without the context, if the request could not be read.
      const [[key, waiter]] = this.pending;
      this.pending.delete(key);
      clearTimeout(waiter.timer);
      waiter.resolve(frame);
    }
  }

  #end(how, code, reason) {
    if (this.shut) return;
    this.shut = true;
    this.how = this.how ?? how;
    for (const waiter of this.pending.values()) {
      clearTimeout(waiter.timer);
      waiter.reject(new Unknown(`closed ${code ?? ""}`));
    }
    this.pending.clear();
    this.onShut(this.how, code, reason);
  }

  request(fields, timeoutMs = this.opTimeoutMs) {
    if (this.shut) return Promise.reject(new Unknown("closed"));
    const context = this.next++;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.pending.delete(context);
        reject(new Unknown("no reply in time"));
        this.drop("timeout");
      }, timeoutMs);
      this.pending.set(context, { resolve, reject, timer });
      this.ws.send(JSON.stringify({ ...fields, context }), (error) => {
        if (error && this.pending.delete(context)) {
          clearTimeout(timer);
          reject(new Unknown(error.message));
        }
      });
    });
  }

  // Breaks the connection without a WebSocket close, as a cable would.
  drop(how = "drop") {
    if (this.shut) return;
    this.how = how;
    this.#end(how);
    this.ws.terminate();
  }
}
