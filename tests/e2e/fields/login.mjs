// The login: its fields, with what each role may add. Every row has a connection of its own, which a failed login closes.
import { ABSENT, GOOD_CONTEXTS, HUGE, LONE_SURROGATES, MALFORMED_IDS, NOT_BOOLEAN, NOT_TEXT, TOO_DEEP, UNKNOWN_ID, notWhole, raw, rawMembers,
  wholeForms } from "./json.mjs";
import { NOT_OBJECTS, NO_CODE, badContexts, notJson, row, rows, several, spaced, tooMuch, twice, unknownFields } from "./rows.mjs";

const closing = (list) => list.map((r) => ({ ...r, closes: NO_CODE }));
const ALIKE = (word) => ["", " ", word.toUpperCase(), word[0].toUpperCase() + word.slice(1), `${word} `, ` ${word}`, `${word}s`, word.slice(1),
  `${word}\0`, "x", HUGE].map(raw);

/** Members of a good login of each role, and of the copy queue. logins: names and passwords. */
export function bases(logins) {
  const base = (role, queuetype, more = {}) => rawMembers({ ...logins[role], role, queuetype, ...more });
  return {
    publisher: base("publisher", "distribute"), subscriber: base("subscriber", "distribute", { capacity: 1 }), admin: base("admin", "distribute"),
    copyPublisher: base("publisher", "copy"), copySubscriber: base("subscriber", "copy"),
    copyAdmin: base("admin", "copy"),
  };
}

/** A name or password: up to 128 bytes, so one byte more is none. */
function secret(base, field, code) {
  const over = [raw("x".repeat(129)), raw("é".repeat(65)), raw(`${"x".repeat(127)}é`), `"${"\\u0041".repeat(129)}"`, raw("\0".repeat(129)),
    raw(HUGE)];
  return rows(base, field, [ABSENT, ...NOT_TEXT, ...LONE_SURROGATES, '""', ...over], code);
}

/** Of 128 bytes and less they are read, and are wrong. Each costs the server a scrypt, so both fields are tried at once. */
const wrongSecrets = (base) => [raw("x".repeat(128)), raw("é".repeat(64)), `"${"\\u0041".repeat(128)}"`,
  '"\\u0000"'].map((value) => row(base, "username", value, 107, { password: value }));

/** Fields that all roles have. */
export function common({ publisher, subscriber, admin, copyAdmin, copySubscriber }) {
  const wrong = { password: '"wrong"' };
  const of = (base) => Object.fromEntries(base.filter(([name]) => name === "username" || name === "password"));
  return closing([
    ...secret(publisher, "username", 103), ...secret(publisher, "password", 104), ...wrongSecrets(publisher), row(admin, "username", '""', 103),
    row(subscriber, "password", "null", 104), row(copySubscriber, "password", "null", 104),
    ...rows(publisher, "role", [ABSENT, ...NOT_TEXT, ...LONE_SURROGATES, ...ALIKE("publisher"), '"administrator"', '"distribute"'], 105),
    ...rows(publisher, "queuetype", [ABSENT, ...NOT_TEXT, ...LONE_SURROGATES, ...ALIKE("distribute"), '"publisher"'], 106),
    row(publisher, "role", '"subscriber"', 107, { capacity: "1" }), row(publisher, "role", '"admin"', 107), row(subscriber, "role", '"admin"', 107),
    row(admin, "role", '"publisher"', 107, { body: '"x"' }),
    row(publisher, "nothing", "1", 107, { ...of(publisher), ...wrong, body: '"x"' }),
    row(copyAdmin, "nothing", "1", 108), row(copyAdmin, "context", "1.50", 108), several(copyAdmin, wrong, 107),
    ...badContexts(publisher), row(subscriber, "context", "null", 101), row(admin, "context", "null", 101), row(copySubscriber, "context", "[]", 101),
    several(publisher, { username: "5", password: "5", role: "5", queuetype: "5", context: "null", capacity: "5" }, 101),
    several(publisher, { username: "5", password: "5", role: "5", queuetype: "5" }, 103),
    several(publisher, { password: "5", role: "5", queuetype: "5" }, 104), several(publisher, { role: "5", queuetype: "5", body: "5" }, 105),
    several(publisher, { queuetype: "5", body: "5" }, 106),
    row(publisher, "password", '"wrong"', 107, { context: "1.50" }),
  ]);
}

/** Capacity, sessionid and replay of a subscriber that has no session to go on with. */
export const subscribing = ({ subscriber }) => closing([
  ...rows(subscriber, "capacity", [ABSENT, ...notWhole(1, 1024)], 300),
  ...rows(subscriber, "sessionid", [...MALFORMED_IDS, '""', raw(UNKNOWN_ID)], 109),
  ...rows(subscriber, "replay", [...NOT_BOOLEAN, raw(HUGE)], 110),
  several(subscriber, { sessionid: "5", replay: "5", capacity: "0" }, 109), several(subscriber, { capacity: "0", replay: "5" }, 110),
  several(subscriber, { capacity: "0", sessionid: "5", context: "null" }, 101),
  several(subscriber, { sessionid: "5", password: '"wrong"' }, 107),
]);

/** What leaves a saved session as it was; sessionid is that of one. */
export const resuming = ({ subscriber }, sessionid) => {
  const base = [...subscriber.filter(([name]) => name !== "capacity"), ["sessionid", raw(sessionid)]];
  return closing([
    ...rows(base, "replay", NOT_BOOLEAN, 110), ...rows(base, "capacity", notWhole(1, 1024), 300), row(base, "context", "null", 101),
    row(base, "password", '"wrong"', 107), row(base, "password", "5", 104), row(base, "role", '"publishers"', 105),
    several(base, { replay: "5", capacity: "0" }, 110), ...twice(base, "sessionid"), ...twice([...base, ["replay", "true"]], "replay"),
  ]);
};

/** Whole frames that are no login. */
export const malformed = ({ publisher, subscriber }, text) => closing([
  ...notJson(text), ...NOT_OBJECTS.map((t) => ({ name: `no object: ${t.slice(0, 30)}`, text: t, code: 100 })),
  ...twice([...publisher, ["context", "1"], ["body", '"x"']], "username", "password", "role", "queuetype", "context", "body", "nothing"),
  ...twice([...subscriber, ["replay", "true"]], "capacity", "replay"),
  ...tooMuch(publisher), ...rows(publisher, "username", [TOO_DEEP], 100),
  { name: "a binary frame", binary: Buffer.from(text), code: 102 }, { name: "an empty binary frame", binary: Buffer.alloc(0), code: 102 },
]);

/** Logins that are good: fields of other roles are nobody's there. keys: the fields of the reply. */
export function taken({ publisher, subscriber, admin, copyPublisher, copySubscriber }) {
  const others = { capacity: "null", sessionid: "5", replay: "7", cmd: "5", id: "null" };
  const message = { body: "5", delay: "-1", type: "9" };
  const good = (base, keys, field = "nothing", value = "1", more = {}) => ({ ...row(base, field, value, 0, more), keys });
  const plain = ["status"];
  const session = ["status", "sessionid"];
  return [
    good(publisher, plain, "nothing", "1", others), good(copyPublisher, plain, "nothing", "1", others),
    good(admin, plain, "nothing", "1", { ...others, ...message }), good(copySubscriber, plain, "nothing", "1", { ...others, ...message }),
    good(subscriber, session, "nothing", "1", message), good(publisher, plain, "delay", "-1", { type: "9", publisherkey: "5" }),
    good(publisher, plain, "role", '"\\u0070ublisher"'), good(publisher, plain, "queuetype", '"distribut\\u0065"'),
    ...wholeForms(1, 1024).map(([value]) => good(subscriber, session, "capacity", value)), good(subscriber, session, "replay", "false"),
    good(subscriber, session, "replay", "true"),
    ...GOOD_CONTEXTS.map((context) => good(publisher, ["context", "status"], "context", context)),
    good(subscriber, ["context", ...session], "context", "1.50"), good(admin, ["context", "status"], "context", '"a"'),
    good(copySubscriber, ["context", "status"], "context", "-0"),
    ...[unknownFields(publisher), ...spaced(publisher)].map((r) => ({ ...r, keys: plain })),
  ];
}
