// For the tests of the ops endpoint: a strict reader of Prometheus' text format, of expressions over it, and of log lines.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import http from "node:http";
import { join } from "node:path";
import { sleepNow, until } from "./lib.mjs";

/** One request on a connection of its own: {status, headers, text}. */
export async function get(url, { method = "GET", headers = {}, timeout = 15000 } = {}) {
  return new Promise((done, fail) => {
    const request = http.request(url, { method, headers, timeout, agent: false }, (response) => {
      const parts = [];
      response.on("data", (part) => parts.push(part));
      response.on("end", () => done({ status: response.statusCode, headers: response.headers, text: Buffer.concat(parts).toString() }));
      response.on("error", fail);
    });
    request.on("error", fail);
    request.on("timeout", () => request.destroy(new Error(`no answer from ${url}`)));
    request.end();
  });
}

const SAMPLE = /^([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)+)\})? (-?[0-9]+(?:\.[0-9]+)?)$/;
const SUFFIX = { counter: [""], gauge: [""], histogram: ["_bucket", "_sum", "_count"] };

class Family {
  constructor(name, help) {
    this.name = name;
    this.help = help;
    this.samples = []; // {name, labels, value}
  }
}

function checkHistogram(family) {
  const buckets = family.samples.filter((s) => s.name.endsWith("_bucket"));
  const bounds = buckets.map((s) => (s.labels.le === "+Inf" ? Infinity : Number(s.labels.le)));
  const count = family.samples.find((s) => s.name.endsWith("_count")).value;
  for (let i = 1; i < buckets.length; i++) {
    assert.ok(bounds[i] > bounds[i - 1], `${family.name}: bounds ascend`);
    assert.ok(buckets[i].value >= buckets[i - 1].value, `${family.name}: buckets are cumulative`);
  }
  assert.equal(bounds.at(-1), Infinity);
  assert.equal(buckets.at(-1).value, count, `${family.name}: the last bucket is the count`);
}

/** Name to Family of a page in the text format 0.0.4; anything odd is an error. */
export function parseMetrics(text) {
  const families = new Map();
  const seen = new Set();
  let family = null;
  assert.ok(text.endsWith("\n"), "the last line ends");
  for (const line of text.slice(0, -1).split("\n")) {
    let m;
    if ((m = /^# HELP ([a-z_]+) (\S.*)$/.exec(line))) {
      assert.ok(!families.has(m[1]), `${m[1]} stands in one place`);
      family = new Family(m[1], m[2]);
      families.set(m[1], family);
    } else if ((m = /^# TYPE ([a-z_]+) (counter|gauge|histogram)$/.exec(line))) {
      assert.equal(m[1], family.name, "TYPE follows HELP");
      assert.equal(family.type, undefined);
      family.type = m[2];
      assert.equal(m[2] === "counter", m[1].endsWith("_total"), `${m[1]}: counters end in _total`);
    } else {
      m = SAMPLE.exec(line);
      assert.ok(m, `not a sample: ${line}`);
      assert.ok(SUFFIX[family.type].some((s) => m[1] === family.name + s), `${m[1]} is not of ${family.name}`);
      const labels = Object.fromEntries([...(m[2] ?? "").matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/g)].map((l) => [l[1], l[2]]));
      const key = m[1] + JSON.stringify(labels);
      assert.ok(!seen.has(key), `twice: ${line}`);
      seen.add(key);
      family.samples.push({ name: m[1], labels, value: Number(m[3]) });
    }
  }
  for (const f of families.values()) if (f.type === "histogram") checkHistogram(f);
  return families;
}

/** The metrics of a node, now. A core that is busy for a second is told with 503: that is asked again. */
export async function scrape(node) {
  const page = await until(async () => { const now = await get(`${node.http}/metrics`); return now.status !== 503 && now; });
  assert.equal(page.status, 200, page.text);
  assert.equal(page.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8");
  return parseMetrics(page.text);
}

/** The value of the one sample with these labels; undefined when there is none. */
export function value(families, name, labels = {}) {
  const family = families.get(name) ?? families.get(name.replace(/_(bucket|sum|count)$/, ""));
  assert.ok(family, `no metric ${name}`);
  const found = family.samples.filter((s) => s.name === name && Object.entries(labels).every(([k, v]) => s.labels[k] === v));
  assert.ok(found.length <= 1, `${name} with ${JSON.stringify(labels)} is not one sample`);
  return found[0]?.value;
}

/** Every `expr` of the alert rules (each on a line of its own) and of the dashboard: {where, expr}. */
export function expressions(root) {
  const found = [];
  const rules = readFileSync(join(root, "deploy/prometheus/holdfast.rules.yml"), "utf8");
  let alert = "";
  for (const line of rules.split("\n")) {
    const name = /^\s*- alert: (\w+)$/.exec(line);
    const expr = /^\s*expr: (.+)$/.exec(line);
    if (name) alert = name[1];
    if (expr) found.push({ where: `the alert ${alert}`, expr: expr[1] });
  }
  assert.equal(found.length, rules.match(/- alert: /g).length, "every alert has an expression on one line");
  const walk = (node, title) => {
    if (typeof node !== "object" || node === null) return;
    const here = typeof node.title === "string" ? node.title : title;
    if (typeof node.expr === "string") found.push({ where: `the panel ${here}`, expr: node.expr });
    if (node.query?.query) found.push({ where: `the variable ${node.name}`, expr: node.query.query });
    for (const child of Object.values(node)) walk(child, here);
  };
  walk(JSON.parse(readFileSync(join(root, "deploy/grafana/holdfast.json"), "utf8")), "");
  return found;
}

const OF_COUNTERS = /\b(?:rate|irate|increase)\($/;
const OF_PROMETHEUS = new Set(["up"]);

/** What is wrong with an expression, given all families: names, types, labels. Empty when it is right. */
export function faults(expr, families) {
  const out = [];
  const isWellFormed = [..."()", ..."{}", ..."[]"].every((c, i, all) => i % 2 || expr.split(c).length === expr.split(all[i + 1]).length);
  if (!isWellFormed) out.push("brackets do not match");
  for (const m of expr.matchAll(/\b((?:holdfast|process)_[a-z_]+|up)\b(?:\{([^}]*)\})?(\[[^\]]+\])?/g)) {
    const [, name, matchers, range] = m;
    if (OF_PROMETHEUS.has(name)) continue;
    const base = families.has(name) ? name : name.replace(/_(bucket|sum|count)$/, "");
    const family = families.get(base);
    if (!family || (family.type === "histogram") !== (base !== name)) {
      out.push(`there is no metric ${name}`);
      continue;
    }
    const isRising = family.type !== "gauge";
    const isRated = OF_COUNTERS.test(expr.slice(0, m.index));
    if (isRising !== isRated) out.push(`${name} is a ${family.type}: ${isRising ? "take its rate or increase" : "it has no rate"}`);
    if (isRated && !range) out.push(`${name} needs a range`);
    if (name.endsWith("_bucket") !== /histogram_quantile\(/.test(expr)) out.push(`${name}: buckets belong into histogram_quantile, nothing else does`);
    const labels = new Set(["job", "instance", ...family.samples.flatMap((s) => Object.keys(s.labels))]);
    for (const l of (matchers ?? "").matchAll(/([a-z_]+)\s*(?:=~|!~|!=|=)/g)) if (!labels.has(l[1])) out.push(`${name} has no label ${l[1]}`);
  }
  return out;
}

/** A logfmt line as an object; throws when it is none from its first byte to its last. */
export function parseLogfmt(line) {
  const field = /([A-Za-z0-9_.-]+)=("(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|[^\s"=\\]+)( |$)/y;
  const out = {};
  while (field.lastIndex < line.length) {
    const at = field.lastIndex;
    const m = field.exec(line);
    assert.ok(m, `not logfmt at ${at}: ${line}`);
    assert.ok(!(m[1] in out), `${m[1]} stands twice: ${line}`);
    out[m[1]] = m[2].startsWith('"') ? JSON.parse(m[2]) : m[2];
  }
  return out;
}

/** All lines of a node's log as objects; every one has to be a line of the given format. */
export function readLog(node, format = "logfmt") {
  const read = () => readFileSync(join(node.dir, "log"), "utf8");
  let text = read();
  // A line that is being written is seen in parts.
  for (let tries = 0; tries < 100 && text !== "" && !text.endsWith("\n"); tries++) {
    sleepNow(20);
    text = read();
  }
  assert.ok(text === "" || text.endsWith("\n"), "the last line ends");
  return text.split("\n").slice(0, -1).map((line) => {
    const fields = format === "json" ? JSON.parse(line) : parseLogfmt(line);
    assert.match(fields.ts, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/, line);
    assert.match(fields.level, /^(error|warn|info|debug)$/, line);
    assert.match(fields.event, /^[a-z_]+\.[a-z_]+$/, line);
    return fields;
  });
}
