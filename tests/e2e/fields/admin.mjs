// The administrators' commands and each of their parameters.
import { ABSENT, GOOD_CONTEXTS, HUGE, MALFORMED_IDS, NOT_BOOLEAN, NOT_TEXT, LONE_SURROGATES, TOO_DEEP, UNKNOWN_ID, notWhole, raw,
  wholeForms } from "./json.mjs";
import { NOT_OBJECTS, NO_CODE, badContexts, notJson, row, rows, several, spaced, tooMuch, twice, unknownFields } from "./rows.mjs";

const command = (cmd, members = []) => [["cmd", raw(cmd)], ...members];

export const COMMAND = [
  ...rows(command("getcfg"), "cmd",
    [ABSENT, ...NOT_TEXT, ...LONE_SURROGATES, ...["", " ", "nothing", "GetCfg", "getcfg ", "getcfg\0", "get", "getcfgs", "publish", HUGE].map(raw)],
    400),
  several(command("nothing"), { context: "null" }, 101),
  row(command("nothing"), "context", "1.50", 400),
  ...badContexts(command("getcfg")), ...badContexts(command("getlivestats")),
  ...NOT_OBJECTS.map((text) => ({ name: `no object: ${text.slice(0, 30)}`, text, code: 400 })),
];

export const COMMAND_TAKEN = [
  ...GOOD_CONTEXTS.map((context) => row(command("getlivestats"), "context", context, 0)),
  row([], "cmd", '"\\u0067etcfg"', 0), unknownFields(command("getcfg")), unknownFields(command("getlivestats")), ...spaced(command("getcfg")),
  row(command("getcfg"), "subscribe", "null", 0, { id: "5", count: "-1", after: "null", before: "5", year: "{}" }),
];

const live = command("getlivestats");
/** In this order, on one connection: each row stands on those before it. */
export const SUBSCRIBE = [
  ...rows(live, "subscribe", notWhole(0, 900), 401), ...rows(live, "subscribe", ["1", "29", "29.0", "2.9e1"], 401),
  several(live, { subscribe: "29", context: "null" }, 101),
  ...rows(live, "subscribe", wholeForms(0).map(([value]) => value), 403), row(live, "subscribe", ABSENT, 0),
  ...wholeForms(30, 31, 899, 900).flatMap(([value]) => [
    row(live, "subscribe", value, 0, { context: '"on"' }), row(live, "subscribe", value, 402), row(live, "subscribe", "29", 401),
    row(live, "subscribe", "null", 401), row(live, "subscribe", ABSENT, 0),
    row(live, "subscribe", "0", 0), row(live, "subscribe", "0", 403),
  ]),
];

/** getstats and getusage; today is a day that has data, [year, month, day]. */
export function history(cmd, flag, today) {
  const [year, month, day] = today.map(String);
  const base = command(cmd, [[flag, "false"], ["year", year], ["month", month], ["day", day]]);
  const date = (y, m, d, code) => ({ ...row(base, "year", String(y), code, { month: String(m), day: String(d) }), name: `the day ${y}-${m}-${d}` });
  const later = today[0] + 1;
  return [
    ...rows(base, "year", [ABSENT, ...notWhole(1970, 9999).filter((v) => v !== "1969" && v !== "10000")], 404),
    ...rows(base, "month", [ABSENT, ...notWhole(1, 12)], 405),
    ...rows(base, "day", [ABSENT, ...notWhole(1, 31)], 406),
    ...[[later, 4, 31], [later, 6, 31], [later, 9, 31], [later, 11, 31], [later, 2, 30], [2100, 2, 29], [2400, 2, 30]].map((d) => date(...d, 406)),
    ...[[2400, 2, 29], [2104, 2, 29], [later, 1, 31], [later, 12, 31]].map((d) => ({ ...date(...d, 0), reply: '{"status":"Success.","csv":""}' })),
    ...[[2000, 1, 1], [2000, 2, 29], [today[0] - 1, 12, 31], [1970, 1, 1]].map((d) => date(...d, 407)),
    ...rows(base, flag, [ABSENT, ...NOT_BOOLEAN, raw(HUGE)], 408),
    row(base, flag, ABSENT, 408, { [flag === "totals" ? "average" : "totals"]: "true" }),
    several(base, { year: "null", month: "13", day: "0", [flag]: "0" }, 404), several(base, { month: "13", day: "0", [flag]: "0" }, 405),
    several(base, { day: "0", [flag]: "0" }, 406),
    several(base, { year: "2000", [flag]: "0" }, 407), several(base, { year: "null", context: "{}" }, 101),
    row(base, flag, "true", 0), row(base, flag, "false", 0),
    ...["year", "month", "day"].flatMap((field, i) => wholeForms(today[i]).map(([value]) => row(base, field, value, 0))),
    ...badContexts(base), unknownFields(base),
  ];
}

/** getmsgs and getdlqmsgs; id is that of a message in the list. */
export function page(cmd, id) {
  const base = command(cmd, [["after", '""'], ["count", "20"]]);
  const before = (value) => ({ after: ABSENT, before: value });
  return [
    ...rows(base, "after", MALFORMED_IDS, 411), ...MALFORMED_IDS.map((value) => row(base, "before", value, 410, { after: ABSENT })),
    row(base, "after", ABSENT, 409), ...["", id, UNKNOWN_ID].map((value) => row(base, "before", raw(value), 409)), row(base, "before", "null", 409),
    row(base, "after", "null", 409, { before: '""' }),
    ...rows(base, "count", [ABSENT, ...notWhole(1, 1600)], 412),
    several(base, { after: ABSENT, count: "0" }, 409), several(base, { after: "5", count: "0" }, 411),
    several(base, { ...before("5"), count: "0" }, 410), several(base, { after: "5", context: "null" }, 101),
    ...["", id, UNKNOWN_ID, "ffffffff-ffff-7fff-bfff-ffffffffffff",
      "00000000-0000-7000-8000-000000000000"].flatMap((value) => [row(base, "after", raw(value), 0),
        row(base, "before", raw(value), 0, { after: ABSENT })]),
    ...wholeForms(1, 1600).map(([value]) => row(base, "count", value, 0)), ...badContexts(base), unknownFields(base),
  ];
}

/** getmsg, delmsg, movetodlq, getdlqmsg, deldlqmsg; others: ids that are not where the command looks. */
export function message(cmd, id, others) {
  const base = command(cmd, [["id", raw(id)]]);
  return [
    ...rows(base, "id", [ABSENT, raw(""), ...MALFORMED_IDS, raw(UNKNOWN_ID), ...others.map(raw)], 301),
    several(base, { id: "5", context: "null" }, 101), row(base, "id", raw(UNKNOWN_ID), 301, { context: "1.50" }), ...badContexts(base),
  ];
}

/** Closes the connection; each needs one of its own. */
export const CLOSING = [
  ...twice(command("getcfg"), "cmd"), ...twice(command("getcfg", [["context", "1"]]), "context", "nothing"),
  ...twice(command("getlivestats", [["subscribe", "30"]]), "subscribe"),
  ...twice(command("getstats", [["average", "true"], ["year", "2026"], ["month", "1"], ["day", "1"]]), "average", "year", "month", "day"),
  ...twice(command("getusage", [["totals", "true"]]), "totals"),
  ...twice(command("getmsgs", [["after", '""'], ["count", "1"]]), "after", "count"), ...twice(command("getmsgs", [["before", '""']]), "before"),
  ...twice(command("delmsg", [["id", raw(UNKNOWN_ID)]]), "id"),
  ...twice(command("setcfg", [["no-reply-timeout-secs", "20"]]), "no-reply-timeout-secs"), ...tooMuch(command("getcfg")),
  ...rows(command("setcfg"), "max-ws-msg-len", [TOO_DEEP], 100),
].map((r) => ({ ...r, closes: NO_CODE })).concat(notJson('{"cmd":"getcfg"}'),
[{ name: "a binary frame", binary: Buffer.from('{"cmd":"getcfg"}'), code: 100, closes: NO_CODE },
  { name: "an empty binary frame", binary: Buffer.alloc(0), code: 100, closes: NO_CODE }]);
