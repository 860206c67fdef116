/* Sweeps: see the header. */
#include "queue/sweep.h"

#include <assert.h>

static int
compare_id(const void *key, const struct tree_node *node)
{
    return uuid_compare(key, &CONTAINER_OF(node, struct message, in_ids)->id);
}

void
sweep_begin(struct sweep *sweep,
            const struct queue *q,
            const struct record_sweep *fields)
{
    const struct tree *ids = fields->places == SWEEP_DEAD ? &q->dead : &q->messages;
    sweep->fields = fields;
    sweep->next = tree_lower(ids, &fields->first, false, compare_id);
}

bool
sweep_fits(const struct record_sweep *fields, const struct message *m)
{
    if ((fields->places & 1u << m->place) == 0)
        return false;
    if (m->place == PLACE_DEAD && fields->reasons != 0 &&
        (fields->reasons & 1u << m->dead_reason) == 0)
        return false;
    if (m->place == PLACE_DEAD && fields->before_ms != 0 &&
        m->dead_ms >= fields->before_ms)
        return false;
    if (fields->is_redrive && m->is_damaged)
        return false;
    return fields->key.size == 0 || slice_equal(fields->key, message_key(m));
}

struct message *
sweep_next(struct sweep *sweep)
{
    while (sweep->next != NULL) { /* bound: the messages up to last */
        struct message *m = CONTAINER_OF(sweep->next, struct message, in_ids);
        if (uuid_compare(&m->id, &sweep->fields->last) > 0)
            break;
        sweep->next = tree_next(sweep->next);
        if (sweep_fits(sweep->fields, m))
            return m;
    }
    return NULL;
}

/* The next one that followers have too. */
static struct message *
next_durable(struct sweep *sweep)
{
    struct message *m = sweep_next(sweep);
    while (m != NULL && m->durability == 0)
        m = sweep_next(sweep);
    return m;
}

void
queue_redrive_some(struct state *s,
                   struct queue *q,
                   const struct record_sweep *fields,
                   uint64_t now_ms)
{
    struct sweep sweep;
    struct message *m;
    uint64_t order = fields->order;
    sweep_begin(&sweep, q, fields);
    while ((m = next_durable(&sweep)) != NULL)
        message_release(s, m, order++, now_ms);
    assert(order - fields->order == fields->count &&
           "the entry does not fit: a sweep of other dead letters");
}

void
queue_purge(struct state *s, struct queue *q, const struct record_sweep *fields)
{
    struct sweep sweep;
    struct message *m;
    uint32_t count = 0;
    sweep_begin(&sweep, q, fields);
    for (; (m = next_durable(&sweep)) != NULL; count++)
        message_remove(s, m);
    assert(count == fields->count &&
           "the entry does not fit: a sweep of other messages");
}
