/* Log: one line an event to one file descriptor.
 *
 * Not buffered, not rotated, no second target: systemd's journal, or whoever holds the
 * other end, does that. A line that cannot be written is lost: there is nobody to tell.
 *
 * The settings are the one mutable state of the process outside struct node. They are
 * atomics and not exported: every thread logs, and HUP changes the level under way.
 *
 * Invariants: a line is at most LINE_MAX_BYTES with its newline, has no other control
 * character, and is well formed, whatever the caller's format brought in. */
#include "base/log.h"

#include "base/bytes.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINE_MAX_BYTES   4096
#define RAW_MAX_BYTES    (LINE_MAX_BYTES - 256) /* fields as they were formatted */
#define TAIL             ",\"cut\":\"true\"}\n"
#define QUOTES           8
#define QUOTE_BYTES      512
#define CUT_MARK         "..."
#define CUT_MARK_BYTES   3
#define ESCAPE_MAX_BYTES 6

static struct {
    _Atomic int fd;
    _Atomic uint64_t node;
    _Atomic int level;
    _Atomic int format;
} settings = {STDERR_FILENO, 0, LOG_INFO, LOG_LOGFMT};

void
log_init(int fd, uint64_t node, enum log_level level)
{
    atomic_store(&settings.fd, fd);
    atomic_store(&settings.node, node);
    log_set_level(level);
}

void
log_set_level(enum log_level level)
{
    atomic_store_explicit(&settings.level, (int)level, memory_order_relaxed);
}

void
log_set_format(enum log_format format)
{
    atomic_store_explicit(&settings.format, (int)format, memory_order_relaxed);
}

bool
log_enabled(enum log_level level)
{
    return (int)level <= atomic_load_explicit(&settings.level, memory_order_relaxed);
}

const char *
log_level_name(enum log_level level)
{
    switch (level) {
    case LOG_ERROR:
        return "error";
    case LOG_WARN:
        return "warn";
    case LOG_INFO:
        return "info";
    case LOG_DEBUG:
        return "debug";
    }
    return "unknown";
}

enum status
log_level_parse(const char *text, enum log_level *ret_level)
{
    for (int i = LOG_ERROR; i <= LOG_DEBUG; i++) {
        if (strcmp(text, log_level_name((enum log_level)i)) == 0) {
            *ret_level = (enum log_level)i;
            return ST_OK;
        }
    }
    return ST_INVALID;
}

const char *
log_format_name(enum log_format format)
{
    switch (format) {
    case LOG_LOGFMT:
        return "logfmt";
    case LOG_JSON:
        return "json";
    }
    return "unknown";
}

enum status
log_format_parse(const char *text, enum log_format *ret_format)
{
    for (int i = LOG_LOGFMT; i <= LOG_JSON; i++) {
        if (strcmp(text, log_format_name((enum log_format)i)) == 0) {
            *ret_format = (enum log_format)i;
            return ST_OK;
        }
    }
    return ST_INVALID;
}

/* What is formatted here is short and well formed. */
static void PRINTF_LIKE(2, 3) append(struct log_line *l, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(l->text + l->size, l->room - l->size, format, args);
    va_end(args);
    if (length > 0 && (size_t)length < l->room - l->size)
        l->size += (size_t)length;
}

static void
append_head(struct log_line *l, enum log_level level, const char *event)
{
    struct timespec now = {0};
    struct tm utc = {0};
    bool is_json = l->format == LOG_JSON;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)gmtime_r(&now.tv_sec, &utc);
    append(l, is_json ? "{\"ts\":\"" : "ts=");
    append(l, "%04d-%02d-%02dT%02d:%02d:%02d.%03ldZ", utc.tm_year + 1900,
           utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
           now.tv_nsec / 1000000);
    append(l, is_json ? "\",\"level\":\"%s\"" : " level=%s", log_level_name(level));
    uint64_t node = atomic_load(&settings.node);
    if (node != 0)
        append(l, is_json ? ",\"node\":%llu" : " node=%llu", (unsigned long long)node);
    append(l, is_json ? ",\"event\":\"%s\"" : " event=%s", event);
}

void
log_event(enum log_level level, const char *event, const char *format, ...)
{
    if (!log_enabled(level))
        return;
    char raw[RAW_MAX_BYTES];
    char text[LINE_MAX_BYTES];
    struct log_line l = {
        .text = text,
        .room = sizeof(text) - (sizeof(TAIL) - 1),
        .format = (enum log_format)atomic_load_explicit(&settings.format,
                                                        memory_order_relaxed),
    };
    va_list args;
    va_start(args, format);
    int length = vsnprintf(raw, sizeof(raw), format, args);
    va_end(args);
    size_t size = length < 0 ? 0 : (size_t)length;
    bool is_cut = size >= sizeof(raw);
    append_head(&l, level, event);
    log_fields_put(&l, slice_of(raw, is_cut ? sizeof(raw) - 1 : size), is_cut);
    l.room = sizeof(text);
    if (l.is_cut)
        log_field_put(&l, "cut", "true");
    append(&l, l.format == LOG_JSON ? "}" : "");
    text[l.size++] = '\n';
    ssize_t written = write(atomic_load(&settings.fd), text, l.size);
    (void)written;
}

static bool
must_escape(unsigned char c)
{
    return c < 0x20 || c == 0x7f || c == '"' || c == '\\';
}

/* Plain words stay as they are; all else is quoted. */
static bool
needs_quotes(struct slice s)
{
    bool needs = s.size == 0;
    for (size_t i = 0; i < s.size; i++)
        needs = needs || s.data[i] == ' ' || s.data[i] == '=' || s.data[i] >= 0x80 ||
                must_escape(s.data[i]);
    return needs;
}

/* The character at p as it goes between quotes: its size in the text into *ret_taken,
 * its size in out returned. What is not UTF-8 is shown as the replacement character. */
static size_t
quote_character(struct slice s, char out[ESCAPE_MAX_BYTES + 1], size_t *ret_taken)
{
    unsigned char c = s.data[0];
    *ret_taken = 1;
    if (c == '"' || c == '\\')
        return (size_t)snprintf(out, ESCAPE_MAX_BYTES + 1, "\\%c", c);
    if (must_escape(c))
        return (size_t)snprintf(out, ESCAPE_MAX_BYTES + 1, "\\u%04x", c);
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    for (size_t size = 2; size <= 4 && size <= s.size; size++) {
        if (utf8_is_valid(slice_of(s.data, size))) {
            memcpy(out, s.data, size);
            *ret_taken = size;
            return size;
        }
    }
    return (size_t)snprintf(out, ESCAPE_MAX_BYTES + 1, "\\ufffd");
}

/* Quoted into out; what does not fit is cut between characters. */
static void
quote(struct slice s, char out[QUOTE_BYTES])
{
    const size_t room = QUOTE_BYTES - CUT_MARK_BYTES - 2; /* last quote and NUL */
    size_t size = 0;
    out[size++] = '"';
    while (s.size > 0) {
        char piece[ESCAPE_MAX_BYTES + 1];
        size_t taken;
        size_t piece_size = quote_character(s, piece, &taken);
        if (size + piece_size > room) {
            memcpy(out + size, CUT_MARK, CUT_MARK_BYTES);
            size += CUT_MARK_BYTES;
            break;
        }
        memcpy(out + size, piece, piece_size);
        size += piece_size;
        s = slice_of(s.data + taken, s.size - taken);
    }
    out[size++] = '"';
    out[size] = '\0';
}

const char *
log_quote(const char *text)
{
    static _Thread_local char buffers[QUOTES][QUOTE_BYTES];
    static _Thread_local unsigned turn;
    char *out = buffers[turn++ % QUOTES];
    struct slice s = slice_of(text, strnlen(text, 2 * QUOTE_BYTES));
    if (s.size < QUOTE_BYTES && !needs_quotes(s)) {
        memcpy(out, text, s.size);
        out[s.size] = '\0';
    } else {
        quote(s, out);
    }
    return out;
}
