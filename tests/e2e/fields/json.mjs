// Requests as text. Values are raw JSON, so that a table can say 1e999, 1.0, -0, a field that is given twice or not at all.

/** A field that is not there. */
export const ABSENT = Symbol("absent");

/** Any value as raw JSON. */
export const raw = (value) => JSON.stringify(value);
export const rawMembers = (object) => Object.entries(object).map(([name, value]) => [name, raw(value)]);

/** The text of an object; members are pairs of a name and raw JSON. A name with a backslash is taken as it is written. */
export function objectText(members) {
  const written = members.filter(([, value]) => value !== ABSENT).map(([name, value]) => `${name.includes("\\") ? `"${name}"` : raw(name)}:${value}`);
  return `{${written.join(",")}}`;
}

/** Members with some of them changed, or added at the end. */
export function withMembers(members, changes) {
  const left = new Map(Object.entries(changes));
  const out = members.map(([name, value]) => {
    const changed = left.has(name) ? left.get(name) : value;
    left.delete(name);
    return [name, changed];
  });
  return [...out, ...left];
}

/** A short name for a raw value in a report. */
export function shortName(value) {
  if (value === ABSENT) return "absent";
  const text = Buffer.isBuffer(value) ? `bytes ${value.subarray(0, 24).toString("hex")}` : String(value);
  return text.length > 48 ? `${text.slice(0, 40)}... (${text.length})` : text;
}

const unique = (list) => [...new Set(list)];
const nested = (levels) => "[".repeat(levels) + "]".repeat(levels);

export const HUGE = "x".repeat(60000);
/** Deeper than any reader has to go, and still JSON. */
export const TOO_DEEP = nested(1000);
/** Exponents and digits that no machine's number holds. */
export const HUGE_NUMBERS = ["1e999", "-1e999", "1e-999", "1e99999999999999999999", "9".repeat(60000), `0.${"3".repeat(60000)}`];

export const NOT_TEXT = ["null", "true", "false", "0", "1", "-1", "1.5", "1e999", "[]", '["a"]', "{}", '{"a":1}', nested(20)];
export const LONE_SURROGATES = ['"\\ud800"', '"\\udfff"', '"a\\udc00b"', '"\\ud800\\u0041"', '"\\udc00\\ud800"', '"\\ud83d\\ud83d\\ude00"'];
export const NOT_BOOLEAN = ["null", "0", "1", "-0", '"true"', '"false"', '""', "[]", "[true]", "{}", "1e999"];
export const NOT_NUMBER = ["null", "true", "false", '""', '"0"', '"1"', '"30"', "[]", "[1]", "{}", '{"a":1}', raw(HUGE)];
const NOT_WHOLE = ["0.5", "-0.5", "1.5", "1e-1", "1.0000000000000000000001", "0.99999999999999999999", ...HUGE_NUMBERS];

/**
 * What a field for a whole number from least to most must refuse: other types, fractions, one below, one above, far away, and values
 * that would be inside if they were cut to 32 or 64 bits.
 */
export function notWhole(least, most) {
  const outside = [least - 1, most + 1, -1, -most, most * 1000].filter((n) => n < least || n > most).map((n) => String(n === 0 ? 0 : n));
  const wrapped = [16n, 32n, 63n, 64n].flatMap((bits) => [BigInt(least) + 2n ** bits, BigInt(most) - 2n ** bits]).map(String);
  const zero = least > 0 ? ["0", "-0", "0.0", "0e0"] : [];
  return unique([...NOT_NUMBER, ...NOT_WHOLE, ...outside, ...wrapped.filter((n) => BigInt(n) < least || BigInt(n) > most), ...zero]);
}

/** The ways to write a whole number, for values that are taken: pairs of raw JSON and what it means. */
export function wholeForms(...values) {
  return values.flatMap((n) => [
    [`${n}`, n], [`${n}.0`, n], [`${n}.000`, n], [`${n}e0`, n], [`${n}E+0`, n], [`${n}.0e-0`, n],
    ...(n === 0 ? [["-0", 0], ["-0.0", 0], ["0e-1", 0]] : [[`${n}0e-1`, n], [`0.${n}e${String(n).length}`, n]]),
  ]);
}

/** Ids that nothing has: wrong type, empty, malformed, huge, and one that is well formed. */
export const UNKNOWN_ID = "01a1c09f-62da-7000-a30b-0817c9a42e3f";
export const MALFORMED_IDS = [
  ...NOT_TEXT, ...LONE_SURROGATES,
  ...["nonsense", " ", "0", UNKNOWN_ID.slice(1), `${UNKNOWN_ID}0`, ` ${UNKNOWN_ID}`, UNKNOWN_ID.replace("f", "g"), UNKNOWN_ID.replaceAll("-", ""),
    UNKNOWN_ID.replaceAll("-", "_"),
    `{${UNKNOWN_ID}}`, `${UNKNOWN_ID}\0`, HUGE].map(raw),
];

/** Contexts that are refused with 101, in any request. */
export const BAD_CONTEXTS = [
  "null", "true", "false", "[]", "[1]", "{}", '{"a":1}', raw("c".repeat(257)), raw("é".repeat(129)), raw(`${"c".repeat(254)}€`),
  `"${"\\u0041".repeat(257)}"`, raw(HUGE), "9".repeat(257),
  `-${"9".repeat(256)}`, "9".repeat(60000), `1e${"0".repeat(255)}`, ...LONE_SURROGATES,
];
/** Contexts that come back, numbers character for character. */
export const GOOD_CONTEXTS = [
  "0", "7", "-0", "-1", "1.0", "1.50", "1e0", "1E+2", "1e999", "-1e-999", "12345678901234567890123", "9".repeat(256), '""', '" "', '"7"', '"null"',
  raw("c".repeat(256)), raw("é".repeat(128)),
  raw(`${"c".repeat(253)}€`), `"${"\\u0041".repeat(256)}"`, '"\\u0000"', '"\\ud83d\\ude00"', '"quote \\" \\\\ \\/ \\t é"',
];
