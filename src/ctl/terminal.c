/* Terminal: see terminal.h. A column is a code point: wide characters are rare in names
 * of queues and ids. */
#include "ctl/terminal.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define WIDTH_DEFAULT 80
#define YEAR_10000    UINT64_C(253402300800)
#define GAP           2
#define CELL_LEAST    6 /* a column that is cut keeps so many */
#define ELLIPSIS      "\xe2\x80\xa6"

size_t
terminal_width(int fd)
{
    struct winsize size = {0};
    if (isatty(fd) == 0)
        return 0;
    if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return WIDTH_DEFAULT;
    return size.ws_col;
}

void
terminal_time(uint64_t secs, char ret_text[TERMINAL_TIME_BYTES])
{
    time_t t = (time_t)secs;
    struct tm tm;
    (void)snprintf(ret_text, TERMINAL_TIME_BYTES, "-");
    if (secs > 0 && secs < YEAR_10000 && gmtime_r(&t, &tm) != NULL &&
        strftime(ret_text, TERMINAL_TIME_BYTES, "%Y-%m-%d %H:%M:%S", &tm) == 0)
        (void)snprintf(ret_text, TERMINAL_TIME_BYTES, "-");
}

void
terminal_duration(uint64_t secs, char ret_text[TERMINAL_TIME_BYTES])
{
    static const struct {
        uint64_t secs;
        const char *name;
    } units[] = {{86400, "d"}, {3600, "h"}, {60, "m"}, {1, "s"}};
    size_t i = 0;
    while (i < 3 && secs < units[i].secs) /* bound: units */
        i++;
    unsigned long long first = secs / units[i].secs;
    unsigned long long second = i < 3 ? secs % units[i].secs / units[i + 1].secs : 0;
    if (secs == 0)
        (void)snprintf(ret_text, TERMINAL_TIME_BYTES, "-");
    else if (second == 0)
        (void)snprintf(ret_text, TERMINAL_TIME_BYTES, "%llu%s", first, units[i].name);
    else
        (void)snprintf(ret_text, TERMINAL_TIME_BYTES, "%llu%s%llu%s", first,
                       units[i].name, second, units[i + 1].name);
}

void
grid_init(struct grid *g, size_t columns, uint32_t right_mask)
{
    *g = (struct grid){.columns = columns, .right_mask = right_mask};
}

void
grid_fini(struct grid *g)
{
    bytes_fini(&g->text);
    bytes_fini(&g->sizes);
}

void
grid_put(struct grid *g, struct slice text)
{
    bytes_put_slice(&g->text, text);
    bytes_put_u32(&g->sizes, (uint32_t)text.size);
    g->cells++;
}

void
grid_put_text(struct grid *g, const char *text)
{
    grid_put(g, slice_from_text(text));
}

void
grid_put_u64(struct grid *g, uint64_t v)
{
    char text[24];
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)v);
    grid_put_text(g, text);
}

static size_t
columns_of(struct slice s)
{
    size_t count = 0;
    for (size_t i = 0; i < s.size; i++)
        count += (s.data[i] & 0xc0) != 0x80;
    return count;
}

static void
measure(const struct grid *g, size_t *widths)
{
    size_t at = 0;
    memset(widths, 0, GRID_COLUMNS_MAX * sizeof *widths);
    for (size_t i = 0; i < g->cells; i++) {
        uint32_t size = get_u32(g->sizes.data + i * 4);
        size_t width = columns_of(slice_of(g->text.data + at, size));
        if (width > widths[i % g->columns])
            widths[i % g->columns] = width;
        at += size;
    }
}

/* Takes columns from the widest text columns until the line fits, or cannot. */
static void
shrink(const struct grid *g, size_t *widths, size_t width)
{
    size_t total = (g->columns - 1) * GAP;
    for (size_t i = 0; i < g->columns; i++)
        total += widths[i];
    while (total > width) { /* bound: total */
        size_t widest = g->columns;
        for (size_t i = 0; i < g->columns; i++)
            if ((g->right_mask & 1u << i) == 0 && widths[i] > CELL_LEAST &&
                (widest == g->columns || widths[i] > widths[widest]))
                widest = i;
        if (widest == g->columns)
            return;
        widths[widest]--;
        total--;
    }
}

/* At most columns code points; the last is an ellipsis when something is missing. */
static void
put_cut(struct bytes *out, struct slice text, size_t columns)
{
    size_t all = columns_of(text);
    size_t keep = all <= columns ? all : columns > 0 ? columns - 1 : 0;
    size_t count = 0;
    for (size_t i = 0; i < text.size; i++) {
        uint8_t b = text.data[i];
        if ((b & 0xc0) != 0x80 && count++ == keep)
            break;
        bytes_put_u8(out, b < 0x20 || b == 0x7f ? '?' : b);
    }
    if (all > columns && columns > 0)
        bytes_put_text(out, ELLIPSIS);
}

static void
put_blanks(struct bytes *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        bytes_put_u8(out, ' ');
}

static void
put_cell(const struct grid *g,
         size_t column,
         size_t width,
         struct slice cell,
         struct bytes *line)
{
    size_t used = columns_of(cell) < width ? columns_of(cell) : width;
    bool is_right = (g->right_mask & 1u << column) != 0;
    if (column > 0)
        put_blanks(line, GAP);
    if (is_right)
        put_blanks(line, width - used);
    put_cut(line, cell, width);
    if (!is_right && column + 1 < g->columns)
        put_blanks(line, width - used);
}

void
grid_write(const struct grid *g, size_t width, struct bytes *out)
{
    size_t widths[GRID_COLUMNS_MAX];
    struct bytes line = {0};
    size_t at = 0;
    measure(g, widths);
    if (width > 0)
        shrink(g, widths, width);
    for (size_t i = 0; i < g->cells; i++) {
        uint32_t size = get_u32(g->sizes.data + i * 4);
        size_t column = i % g->columns;
        put_cell(g, column, widths[column],
                 slice_of(g->text.data == NULL ? NULL : g->text.data + at, size),
                 &line);
        at += size;
        if (column + 1 < g->columns)
            continue;
        while (line.size > 0 && line.data[line.size - 1] == ' ') /* bound: the line */
            line.size--;
        if (width > 0)
            put_cut(out, slice_of(line.data, line.size), width);
        else
            bytes_put_slice(out, slice_of(line.data, line.size));
        if (i + 1 < g->cells)
            bytes_put_u8(out, '\n');
        bytes_clear(&line);
    }
    bytes_fini(&line);
}
