/* Copy queues: see the header. Nothing is stored, so nothing rests on the log: a
 * delivery waits only behind its own connection's login reply. A subscriber that reads
 * too slowly is dropped by its network thread. */
#include "broker/copy.h"

#include "broker/dispatch.h"
#include "broker/inside.h"

#include <assert.h>

uint64_t
copy_publish(struct broker *b, struct part *part, struct publish_fields *fields)
{
    assert(fields->body != NULL && fields->key_size == 0);
    uint64_t count = 0;
    LIST_FOREACH (node, &part->copy_subscribers) {
        struct client *c = CONTAINER_OF(node, struct client, in_copy);
        if (c->phase != CLIENT_OPEN)
            continue;
        struct delivery *d = delivery_new(c, fields->body, 0);
        d->type = fields->type;
        d->received_ms = b->clock.time_ms;
        client_deliver(b, c, d, TAG_NONE);
        count++;
    }
    part->queue->totals.copy_received++;
    part->queue->totals.copy_delivered += count;
    return count;
}
