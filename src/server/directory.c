/* Directory: see directory.h. */
#include "server/directory.h"

#include "base/mem.h"

#include <string.h>

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
        .message_timeout_secs = clamp_u32(q->settings[SETTING_MESSAGE_TIMEOUT_SECS]),
    };
    memcpy(out.name, q->name, sizeof out.name);
    net_set_queue(n->net, &out);
}

void
directory_sync(struct node *n)
{
    const struct state *s = replica_state(n->replica);
    if (n->directory_version == s->directory_version)
        return;
    n->directory_version = s->directory_version;
    for (size_t i = 0; i < n->directory_count; i++)
        if (state_queue(s, n->directory[i]) == NULL)
            net_remove_queue(n->net, n->directory[i]);
    n->directory_count = 0;
    n->directory =
        mem_realloc(n->directory, (s->queue_count + 1u) * sizeof *n->directory);
    LIST_FOREACH (node, &s->queues) {
        const struct queue *q = CONTAINER_OF(node, struct queue, in_state);
        set_queue(n, q);
        n->directory[n->directory_count++] = q->number;
    }
}
