/* Terminal: how wide it is, and tables that fit it. */
#ifndef HF_CTL_TERMINAL_H
#define HF_CTL_TERMINAL_H

#include "base/bytes.h"

/* Columns of the terminal that fd is; 80 when it does not say; 0: it is none. */
size_t terminal_width(int fd);

/* For tables: "2026-11-30 12:00:00" in UTC of seconds since 1970; "-" of 0. */
#define TERMINAL_TIME_BYTES 40
void terminal_time(uint64_t secs, char ret_text[TERMINAL_TIME_BYTES]);
/* "45s", "10m", "1h30m", "2d3h": the two greatest units; "-" of 0. */
void terminal_duration(uint64_t secs, char ret_text[TERMINAL_TIME_BYTES]);

#define GRID_COLUMNS_MAX 16

/* A table of text: cells are added row by row, the first row is the head. */
struct grid {
    size_t columns;
    uint32_t right_mask; /* bit i: column i stands to the right, as numbers do */
    struct bytes text;   /* all cells, one behind the other */
    struct bytes sizes;  /* u32 of each cell */
    size_t cells;
};

void grid_init(struct grid *g, size_t columns, uint32_t right_mask);
void grid_fini(struct grid *g);
void grid_put(struct grid *g, struct slice text); /* valid UTF-8; cells go on by row */
void grid_put_text(struct grid *g, const char *text);
void grid_put_u64(struct grid *g, uint64_t v);
/* Appends the table. width 0: whole, else each line has at most width columns: the
 * widest columns that are text are cut, with an ellipsis, and in the end the line is.
 * Control characters are shown as '?'. */
void grid_write(const struct grid *g, size_t width, struct bytes *out);

#endif
