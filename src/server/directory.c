/* Directory: see directory.h. */
#include "server/directory.h"

#include "base/mem.h"

#include <string.h>

#define TRAFFIC_MS 1000

struct directory_row {
    uint32_t number;
    uint64_t sent; /* bytes, as far as they were told to the broker */
    uint64_t received;
};

static uint32_t
clamp_u32(uint64_t v)
{
    return v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
}

static void
set_queue(struct node *n, const struct queue *q)
{
    struct net_queue out = {
        .number = q->number,
        .max_message_bytes = clamp_u32(q->settings[SETTING_MAX_WS_MSG_LEN]),
        .login_timeout_secs = clamp_u32(q->settings[SETTING_NO_REPLY_TIMEOUT_SECS]),
        .max_write_queue_bytes = clamp_u32(q->settings[SETTING_MAX_WRITE_QUEUE_BYTES]),
        .max_connections = clamp_u32(q->settings[SETTING_MAX_TASKS]),
        .message_timeout_secs = clamp_u32(q->settings[SETTING_MESSAGE_TIMEOUT_SECS]),
    };
    memcpy(out.name, q->name, sizeof out.name);
    net_set_queue(n->net, &out);
}

static struct directory_row *
find_row(struct directory_row *rows, size_t count, uint32_t number)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i].number == number)
            return &rows[i];
    return NULL;
}

void
directory_sync(struct node *n)
{
    const struct state *s = replica_state(n->replica);
    struct directory_row *old = n->directory;
    size_t old_count = n->directory_count;
    if (n->directory_version == s->directory_version)
        return;
    n->directory_version = s->directory_version;
    for (size_t i = 0; i < old_count; i++)
        if (state_queue(s, old[i].number) == NULL)
            net_remove_queue(n->net, old[i].number);
    n->directory_count = 0;
    n->directory = mem_calloc(s->queue_count + 1u, sizeof *n->directory);
    LIST_FOREACH (node, &s->queues) {
        const struct queue *q = CONTAINER_OF(node, struct queue, in_state);
        struct directory_row *row = &n->directory[n->directory_count++];
        const struct directory_row *known = find_row(old, old_count, q->number);
        *row = known != NULL ? *known : (struct directory_row){.number = q->number};
        set_queue(n, q);
    }
    mem_free(old);
}

void
directory_count_traffic(struct node *n, uint64_t now_ms)
{
    struct broker *b = replica_broker(n->replica);
    if (now_ms < n->traffic_at_ms)
        return;
    n->traffic_at_ms = now_ms + TRAFFIC_MS;
    for (size_t i = 0; i < n->directory_count; i++) {
        struct directory_row *row = &n->directory[i];
        uint64_t sent = 0;
        uint64_t received = 0;
        if (net_get_traffic(n->net, row->number, &sent, &received) != ST_OK)
            continue;
        if (broker_is_leading(b))
            broker_add_usage(b, row->number, sent - row->sent,
                             received - row->received);
        row->sent = sent;
        row->received = received;
    }
}
