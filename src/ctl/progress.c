/* Progress: see progress.h. */
#include "ctl/progress.h"

#include "ctl/output.h"
#include "ctl/terminal.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FIRST_MS    1000
#define TERMINAL_MS 100
#define LINE_MS     10000
#define BAR_MAX     40

static void
put_amount(enum progress_unit unit, uint64_t n, struct bytes *out)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    double value = (double)n / 1024;
    size_t i = 0;
    if (unit == PROGRESS_COUNT || n < 1024) {
        bytes_printf(out, "%llu%s", (unsigned long long)n,
                     unit == PROGRESS_BYTES ? " bytes" : "");
        return;
    }
    while (value >= 1024 && i < 3) { /* bound: units */
        value /= 1024;
        i++;
    }
    bytes_printf(out, "%.1f %s", value, units[i]);
}

static void
put_seconds(uint64_t s, struct bytes *out)
{
    if (s >= 3600)
        bytes_printf(out, "%llu h %02llu min", (unsigned long long)(s / 3600),
                     (unsigned long long)(s / 60 % 60));
    else if (s >= 60)
        bytes_printf(out, "%llu min %02llu s", (unsigned long long)(s / 60),
                     (unsigned long long)(s % 60));
    else
        bytes_printf(out, "%llu s", (unsigned long long)s);
}

void
ctl_progress_format(const struct progress *p,
                    uint64_t done,
                    uint64_t total,
                    uint64_t elapsed_ms,
                    size_t width,
                    struct bytes *out)
{
    struct bytes tail = {0};
    if (total > 0 && done > total)
        done = total;
    if (total > 0)
        bytes_printf(&tail, "%3u%%  ", (unsigned)((double)done * 100 / (double)total));
    put_amount(p->unit, done, &tail);
    if (total > 0) {
        bytes_put_text(&tail, " of ");
        put_amount(p->unit, total, &tail);
        if (done > 0 && elapsed_ms >= FIRST_MS) {
            double left_ms = (double)elapsed_ms * (double)(total - done) / (double)done;
            bytes_put_text(&tail, ", ");
            put_seconds((uint64_t)(left_ms / 1000), &tail);
            bytes_put_text(&tail, " left");
        }
    }
    bytes_printf(out, "%s  ", p->what);
    size_t used = strlen(p->what) + 2 + tail.size + 4;
    size_t bar = width > used ? width - used : 0;
    if (bar > BAR_MAX)
        bar = BAR_MAX;
    if (total > 0 && bar >= 10) {
        size_t full = (size_t)((double)done * (double)bar / (double)total);
        bytes_put_u8(out, '[');
        for (size_t i = 0; i < bar; i++)
            bytes_put_u8(out, i < full ? '#' : '-');
        bytes_put_text(out, "] ");
    }
    bytes_put_slice(out, slice_of(tail.data, tail.size));
    bytes_fini(&tail);
}

void
ctl_progress_begin(struct progress *p, const char *what, enum progress_unit unit)
{
    uint64_t now = ctl_now_ms();
    bool is_terminal = isatty(STDERR_FILENO) != 0;
    *p = (struct progress){
        .what = what,
        .unit = unit,
        .is_terminal = is_terminal,
        .begin_ms = now,
        .next_ms = now + (is_terminal ? FIRST_MS : LINE_MS),
    };
}

void
ctl_progress_update(struct progress *p, uint64_t done, uint64_t total)
{
    uint64_t now = ctl_now_ms();
    struct bytes line = {0};
    if (now < p->next_ms)
        return;
    size_t width = p->is_terminal ? terminal_width(STDERR_FILENO) : 0;
    ctl_progress_format(p, done, total, now - p->begin_ms, width, &line);
    if (p->is_terminal)
        (void)fprintf(stderr, "\r%.*s\033[K", (int)line.size, (const char *)line.data);
    else
        (void)fprintf(stderr, "holdfastctl: %.*s\n", (int)line.size,
                      (const char *)line.data);
    (void)fflush(stderr);
    p->is_shown = p->is_terminal;
    p->next_ms = now + (p->is_terminal ? TERMINAL_MS : LINE_MS);
    bytes_fini(&line);
}

void
ctl_progress_end(struct progress *p)
{
    if (!p->is_shown)
        return;
    (void)fputs("\r\033[K", stderr);
    (void)fflush(stderr);
    p->is_shown = false;
}
