/* Pages: see pages.h. The ops thread touches nothing of the node but what is atomic
 * here and the loop's bell; its snapshots are its own. */
#include "server/pages.h"

#include "base/limits.h"
#include "base/mem.h"
#include "proto/prometheus.h"
#include "server/metrics.h"
#include "server/node.h"

#include <stdatomic.h>
#include <string.h>

#define TEXT_TYPE "text/plain; charset=utf-8"
#define CODE_OK   200
#define CODE_NOT  503

struct pages {
    struct node *node; /* core thread, but for its bell */
    struct ops *ops;
    _Atomic bool has_started;
    _Atomic uint64_t turn_ms;    /* monotonic, of the last turn */
    _Atomic(const char *) stage; /* of the loading; a literal */
    _Atomic uint64_t done;
    _Atomic uint64_t total;
};

/* --- ops thread --- */

static int
say(struct bytes *out, int code, const char *text)
{
    bytes_printf(out, "%s\n", text);
    return code;
}

static int
say_loading(const struct pages *p, struct bytes *out, int code)
{
    const char *stage = atomic_load(&p->stage);
    bytes_printf(out, "loading: %s, %llu of %llu\n", stage == NULL ? "begun" : stage,
                 (unsigned long long)atomic_load(&p->done),
                 (unsigned long long)atomic_load(&p->total));
    return code;
}

static int
say_no_answer(const struct pages *p, struct bytes *out)
{
    if (!atomic_load(&p->has_started))
        return say_loading(p, out, CODE_NOT);
    return say(out, CODE_NOT, "the core does not answer");
}

static int
livez_cb(void *ctx, const struct ops_snapshot *snapshot, struct bytes *out)
{
    const struct pages *p = ctx;
    (void)snapshot;
    if (!atomic_load(&p->has_started))
        return say_loading(p, out, CODE_OK);
    uint64_t turn_ms = atomic_load(&p->turn_ms);
    uint64_t now_ms = node_now_ms();
    uint64_t silent_ms = now_ms > turn_ms ? now_ms - turn_ms : 0;
    if (silent_ms <= LIMIT_CORE_SILENT_MS)
        return say(out, CODE_OK, "ok");
    bytes_printf(out, "the core loop has not turned for %llu s\n",
                 (unsigned long long)(silent_ms / 1000));
    return CODE_NOT;
}

static int
startupz_cb(void *ctx, const struct ops_snapshot *snapshot, struct bytes *out)
{
    const struct pages *p = ctx;
    (void)snapshot;
    if (!atomic_load(&p->has_started))
        return say_loading(p, out, CODE_NOT);
    return say(out, CODE_OK, "ok");
}

static int
readyz_cb(void *ctx, const struct ops_snapshot *snapshot, struct bytes *out)
{
    const struct metrics *m = (const void *)snapshot;
    if (m == NULL)
        return say_no_answer(ctx, out);
    const char *why = metrics_not_ready(m);
    return why == NULL ? say(out, CODE_OK, "ok") : say(out, CODE_NOT, why);
}

static int
status_cb(void *ctx, const struct ops_snapshot *snapshot, struct bytes *out)
{
    const struct metrics *m = (const void *)snapshot;
    if (m != NULL) {
        metrics_json(m, out);
        return CODE_OK;
    }
    const struct pages *p = ctx;
    bytes_printf(out, "{\"ready\":false,\"not_ready\":\"%s\"}\n",
                 atomic_load(&p->has_started) ? "the core does not answer" : "loading");
    return CODE_NOT;
}

static int
metrics_cb(void *ctx, const struct ops_snapshot *snapshot, struct bytes *out)
{
    const struct metrics *m = (const void *)snapshot;
    struct process_status process;
    if (m == NULL)
        return say_no_answer(ctx, out);
    process_read(&process);
    metrics_text(m, &process, out);
    return CODE_OK;
}

static const struct ops_page PAGES[] = {
    {"/metrics", PROM_CONTENT_TYPE, true, metrics_cb},
    {"/livez", TEXT_TYPE, false, livez_cb},
    {"/readyz", TEXT_TYPE, true, readyz_cb},
    {"/startupz", TEXT_TYPE, false, startupz_cb},
    {"/status", "application/json", true, status_cb},
};

static bool
ask_cb(void *ctx)
{
    struct pages *p = ctx;
    return atomic_load(&p->has_started) && uv_async_send(&p->node->bell) == 0;
}

static void
free_cb(struct ops_snapshot *snapshot)
{
    metrics_free((struct metrics *)(void *)snapshot);
}

/* --- core thread --- */

/* Nobody logs in there. */
static void
warn_if_exposed(const char *address)
{
    static const char *const loopback[] = {"127.", "[::1]:", "localhost:"};
    for (size_t i = 0; i < sizeof loopback / sizeof loopback[0]; i++)
        if (strncmp(address, loopback[i], strlen(loopback[i])) == 0)
            return;
    log_event(LOG_WARN, "ops.exposed", "address=%s consequence=%s", log_quote(address),
              log_quote("whoever reaches it reads metrics and names of queues"));
}

enum status
pages_open(struct node *n, struct pages **ret_pages)
{
    if (n->config->http_listen == NULL || n->config->http_listen[0] == '\0')
        return ST_OK;
    struct pages *p = mem_calloc(1, sizeof *p);
    p->node = n;
    const struct ops_options options = {
        .address = n->config->http_listen,
        .pages = PAGES,
        .page_count = sizeof PAGES / sizeof PAGES[0],
        .ask_cb = ask_cb,
        .free_cb = free_cb,
        .ctx = p,
    };
    warn_if_exposed(options.address);
    enum status st = ops_open(&options, &p->ops);
    if (st != ST_OK) {
        mem_free(p);
        return st;
    }
    *ret_pages = p;
    return ST_OK;
}

void
pages_close(struct pages *p)
{
    if (p == NULL)
        return;
    ops_close(p->ops);
    mem_free(p);
}

void
pages_progress(struct pages *p, const char *stage, uint64_t done, uint64_t total)
{
    if (p == NULL)
        return;
    atomic_store(&p->stage, stage);
    atomic_store(&p->done, done);
    atomic_store(&p->total, total);
}

void
pages_started(struct pages *p)
{
    if (p == NULL)
        return;
    atomic_store(&p->turn_ms, node_now_ms());
    atomic_store(&p->has_started, true);
}

void
pages_turn(struct pages *p, uint64_t now_ms)
{
    if (p == NULL)
        return;
    atomic_store_explicit(&p->turn_ms, now_ms, memory_order_relaxed);
    if (ops_is_asked(p->ops))
        ops_answer(p->ops, &metrics_take(p->node)->snapshot);
}
