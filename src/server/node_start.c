/* Node: how far its start has come: what the log and the service manager hear of it
 * while the log is read, the snapshot loaded, and what is behind it applied. */
#include "server/node_parts.h"

#include "base/mem.h"
#include "raft/disk_seed.h"
#include "server/pages.h"

void
node_scan_progress_cb(void *ctx, uint64_t done, uint64_t total)
{
    struct node *n = ctx;
    progress_note(&n->start.progress, &n->notify, "log", done, total, node_now_ms());
    pages_progress(n->pages, "log", done, total);
    if (done == total)
        progress_end(&n->start.progress, total, node_now_ms());
}

void
node_load_progress_cb(void *ctx, uint64_t done, uint64_t total)
{
    struct node *n = ctx;
    progress_note(&n->start.progress, &n->notify, "snapshot", done, total,
                  node_now_ms());
    pages_progress(n->pages, "snapshot", done, total);
    if (done == total)
        progress_end(&n->start.progress, total, node_now_ms());
}

void
node_begin_replay(struct node *n)
{
    struct rlog_status s;
    rlog_get_status(replica_rlog(n->replica), &s);
    n->start.replay_from = s.applied_index;
    n->start.replay_to = s.last_index;
    n->start.is_replaying = s.last_index > s.applied_index;
    if (n->start.is_replaying)
        mem_load_begin();
}

/* It begins when a leader says what is committed. What no majority has goes. */
static void
watch_replay(struct node *n, uint64_t now_ms)
{
    struct start *start = &n->start;
    struct rlog_status s;
    rlog_get_status(replica_rlog(n->replica), &s);
    mem_load_step();
    if (s.last_index < start->replay_to)
        start->replay_to = s.last_index;
    uint64_t total = start->replay_to > start->replay_from
                         ? start->replay_to - start->replay_from
                         : 0;
    if (s.applied_index < start->replay_to) {
        if (s.applied_index > start->replay_from)
            progress_note(&start->progress, &n->notify, "replay",
                          s.applied_index - start->replay_from, total, now_ms);
        return;
    }
    start->is_replaying = false;
    mem_load_end();
    progress_end(&start->progress, total, now_ms);
}

void
node_watch_start(struct node *n, uint64_t now_ms)
{
    if (n->start.is_replaying)
        watch_replay(n, now_ms);
    notify_turn(&n->notify, now_ms);
}

void
node_read_origin(struct node *n)
{
    uint8_t origin[DISK_ORIGIN_BYTES];
    enum status st = disk_read_origin(n->config->data_dir, origin);
    if (st == ST_OK)
        n->origin = get_u32(origin) | 1; /* 0 says that it was not */
    else if (st != ST_NOTFOUND)
        log_event(LOG_WARN, "origin.unreadable", "status=%s consequence=%s",
                  log_quote(status_name(st)),
                  log_quote("nodes that were restored from another backup are not told "
                            "apart"));
}
