/* Progress: of long work (join, backup, restore, purge), on standard error: a bar that
 * is drawn anew on a terminal, else a line each ten seconds. Nothing for what is over
 * within a second. */
#ifndef HF_CTL_PROGRESS_H
#define HF_CTL_PROGRESS_H

#include "base/bytes.h"

enum progress_unit {
    PROGRESS_COUNT, /* 12345 */
    PROGRESS_BYTES, /* 12.3 MiB */
};

struct progress {
    const char *what; /* "backup"; borrowed */
    enum progress_unit unit;
    bool is_terminal;
    bool is_shown; /* something is on the line */
    uint64_t begin_ms;
    uint64_t next_ms; /* not drawn before */
};

/* Starts the clock. */
void ctl_progress_begin(struct progress *p, const char *what, enum progress_unit unit);
/* done of total; total 0: not known. Call it as often as you like: it draws ten times a
 * second at most. */
void ctl_progress_update(struct progress *p, uint64_t done, uint64_t total);
/* Takes the bar away, so that the answer stands alone. Once is enough; more is fine. */
void ctl_progress_end(struct progress *p);

/* The line without its end, for a width of columns: pure. */
void ctl_progress_format(const struct progress *p,
                         uint64_t done,
                         uint64_t total,
                         uint64_t elapsed_ms,
                         size_t width,
                         struct bytes *out);

#endif
