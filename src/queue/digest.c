/* Digest: equal states, equal numbers.
 *
 * A multiply-and-fold chain (as in wyhash and its kin, but plain) over fields in a
 * fixed order. It finds bugs and forks; it is no defence against somebody who wants two
 * states to look the same. It must not depend on pointers, on the order in hash maps
 * (seeded per process), or on anything only the leader knows: next_order, messages of
 * durability 0, sent marks, forgotten ids. */
#include "queue/digest.h"

#include "queue/history.h"
#include "queue/level.h"
#include "queue/trail.h"

#include <string.h>

#define SEED   UINT64_C(0x9e3779b97f4a7c15)
#define FACTOR UINT64_C(0xd6e8feb86659fd93)

static inline uint64_t
mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * FACTOR;
    h ^= h >> 32;
    h *= SEED;
    return h ^ h >> 29;
}

static uint64_t
mix_bytes(uint64_t h, const void *data, size_t size)
{
    const uint8_t *at = data;
    h = mix(h, size);
    for (; size >= 8; at += 8, size -= 8)
        h = mix(h, get_u64(at));
    uint64_t last = 0;
    for (size_t i = 0; i < size; i++)
        last |= (uint64_t)at[i] << (8 * i);
    return mix(h, last);
}

static uint64_t
mix_id(uint64_t h, const struct uuid *id)
{
    return mix(mix(h, get_u64(id->b)), get_u64(id->b + 8));
}

static uint64_t
mix_trail(uint64_t h, const struct trail *trail)
{
    h = mix(h, (uint64_t)trail->dropped << 32 | trail->count);
    for (uint8_t i = 0; i < trail->count; i++) {
        const struct trail_event *e = &trail->events[i];
        h = mix(mix(mix(h, e->at_ms), e->session), e->kind);
    }
    return h;
}

uint64_t
digest_message(const struct message *m)
{
    uint64_t small = (uint64_t)m->place | (uint64_t)m->type << 8 |
                     (uint64_t)m->durability << 16 | (uint64_t)m->queue->number << 32;
    uint64_t h = mix_id(mix(SEED, small), &m->id);
    h = mix(h, m->order);
    h = mix(h, m->ready_ms);
    h = mix(h, m->received_ms);
    h = mix(h, (uint64_t)m->delay_secs << 32 | m->deliveries);
    h = mix(h, (uint64_t)m->body_crc << 32 | m->body_size);
    if (m->key_size > 0)
        h = mix_bytes(h, m->body->data + m->body_size, m->key_size);
    if (m->place == PLACE_HELD)
        h = mix(mix(h, m->holder->number), m->held_order);
    if (m->place == PLACE_DEAD)
        h = mix(mix(h, m->dead_reason), m->dead_ms);
    return m->trail == NULL ? h : mix_trail(h, m->trail);
}

static uint64_t
mix_session(uint64_t h, const struct session *x)
{
    uint64_t flags = (uint64_t)x->has_prev | (uint64_t)x->is_saved << 1 |
                     (uint64_t)x->has_received << 2;
    h = mix(h, x->number);
    h = mix_id(h, &x->id);
    if (x->has_prev)
        h = mix_id(h, &x->prev_id);
    h = mix(h, flags << 32 | x->capacity);
    h = mix(h, x->next_held);
    return mix(h, x->is_saved ? x->saved_ms : 0);
}

static uint64_t
mix_login(uint64_t h, const struct login_secret *login)
{
    h = mix_bytes(h, login->username, login->username_size);
    h = mix_bytes(h, login->salt, LOGIN_SALT_BYTES);
    h = mix_bytes(h, login->hash, LOGIN_HASH_BYTES);
    return mix(h, (uint64_t)login->n << 32 | (uint64_t)login->r << 16 | login->p);
}

static uint64_t
mix_queue(uint64_t h, const struct queue *q)
{
    h = mix(h, (uint64_t)q->number << 8 | (uint64_t)q->tier);
    h = mix_bytes(h, q->name, strlen(q->name));
    h = mix(h, q->created_ms);
    for (int i = 0; i < SETTING_COUNT; i++)
        h = mix(h, q->settings[i]);
    for (int i = 0; i < ROLE_COUNT; i++)
        h = mix_login(h, &q->logins[i]);
    h = mix(h, q->next_session);
    h = mix(h, q->line.count);
    for (struct tree_node *n = tree_first(&q->line); n != NULL; n = tree_next(n))
        h = mix_session(h, CONTAINER_OF(n, struct session, in_line));
    h = mix(h, (uint64_t)history_crc(q->stats) << 32 | history_crc(q->usage));
    h = mix(h, history_row_count(q->stats));
    return mix(h, history_row_count(q->usage));
}

uint64_t
digest_frame(const struct state *s)
{
    uint64_t h = mix(SEED, s->stamp_ms);
    h = mix(h, s->epoch_leader);
    h = mix(h, s->epoch_floor_ms);
    h = mix(h, (uint64_t)s->next_queue << 32 | s->queue_count);
    if (s->level > HF_LEVEL_FIRST)
        h = mix(h, s->level);
    LIST_FOREACH (node, &s->queues)
        h = mix_queue(h, CONTAINER_OF(node, struct queue, in_state));
    return h;
}

static uint64_t
sum_messages(const struct tree *ids)
{
    uint64_t sum = 0;
    for (struct tree_node *n = tree_first(ids); n != NULL; n = tree_next(n)) {
        const struct message *m = CONTAINER_OF(n, struct message, in_ids);
        if (m->durability > 0)
            sum += digest_message(m);
    }
    return sum;
}

uint64_t
digest_join(uint64_t frame, uint64_t messages)
{
    return mix(frame, messages);
}

uint64_t
state_digest(const struct state *s)
{
    uint64_t sum = 0;
    LIST_FOREACH (node, &s->queues) {
        const struct queue *q = CONTAINER_OF(node, struct queue, in_state);
        sum += sum_messages(&q->messages) + sum_messages(&q->dead);
    }
    return digest_join(digest_frame(s), sum);
}
