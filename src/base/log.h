/* Log: one line an event, logfmt or JSON, for people and machines.
 *
 *   ts=2026-11-30T12:00:00.123Z level=info node=1 event=leader.elected term=7
 *   {"ts":"2026-11-30T12:00:00.123Z","level":"info","node":1,"event":"leader.elected",
 *    "term":7}                                                   (all in one line)
 *
 * The names of the events are stable: man/holdfastd.8 lists them.
 *
 * Pure code (queue, broker, proto, raft's logic) does not log. No bodies, passwords,
 * message ids or session ids. Values with spaces, quotes or control characters are
 * quoted and escaped, so every line parses from its first byte. Any thread: one write()
 * a line. */
#ifndef HF_BASE_LOG_H
#define HF_BASE_LOG_H

#include "base/log_fields.h"

/* An event without fields is logged with the format "". */
#pragma GCC diagnostic ignored "-Wformat-zero-length"

enum log_level {
    LOG_ERROR,
    LOG_WARN,
    LOG_INFO,
    LOG_DEBUG,
};

/* fd is borrowed and must stay open. node 0 leaves the field out. */
void log_init(int fd, uint64_t node, enum log_level level);
void log_set_level(enum log_level level);
void log_set_format(enum log_format format); /* logfmt at the start */
bool log_enabled(enum log_level level);
/* "error", "warn", "info", "debug"; ST_INVALID else. */
enum status log_level_parse(const char *text, enum log_level *ret_level) MUST_USE;
const char *log_level_name(enum log_level level);
/* "logfmt", "json"; ST_INVALID else. */
enum status log_format_parse(const char *text, enum log_format *ret_format) MUST_USE;
const char *log_format_name(enum log_format format);

/* event: "noun.verb". format makes "key=value key=value"; a value that may hold
 * anything goes through log_quote(). format may be "". A line that would be too long
 * is cut between fields and has cut=true. */
void log_event(enum log_level level, const char *event, const char *format, ...)
    PRINTF_LIKE(3, 4);
/* Quotes text as a logfmt value into one of eight per-thread buffers of 512 bytes
 * (cut with "..." when longer): valid until the eighth call after this one. */
const char *log_quote(const char *text);

#endif
