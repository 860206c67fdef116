// setcfg: each setting of the manual's two tables.
import { HUGE_NUMBERS, NOT_NUMBER, raw } from "./json.mjs";
import { badContexts, row, rows, several, unknownFields } from "./rows.mjs";

export const WRITABLE = {
  "max-ws-msg-len": [1024, 1048576], "max-subscriber-capacity": [1, 1024], "saved-session-timeout-secs": [10, 86400],
  "no-reply-timeout-secs": [1, 300], "stats-frequency-secs": [300, 3600],
  "stats-retention-period-yrs": [1, 10], "usage-frequency-secs": [1800, 86400], "usage-retention-period-yrs": [1, 20],
};
export const READ_ONLY = ["max-tasks", "max-messages", "max-messages-memory", "messages-memory-used", "max-write-queue-bytes", "message-timeout-secs",
  "log-level"];

const BASE = [["cmd", '"setcfg"']];

/** For settings only plain integers; of the others, values that the field's range would have. */
function badValues([least, most]) {
  const forms = [least, most].flatMap((n) => [`${n}.0`, `${n}e0`, `${n}E0`, `${n}0e-1`, `${n}.5`, raw(String(n))]);
  const outside = [least - 1, most + 1, -1, -least, -most, most * 1000].map(String);
  const wrapped = [16n, 32n, 63n,
    64n].flatMap((bits) => [BigInt(least) + 2n ** bits, BigInt(most) - 2n ** bits]).filter((n) => n < least || n > most).map(String);
  return [...new Set([...NOT_NUMBER, ...HUGE_NUMBERS, ...forms, ...outside, ...wrapped, "0", "-0", "0.0"])];
}

export const REFUSED = [
  ...Object.entries(WRITABLE).flatMap(([name, range]) => rows(BASE, name, badValues(range), 414)),
  ...READ_ONLY.flatMap((name) => rows(BASE, name, ["1000", "1", "0", "-1", "null", "1.5", "1e999", "true", '"info"', '""', "[]", "{}"], 415)),
  row(BASE, "nothing", "1", 416), row(BASE, "MAX-WS-MSG-LEN", "5000", 416), row(BASE, "max-ws-msg-len ", "5000", 416),
  row(BASE, "cmd", '"setcfg"', 416), row(BASE, "", "5000", 416), row(BASE, "max_ws_msg_len", "5000", 416),
  ...badContexts([...BASE, ["no-reply-timeout-secs", "20"]]),
  several(BASE, { "no-reply-timeout-secs": "0", "max-tasks": "5" }, 414), several(BASE, { "max-tasks": "5", "no-reply-timeout-secs": "0" }, 414),
  several(BASE, { "no-reply-timeout-secs": "0", context: "null" }, 101),
];

/** One that is wrong among those that are right, at each place: nothing is applied. */
export const MIXED = Object.entries(WRITABLE).flatMap(([name, [least, most]], i, all) => {
  const others = all.filter((_, j) => j !== i).map(([other, [l]]) => [other, String(l + 1)]);
  const at = (member, code, place) => ({ name: `${member.join(" = ")} among good ones, at ${place}`,
    members: [...BASE, ...others.slice(0, place), member, ...others.slice(place)], code });
  return [at([name, String(most + 1)], 414, 0), at([name, String(least - 1)], 414, others.length), at([name, "null"], 414, 3),
    at([READ_ONLY[i % READ_ONLY.length], "1"], 415, i)];
});

/** Each setting alone at both ends, and all of them at once. */
export const TAKEN = [
  ...Object.entries(WRITABLE).flatMap(([name,
    range]) => range.map((value) => ({ ...row(BASE, name, String(value), 0), settings: { [name]: value } }))),
  ...[0, 1].map((end) => {
    const settings = Object.fromEntries(Object.entries(WRITABLE).map(([name, range]) => [name, range[end]]));
    return { name: `all at their ${end === 0 ? "least" : "most"}`, members: [...BASE, ...Object.entries(settings).map(([n, v]) => [n, String(v)])],
      code: 0, settings };
  }),
  { ...unknownFields([...BASE, ["no-reply-timeout-secs", "21"]]), settings: { "no-reply-timeout-secs": 21 } },
  { ...row(BASE, "no-reply-timeout-secs", "22", 0, { context: "1.50" }), settings: { "no-reply-timeout-secs": 22 } },
];
