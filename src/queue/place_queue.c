/* Places of queues: making one, linking it into the state, and taking it apart.
 *
 * A queue lives as long as it has a pin: one of the state while it is there, one of the
 * journal while its deletion is not committed, one of an image that still has to read
 * its messages. So deleting a large queue neither stalls an image nor breaks it. */
#include "queue/place.h"

#include "base/mem.h"
#include "queue/history.h"

#include <assert.h>
#include <string.h>

/* Columns of a usage row in the history: has_ipv4 is the last one. */
#define USAGE_HISTORY_COLUMNS (USAGE_COLUMNS + 1)

static int
compare_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int
compare_ids(const struct tree_node *a, const struct tree_node *b)
{
    return uuid_compare(&CONTAINER_OF(a, struct message, in_ids)->id,
                        &CONTAINER_OF(b, struct message, in_ids)->id);
}

static int
compare_waiting(const struct tree_node *a, const struct tree_node *b)
{
    const struct message *x = CONTAINER_OF(a, struct message, in_waiting);
    const struct message *y = CONTAINER_OF(b, struct message, in_waiting);
    int c = compare_u64(x->ready_ms, y->ready_ms);
    return c != 0 ? c : compare_u64(x->order, y->order);
}

static int
compare_line(const struct tree_node *a, const struct tree_node *b)
{
    return compare_u64(CONTAINER_OF(a, struct session, in_line)->number,
                       CONTAINER_OF(b, struct session, in_line)->number);
}

struct queue *
queue_new(uint32_t number)
{
    assert(number > 0);
    struct queue *q = mem_calloc(1, sizeof *q);
    q->number = number;
    map_init(&q->by_id);
    map_init(&q->by_session);
    map_init(&q->by_prev);
    tree_init(&q->messages, compare_ids);
    tree_init(&q->dead, compare_ids);
    tree_init(&q->waiting, compare_waiting);
    tree_init(&q->line, compare_line);
    q->next_order = 1;
    q->next_session = 1;
    q->stats = history_new(STATS_COLUMNS);
    q->usage = history_new(USAGE_HISTORY_COLUMNS);
    return q;
}

void
place_queue(struct state *s, struct queue *q)
{
    struct list_node *after = s->queues.head.prev;
    while (after != &s->queues.head &&
           CONTAINER_OF(after, struct queue, in_state)->number > q->number)
        after = after->prev;
    list_insert_before(after->next, &q->in_state);
    map_insert(&s->by_name, &q->in_by_name, map_hash(q->name, strlen(q->name)));
    map_insert(&s->by_number, &q->in_by_number, map_hash_u64(q->number));
    q->is_deleted = false;
    q->pins++;
    s->queue_count++;
    s->directory_version++;
}

void
unplace_queue(struct state *s, struct queue *q)
{
    assert(!q->is_deleted && q->pins > 0);
    list_remove(&q->in_state);
    map_remove(&s->by_name, &q->in_by_name);
    map_remove(&s->by_number, &q->in_by_number);
    q->is_deleted = true;
    s->queue_count--;
    s->directory_version++;
}

/* First chains all of them (a tree that is being freed cannot be walked), then frees.
 */
static void
free_messages(struct state *s, struct tree *ids)
{
    struct map_node *chain = NULL;
    for (struct tree_node *n = tree_first(ids); n != NULL; n = tree_next(n)) {
        struct message *m = CONTAINER_OF(n, struct message, in_ids);
        m->in_by_id.next = chain;
        chain = &m->in_by_id;
    }
    while (chain != NULL) {
        struct message *m = CONTAINER_OF(chain, struct message, in_by_id);
        chain = chain->next;
        m->place = PLACE_NONE;
        message_free(s, m);
    }
}

static void
free_sessions(struct queue *q)
{
    struct tree_node *n;
    while ((n = tree_first(&q->line)) != NULL) {
        tree_remove(&q->line, n);
        mem_free(CONTAINER_OF(n, struct session, in_line));
    }
}

void
queue_unpin(struct state *s, struct queue *q)
{
    assert(q->pins > 0);
    if (--q->pins > 0)
        return;
    free_messages(s, &q->messages);
    free_messages(s, &q->dead);
    free_sessions(q);
    map_fini(&q->by_id);
    map_fini(&q->by_session);
    map_fini(&q->by_prev);
    history_free(q->stats);
    history_free(q->usage);
    mem_free(q);
}
