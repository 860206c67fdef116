/* State: making it and taking it apart. Look-ups are in lookup.c. */
#include "queue/state.h"

#include "base/mem.h"
#include "queue/journal.h"
#include "queue/level.h"
#include "queue/place.h"

#include <assert.h>

struct state *
state_new(void)
{
    struct state *s = mem_calloc(1, sizeof *s);
    list_init(&s->queues);
    map_init(&s->by_name);
    map_init(&s->by_number);
    s->next_queue = 1;
    s->level = HF_LEVEL_FIRST;
    return s;
}

void
state_free(struct state *s)
{
    if (s == NULL)
        return;
    assert(s->image == NULL && "the image is ended first");
    if (s->journal != NULL && !journal_is_empty(s->journal)) {
        state_drop_volatile(s);
        journal_rollback(s);
    }
    LIST_FOREACH_SAFE (node, &s->queues) {
        struct queue *q = CONTAINER_OF(node, struct queue, in_state);
        unplace_queue(s, q);
        queue_unpin(s, q);
    }
    map_fini(&s->by_name);
    map_fini(&s->by_number);
    message_pool_fini(&s->pool);
    mem_free(s);
}

bool
state_take_apart(struct state *s, uint32_t messages)
{
    assert(s->image == NULL && s->journal == NULL);
    LIST_FOREACH (node, &s->queues) {
        struct queue *q = CONTAINER_OF(node, struct queue, in_state);
        for (; messages > 0 && q->by_id.count > 0; messages--) {
            struct tree *ids = q->messages.count > 0 ? &q->messages : &q->dead;
            message_remove(s, CONTAINER_OF(tree_first(ids), struct message, in_ids));
        }
    }
    if (messages == 0)
        return false;
    state_free(s);
    return true;
}
