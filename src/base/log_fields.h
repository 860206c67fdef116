/* Log fields: what a caller of log_event() formatted, `key=value key="a \"value\""`,
 * taken apart and written whole as logfmt or JSON.
 *
 * Whatever comes in, what goes out is well formed: a value that was cut is closed, a
 * control character is escaped or ends a value, what is not UTF-8 is replaced, a field
 * that does not fit is left out as a whole. Pure. */
#ifndef HF_BASE_LOG_FIELDS_H
#define HF_BASE_LOG_FIELDS_H

#include "base/bytes.h"

enum log_format {
    LOG_LOGFMT,
    LOG_JSON,
};

/* A line under way in the caller's memory; no NUL is written. */
struct log_line {
    char *text;
    size_t size;
    size_t room; /* of text */
    enum log_format format;
    bool is_cut; /* something was left out */
};

/* All fields of raw, in order, each behind a blank (logfmt) or a comma (JSON). A key
 * that the head of a line has (ts, level, node, event) gets a "_" behind it. is_cut:
 * raw itself was cut, perhaps inside a value; the last one is marked with "...". */
void log_fields_put(struct log_line *l, struct slice raw, bool is_cut);
/* One field whose value is text as it is, not yet escaped. */
void log_field_put(struct log_line *l, const char *key, const char *text);

#endif
