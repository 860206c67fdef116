// What a subscriber sends: ack, logout, capacity, and their id and context. HELD, VOLATILE and the other ids are filled in by the test.
import { ABSENT, HUGE, MALFORMED_IDS, NOT_BOOLEAN, UNKNOWN_ID, notWhole, raw } from "./json.mjs";
import { NOT_OBJECTS, NO_CODE, badContexts, notJson, row, rows, several, tooMuch, twice, unknownFields } from "./rows.mjs";

/** Refused by a subscriber that holds the message `held` and the message `nacked`, which has durability 0; the connection stays open. */
export function refused({ held, nacked, elsewhere }) {
  const ack = [["id", raw(held)], ["ack", "1"]];
  return [
    ...rows(ack, "ack", notWhole(0, 1), 302),
    ...rows(ack, "id", [ABSENT, ...MALFORMED_IDS, raw(""), raw(UNKNOWN_ID), ...elsewhere.map(raw)], 301),
    ...rows([["id", raw(held)], ["ack", "0"]], "id", [ABSENT, raw(""), raw(UNKNOWN_ID), ...elsewhere.map(raw)], 301),
    row([["id", raw(nacked)]], "ack", "0", 305), row([["id", raw(nacked)]], "ack", "-0", 305), row([["id", raw(nacked)]], "ack", "0.0e3", 305),
    several(ack, { id: '"nonsense"', ack: "7" }, 301),
    several(ack, { ack: "7", context: "null" }, 101),
    ...rows([], "capacity", notWhole(1, 1024), 300),
    several([], { capacity: "0", context: "[]" }, 101),
    ...rows([], "logout", ["false", ...NOT_BOOLEAN, raw(HUGE)], 303),
    several([], { logout: "false", context: "[]" }, 101),
    row(ack, "ack", ABSENT, 304), row([], "nothing", "1", 304, { cmd: '"getcfg"', body: '"x"' }), row([], "context", "1.50", 304),
    row([], "context", ABSENT, 304), row([], "Ack", "1", 304, { id: raw(held), Logout: "true", "capacity ": "5" }),
    ...badContexts(ack), ...badContexts([["logout", "true"]]), ...badContexts([["capacity", "5"]]), ...badContexts([]),
    ...NOT_OBJECTS.map((text) => ({ name: `no object: ${text.slice(0, 30)}`, text, code: 304 })),
    // Of several requests only the first of logout, ack, capacity is looked at.
    { ...row(ack, "logout", "false", 303), name: "logout goes before ack" },
    { ...row([["capacity", "5"]], "ack", "1", 301), name: "ack goes before capacity" },
  ];
}

/** Closes the connection; each needs one of its own. */
export const CLOSING = [
  ...twice([["id", raw(UNKNOWN_ID)], ["ack", "1"]], "id", "ack"), ...twice([["capacity", "1"]], "capacity"),
  ...twice([["logout", "false"]], "logout"), ...twice([["logout", "false"], ["context", "1"]], "context", "nothing"),
  ...tooMuch([["capacity", "1"]]), ...rows([], "logout", [`${"[".repeat(500)}${"]".repeat(500)}`], 100),
].map((r) => ({ ...r, closes: NO_CODE })).concat(notJson('{"capacity":1}'),
[{ name: "a binary frame", binary: Buffer.from('{"capacity":1}'), code: 100, closes: NO_CODE },
  { name: "an empty binary frame", binary: Buffer.alloc(0), code: 100, closes: NO_CODE }]);

/** A copy subscriber sends nothing: 306, but for a bad context, which is lower. */
export const REFUSED_OF_COPY = [
  row([], "id", raw(UNKNOWN_ID), 306, { ack: "1" }), row([], "logout", "true", 306), row([], "capacity", "3", 306), row([], "capacity", "null", 306),
  row([], "body", '"x"', 306), row([], "nothing", "1", 306),
  row([], "context", "1.50", 306), row([], "context", ABSENT, 306), ...badContexts([]), unknownFields([["capacity", "3"]]),
  ...NOT_OBJECTS.map((text) => ({ name: `no object: ${text.slice(0, 30)}`, text, code: 306 })),
].map((r) => (r.code === 0 ? { ...r, code: 306 } : r));
