// The fields of a publish: of a publisher's request, of a login, of an addmsg and of a copy queue.
import { ABSENT, GOOD_CONTEXTS, HUGE, LONE_SURROGATES, NOT_TEXT, TOO_DEEP, notWhole, raw, wholeForms } from "./json.mjs";
import { NOT_OBJECTS, UNKNOWN_FIELDS, badContexts, notJson, row, rows, several, tooMuch, twice } from "./rows.mjs";

const BASE = [["body", '"x"']];
const BINARY = { body: '"aGVsbG8="', type: "2" };
const KEY_CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.:/+=";

const NOT_BASE64 = [
  "a", "aGVsbG8", "aGVsbG8=aGVsbG8=", "=", "==", "====", "a===", "aG=s", "=AAA", "!!!!", "aGVs*G8=", "not base64!", "aGVs bG8=", "aGVsbG8= ",
  " aGVsbG8=", "aGVs\nbG8=", "aGVsbG8=\n", "aGVsbG8=\r\n", "é",
  "aGVs\0G8=", "_-8=", "aGVsbG8==", "AA==A", "ﾡ===", "x".repeat(59999),
].map(raw);

/** Keys with one character that is not allowed, at the front, in the middle and at the end. */
function badKeys() {
  const bad = [];
  for (let c = 0; c < 0x80; c++) if (!KEY_CHARACTERS.includes(String.fromCharCode(c))) bad.push(String.fromCharCode(c));
  return [...bad.map((c) => `k${c}k`), ...["", " ", " k", "k ", "é", "ｋ", "k\u00a0", "k".repeat(129), `${"k".repeat(127)}é`, HUGE]].map(raw);
}

/** What is refused on a distribute queue whichever way it is published. */
export const REFUSED = [
  ...rows(BASE, "body", [...NOT_TEXT, ...LONE_SURROGATES], 200),
  ...rows(BASE, "body", LONE_SURROGATES, 200, { type: "2" }),
  ...rows([["body", '"aGVsbG8="']], "type", notWhole(1, 2), 201),
  ...rows(BASE, "body", NOT_BASE64, 202, { type: "2" }),
  ...rows(BASE, "delay", notWhole(0, 172800), 203),
  ...rows(BASE, "durability", notWhole(0, 2), 204),
  ...rows(BASE, "publisherkey", [...NOT_TEXT, ...LONE_SURROGATES, ...badKeys()], 205),
  ...badContexts(BASE),
  several(BASE, { body: "5", type: "9", delay: "-1", durability: "9", publisherkey: '""' }, 200),
  several(BASE, { publisherkey: '""', durability: "9", delay: "-1", type: "9" }, 201),
  several(BASE, { ...BINARY, body: '"!"', publisherkey: '""', durability: "9", delay: "-1" }, 202),
  several(BASE, { publisherkey: '""', durability: "9", delay: "-1" }, 203),
  several(BASE, { publisherkey: '""', durability: "9" }, 204),
  several(BASE, { body: "5", type: "9", context: "null" }, 101),
  row(BASE, "delay", "-1", 203, { context: "9" }),
];

/** A JSON object must have a body; what else is wrong with it still counts when its code is lower. Not of a login. */
export const NO_BODY = [
  row(BASE, "body", ABSENT, 206),
  row(BASE, "body", ABSENT, 206, { Body: '"x"', bdy: '"x"', "body ": '"x"' }),
  row(BASE, "body", ABSENT, 206, { type: "1", delay: "5", durability: "1", publisherkey: '"k"', context: "1.50" }),
  several([], { type: "3" }, 201),
  several([], { delay: "-1" }, 203),
  several([], { publisherkey: '""' }, 205),
  several([], { context: "null" }, 101),
];

/** Given twice or too deep: whether the connection closes is the role's. */
export const MALFORMED = [
  ...twice([["body", '"x"'], ["type", "1"], ["delay", "1"], ["durability", "1"], ["publisherkey", '"k"'], ["context", "1"]], "body", "type", "delay",
    "durability", "publisherkey", "context", "nothing"),
  ...rows(BASE, "body", [TOO_DEEP], 100), ...rows(BASE, "delay", [TOO_DEEP], 100), ...rows(BASE, "context", [TOO_DEEP], 100), ...tooMuch(BASE),
];

/** A row that is taken, and the message that it makes. */
function good(field, value, message, more) {
  const defaults = { body: "x", type: 1, delay: 0, durability: 1, publisherkey: undefined };
  return { ...row(BASE, field, value, 0, more), message: { ...defaults, ...message } };
}
const goodBody = (body, text = raw(body), more = {}) => good("body", text, { body, ...(more.type ? { type: 2 } : {}) }, more);
const goodWhole = (field, more, message,
  ...values) => wholeForms(...values).map(([value, n]) => good(field, value, { ...message, [field]: n }, more));

const controls = String.fromCharCode(...Array(0x20).keys(), 0x7f);

/** What a copy queue takes too. */
export const TAKEN_ANYWHERE = [
  ...["", " ", "\0", controls, "{}", '{"body":5}', "é€😀\u2028\ufeff", "\uffff", "x".repeat(60000),
    "\u0001".repeat(10000)].map((body) => goodBody(body)),
  ...["\\u0000\\u001f", "\\ud83d\\ude00", "\\/\\b\\f\\n\\r\\t\\\"\\\\", "\\uFFFF\\u00e9"].map((t) => goodBody(JSON.parse(`"${t}"`), `"${t}"`)),
  ...["", "AA==", "AAA=", "AAAA", "aGVsbG8=", "/+8=", KEY_CHARACTERS.slice(0, 62).concat("+/"),
    "A".repeat(60000)].map((body) => goodBody(body, raw(body), { type: "2" })),
  goodBody("/+8=", '"\\/+8="', { type: "2" }), goodBody("AA==", '"\\u0041A=\\u003d"', { type: "2" }),
  ...goodWhole("type", { body: '"AA=="' }, { body: "AA==" }, 1, 2),
  ...GOOD_CONTEXTS.map((context) => good("context", context, {})),
  good("nothing", "null", {}, { username: "5", role: '"admin"', id: "null" }), good("nothing", "null", {}, UNKNOWN_FIELDS),
];

/** What only a distribute queue takes. */
export const TAKEN = [
  ...TAKEN_ANYWHERE,
  ...goodWhole("delay", {}, {}, 0, 1000, 172800),
  ...goodWhole("durability", {}, {}, 0, 1, 2),
  ...["a", "=", "/", KEY_CHARACTERS, "k".repeat(128)].map((key) => good("publisherkey", raw(key), { publisherkey: key })),
  good("publisherkey", '"\\u0061\\/"', { publisherkey: "a/" }), good("publisherkey", `"${"\\u006b".repeat(128)}"`, { publisherkey: "k".repeat(128) }),
  good("body", '"aGVsbG8="', { body: "aGVsbG8=", type: 2, delay: 172800, durability: 2, publisherkey: "order-1234" },
    { type: "2", delay: "172800", durability: "2", publisherkey: '"order-1234"', context: "1.50" }),
];

/** A copy queue refuses these three whatever their value; lower codes still come first. */
export const REFUSED_BY_COPY = [
  ...REFUSED.filter((r) => ![203, 204, 205].includes(r.code) && !r.name.includes("lowest code")), row(BASE, "body", ABSENT, 206),
  row(BASE, "body", ABSENT, 206, { Body: '"x"' }),
  ...[["delay", 207], ["durability", 208],
    ["publisherkey", 209]].flatMap(([field, code]) => rows(BASE, field,
      ["0", "1", "2", "-1", "null", "true", '"k"', '""', "[]", "{}", "1e999", raw(HUGE)], code)),
  several(BASE, { publisherkey: '"k"', durability: "1", delay: "1" }, 207),
  several(BASE, { publisherkey: '"k"', durability: "1" }, 208),
  several(BASE, { delay: "1", type: "3" }, 201),
  several(BASE, { ...BINARY, body: '"!"', delay: "1" }, 202),
  several(BASE, { body: "5", delay: "1" }, 200),
  several([], { delay: "1" }, 206),
  several(BASE, { delay: "1", context: "null" }, 101),
];

/** Text that is no JSON object, or no JSON, is itself the message; so are the bytes of a binary frame. */
export const WHOLE_FRAMES = [
  ...[...NOT_OBJECTS, ...notJson('{"body":"y","delay":-1}', true).map((r) => r.text), "x".repeat(65536),
    "\u0001".repeat(2000)].map((text) => ({ name: `text ${text.slice(0, 30)}`, text, message: { body: text, type: 1 } })),
  ...[Buffer.alloc(0), Buffer.from([0]), Buffer.from([...Array(256).keys()]), Buffer.from('{"body":"x","delay":-1}'), Buffer.from([0xff, 0xc0, 0xaf]),
    Buffer.alloc(65536, 0xa5)].map((binary) => ({
    name: `binary ${binary.length}`, binary, message: { body: binary.toString("base64"), type: 2 },
  })),
].map((r) => ({ ...r, code: 0, message: { delay: 0, durability: 1, publisherkey: undefined, ...r.message } }));
