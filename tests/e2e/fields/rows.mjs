// What a row of a table is, and the rows that several requests share.
//
// A row: what is sent, the code that the manual or the protocol notes name (0: success), and what becomes of the connection: it stays
// open, or it closes with a code (1006: with none, as the manual says). A refused row changes nothing; the groups check that.
import { ABSENT, BAD_CONTEXTS, TOO_DEEP, objectText, shortName, withMembers } from "./json.mjs";

/** "Closes with no close code": what the package ws calls it. */
export const NO_CODE = 1006;

/** One row: base members with field set to value. more: members that this row has beside. */
export function row(base, field, value, code, more = {}) {
  const members = withMembers(withMembers(base, more), { [field]: value });
  const context = members.find(([name, v]) => name === "context" && v !== ABSENT)?.[1];
  const isCopied = code !== 100 && context !== undefined && !BAD_CONTEXTS.includes(context);
  return { name: `${field} = ${shortName(value)}`, members, code, context: isCopied ? context : undefined };
}

export const rows = (base, field, values, code, more) => values.map((value) => row(base, field, value, code, more));

/** A field given twice, the same and another value, also with its name written in another way: code 100. */
export function twice(base, ...fields) {
  return fields.flatMap((field) => {
    const value = base.find(([name]) => name === field)?.[1] ?? "1";
    const escaped = `\\u${field.charCodeAt(0).toString(16).padStart(4, "0")}${field.slice(1)}`;
    const members = withMembers(base, { [field]: value });
    const again = { "with the same value": [field, value], "with null": [field, "null"], "its name written otherwise": [escaped, value] };
    return Object.entries(again).map(([how, member]) => ({ name: `${field} twice, ${how}`, members: [...members, member], code: 100 }));
  });
}

/** Several bad fields give the lowest code. */
export const several = (base, changes,
  code) => ({ name: `${shortName(Object.keys(changes).join(", "))}: the lowest code`, members: withMembers(base, changes), code });

/** Of every request: contexts that are refused. */
export const badContexts = (base) => rows(base, "context", BAD_CONTEXTS, 101);
/** A name that nobody knows, a nested value and a name in another case are no fields; nobody asks whether their texts are whole. */
export const UNKNOWN_FIELDS = {
  nothing: "null", deep: "[[[{}]]]", Body: "5", "": "0", "é": "1e999", TYPE: "9", nested: '{"body":5,"context":null,"a":1,"a":2}',
  "\\ud800": '"\\ud800"', surrogates: '[{"\\udfff":"\\ud800x"}]',
  ...Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`more-${i}`, String(i)])),
};
export const unknownFields = (base) => ({ name: "unknown fields are ignored", members: withMembers(base, UNKNOWN_FIELDS), code: 0 });
/** Nesting that is too deep: code 100; so is a number of fields that no table holds. */
export const tooMuch = (base) => [
  { name: "nesting that is too deep", members: withMembers(base, { nothing: TOO_DEEP }), code: 100 },
  { name: "5000 fields", members: [...base, ...Array.from({ length: 5000 }, (_, i) => [`f${i}`, "0"])], code: 100 },
];

/** Values that are no JSON (RFC 8259), wherever they stand. */
const NO_VALUES = [
  "", "01", "-01", "+1", ".5", "1.", "-", "1e", "1e+", "1.e5", "0x10", "1_000", "NaN", "Infinity", "-Infinity", "True", "nul", "nulll", "undefined",
  "'b'", "b", '"', '"\n"', '"\t"', '"\0"', '"\u0001"',
  '"\u001f"', '"\\x41"', '"\\u12"', '"\\u12g4"', '"\\U0041"', '"\\"', '"\\a"', "[1,]", "[,1]", "[1 2]", "[1", "[", "{", "{a:1}", "{'a':1}", '{"a"}',
  '{"a":}', '{"a":1,}', '{,"a":1}', '{"a":1 "b":2}', '{"a",1}',
  '{"a":1', '{1:"a"}', '{null:"a"}', "[/**/]", "[//\n]", "[\v]", "[1\f]", "[\u00a0]", "[1]]", "}", ":", "1 2", "# 1", "[".repeat(1000),
  '{"a":'.repeat(1000),
];

/** What is no JSON; text is a good request. isAll: bad values at each place, for a connection that need not close for each. */
export function notJson(text, isAll = false) {
  const inner = text.slice(1, -1);
  const texts = [
    "", " ", "Hello", "{", "}", "{}}", text.slice(0, -1), `${text}x`, `${text}${text}`, `${text},`, `${text}\0`, `\ufeff${text}`, `{${inner},}`,
    `{,${inner}}`, `{${inner},"a"}`, `{${inner} "a":1}`, `{${inner},a:1}`,
    `{${inner},'a':1}`, `{${inner},null:1}`, `{${inner},"a\n":1}`, `{${inner},"\\q":1}`, `{${inner}/* */}`, `{${inner}} // `, `\f${text}`, `[${text}`,
    `(${text})`,
    ...(isAll ? NO_VALUES.flatMap((value) => [`{${inner},"a":${value}}`, `{${inner},"a":[${value === "" ? "," : value}]}`,
      `{${inner},"a":{"k":${value}}}`]) : []),
    ...NO_VALUES.map((value, i) => (i % 2 === 0 ? `{${inner},"a":${value}}` : `{${inner},"a":{"k":${value}}}`)).filter((_,
      i) => !isAll && i % 3 === 0),
  ];
  return texts.map((t) => ({ name: `no JSON: ${shortName(JSON.stringify(t))}`, text: t, code: 100, closes: NO_CODE }));
}

/** White space around an object and within it is fine. */
export function spaced(base) {
  const text = objectText(base);
  return [` ${text}`, `${text}\n`, `${text}\r\n`, `\t\r\n ${text} \t\r\n`,
    text.replaceAll(":", " :\n").replace("{", "{ ")].map((t) => ({ name: `white space: ${shortName(JSON.stringify(t))}`, text: t, code: 0 }));
}

/** JSON that is no object. */
export const NOT_OBJECTS = ["null", "true", "false", "0", "-1.5e3", '"text"', "[]", '[{"body":"x","cmd":"getcfg"}]', '["body"]', TOO_DEEP,
  "9".repeat(5000)];

const bytesOf = (text) => Buffer.from(text);
const around = (bad) => Buffer.concat([bytesOf('{"body":"'), Buffer.from(bad), bytesOf('"}')]);
/** Frames that are no text: not UTF-8. The connection closes with 1007 and without a reply. */
export const NOT_UTF8 = [
  [0xff], [0x80], [0xc0, 0xaf], [0xc1, 0xbf], [0xe2, 0x82], [0xed, 0xa0, 0x80], [0xed, 0xbf, 0xbf], [0xe0, 0x80, 0x80], [0xf0, 0x80, 0x80, 0x80],
  [0xf4, 0x90, 0x80, 0x80], [0xf5, 0x80, 0x80, 0x80],
].map((bytes) => ({ name: `not UTF-8: ${Buffer.from(bytes).toString("hex")}`, notText: around(bytes), closes: 1007 }));

/** Frames around the limit of 65536 bytes; make gives a good request of so many bytes. */
export function tooBig(make) {
  return [
    { name: "one byte over max-ws-msg-len", text: make(65537), closes: 1009 },
    { name: "far over max-ws-msg-len", text: make(3 << 20), closes: 1009 },
    { name: "over max-ws-msg-len, binary", binary: Buffer.alloc(65537), closes: 1009 },
  ];
}
