/* Looking things up in a state: by name, number and id. */
#include "queue/state.h"

static bool
has_number(const void *key, const struct map_node *node)
{
    return CONTAINER_OF(node, struct queue, in_by_number)->number ==
           *(const uint32_t *)key;
}

static bool
has_name(const void *key, const struct map_node *node)
{
    const struct queue *q = CONTAINER_OF(node, struct queue, in_by_name);
    return slice_equal(*(const struct slice *)key, slice_from_text(q->name));
}

static bool
has_message_id(const void *key, const struct map_node *node)
{
    const struct message *m = CONTAINER_OF(node, struct message, in_by_id);
    return uuid_compare(&m->id, key) == 0;
}

static bool
has_session_id(const void *key, const struct map_node *node)
{
    const struct session *x = CONTAINER_OF(node, struct session, in_by_session);
    return uuid_compare(&x->id, key) == 0;
}

static bool
has_prev_id(const void *key, const struct map_node *node)
{
    const struct session *x = CONTAINER_OF(node, struct session, in_by_prev);
    return uuid_compare(&x->prev_id, key) == 0;
}

static int
compare_number(const void *key, const struct tree_node *node)
{
    uint64_t number = CONTAINER_OF(node, struct session, in_line)->number;
    uint64_t wanted = *(const uint64_t *)key;
    return (wanted > number) - (wanted < number);
}

struct queue *
state_queue(const struct state *s, uint32_t number)
{
    struct map_node *node =
        map_find(&s->by_number, map_hash_u64(number), &number, has_number);
    return node == NULL ? NULL : CONTAINER_OF(node, struct queue, in_by_number);
}

struct queue *
state_queue_by_name(const struct state *s, struct slice name)
{
    struct map_node *node =
        map_find(&s->by_name, map_hash(name.data, name.size), &name, has_name);
    return node == NULL ? NULL : CONTAINER_OF(node, struct queue, in_by_name);
}

struct message *
queue_message(const struct queue *q, const struct uuid *id)
{
    struct map_node *node =
        map_find(&q->by_id, map_hash(id->b, UUID_SIZE), id, has_message_id);
    return node == NULL ? NULL : CONTAINER_OF(node, struct message, in_by_id);
}

struct session *
queue_session(const struct queue *q, const struct uuid *id)
{
    uint64_t hash = map_hash(id->b, UUID_SIZE);
    struct map_node *node = map_find(&q->by_session, hash, id, has_session_id);
    if (node != NULL)
        return CONTAINER_OF(node, struct session, in_by_session);
    node = map_find(&q->by_prev, hash, id, has_prev_id);
    return node == NULL ? NULL : CONTAINER_OF(node, struct session, in_by_prev);
}

struct session *
queue_session_by_number(const struct queue *q, uint64_t number)
{
    struct tree_node *node = tree_find(&q->line, &number, compare_number);
    return node == NULL ? NULL : CONTAINER_OF(node, struct session, in_line);
}
