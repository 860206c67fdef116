/* Checker: the messages that clients published, and what leaves a node. */
#include "checker.h"

#include "base/crc32c.h"
#include "base/mem.h"
#include "client.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

struct checker {
    struct known **all; /* by key, from 1 */
    uint64_t count;
    uint64_t capacity;
    struct map ids;
    struct uuid newest; /* the highest id that was told and counts */
    uint64_t chain_count;
    struct checker_config config;
    struct histories *histories;
};

struct checker *
checker_new(void)
{
    struct checker *k = mem_calloc(1, sizeof *k);
    map_init(&k->ids);
    k->histories = histories_new();
    return k;
}

void
checker_free(struct checker *k)
{
    for (uint64_t i = 0; i < k->count; i++)
        mem_free(k->all[i]);
    mem_free(k->all);
    map_fini(&k->ids);
    histories_free(k->histories);
    mem_free(k);
}

struct histories *
checker_histories(struct checker *k)
{
    return k->histories;
}

struct checker_config *
checker_config(struct checker *k)
{
    return &k->config;
}

uint64_t
checker_next_chain(struct checker *k)
{
    return ++k->chain_count;
}

uint64_t
checker_count(const struct checker *k)
{
    return k->count;
}

bool
checker_is_sure(const struct sim *s, const struct known *m)
{
    return !m->is_fuzzy && (s->options.mode == MODE_KILLS || m->durability != 1);
}

struct known *
checker_known(struct checker *k, uint64_t key)
{
    assert(key > 0 && key <= k->count);
    return k->all[key - 1];
}

struct known *
checker_publish(struct checker *k,
                struct sim *s,
                uint8_t durability,
                uint32_t delay_secs)
{
    if (k->count == k->capacity) {
        k->capacity = k->capacity == 0 ? 1024 : k->capacity * 2;
        k->all = mem_realloc(k->all, k->capacity * sizeof(struct known *));
    }
    struct known *m = mem_calloc(1, sizeof *m);
    k->all[k->count++] = m;
    list_init(&m->holdings);
    m->key = k->count;
    m->durability = durability;
    m->delay_secs = delay_secs;
    m->sent_us = s->now_us;
    m->floor = k->newest;
    return m;
}

/* --- bodies: made from the key alone --- */

static uint64_t
mix(uint64_t key)
{
    uint64_t z = key * UINT64_C(0x9E3779B97F4A7C15);
    return z ^ (z >> 31);
}

static uint32_t
body_size(uint64_t key)
{
    uint64_t z = mix(key);
    if (z % 97 == 0)
        return 12000 + (uint32_t)(z >> 20) % 8000;
    return 12 + (uint32_t)(z >> 20) % 150;
}

static uint8_t
key_size(uint64_t key)
{
    return mix(key + 1) % 4 == 0 ? 9 : 0;
}

static uint8_t
type_of(uint64_t key)
{
    return mix(key + 2) % 8 == 0 ? 2 : 1;
}

/* "m0000000012" and letters, then the publisher's key. */
static void
make_body(uint64_t key, uint8_t *out)
{
    char text[16];
    uint32_t size = body_size(key);
    (void)snprintf(text, sizeof text, "m%010llu", (unsigned long long)key);
    memcpy(out, text, 11);
    for (uint32_t i = 11; i < size; i++)
        out[i] = (uint8_t)('a' + (key + i) % 26);
    memset(out + size, 'k', key_size(key));
}

void
checker_fill(const struct known *m, struct publish_fields *fields)
{
    fields->key_size = key_size(m->key);
    fields->body = blob_new(body_size(m->key) + fields->key_size);
    make_body(m->key, fields->body->data);
    fields->type = type_of(m->key);
    fields->durability = m->durability;
    fields->delay_secs = m->delay_secs;
}

struct known *
checker_by_body(struct checker *k, struct sim *s, const struct blob *body)
{
    uint64_t key = 0;
    if (body->size < 12 || body->data[0] != 'm')
        sim_violation(s, "body-intact: a body that nobody published");
    for (int i = 1; i < 11; i++)
        key = key * 10 + (uint64_t)(body->data[i] - '0');
    if (key == 0 || key > k->count)
        sim_violation(s, "no-phantom: a body with a key that nobody used");
    return checker_known(k, key);
}

void
checker_body(struct sim *s,
             const struct known *m,
             const struct blob *body,
             uint32_t size,
             uint8_t type)
{
    uint8_t wanted[20100];
    uint32_t whole = body_size(m->key) + key_size(m->key);
    make_body(m->key, wanted);
    if (size != body_size(m->key) || body->size != whole || type != type_of(m->key) ||
        memcmp(body->data, wanted, whole) != 0)
        sim_violation(s, "body-intact: m%llu has changed", (unsigned long long)m->key);
}

/* --- ids --- */

static bool
has_id(const void *key, const struct map_node *node)
{
    return uuid_compare(key, &CONTAINER_OF(node, struct known, in_ids)->id) == 0;
}

struct known *
checker_by_id(const struct checker *k, const struct uuid *id)
{
    struct map_node *node = map_find(&k->ids, map_hash(id, sizeof *id), id, has_id);
    return node == NULL ? NULL : CONTAINER_OF(node, struct known, in_ids);
}

void
checker_bind(struct checker *k, struct sim *s, struct known *m, const struct uuid *id)
{
    if (m->has_id) {
        if (uuid_compare(&m->id, id) != 0)
            sim_violation(s, "published-once: m%llu has two ids",
                          (unsigned long long)m->key);
        return;
    }
    const struct known *other = checker_by_id(k, id);
    if (other != NULL)
        sim_violation(s, "published-once: m%llu and m%llu have one id",
                      (unsigned long long)m->key, (unsigned long long)other->key);
    if (uuid_compare(id, &m->floor) <= 0) {
        other = checker_by_id(k, &m->floor);
        sim_violation(
            s,
            "id-order: m%llu (d%u, %llu ms) has an id below that of m%llu (d%u, "
            "%llu ms), which was told before",
            (unsigned long long)m->key, m->durability, (unsigned long long)uuid7_ms(id),
            (unsigned long long)other->key, other->durability,
            (unsigned long long)uuid7_ms(&m->floor));
    }
    if (m->is_refused)
        sim_violation(s, "refused: m%llu is there", (unsigned long long)m->key);
    m->has_id = true;
    m->id = *id;
    map_insert(&k->ids, &m->in_ids, map_hash(id, sizeof *id));
}

void
checker_publish_told(struct checker *k,
                     struct sim *s,
                     struct known *m,
                     const struct sim_conn *conn,
                     const struct uuid *id)
{
    checker_bind(k, s, m, id);
    m->told_us = s->now_us;
    m->reign = conn->reign;
    s->counts.published[m->durability]++;
    /* An id that a machine crash may undo can be passed under. */
    bool counts = s->options.mode == MODE_KILLS || m->durability == 2;
    if (counts && uuid_compare(id, &k->newest) > 0)
        k->newest = *id;
}

/* --- tries --- */

struct known *
checker_pick(struct checker *k, struct sim *s, bool is_dead)
{
    for (int i = 0; i < 8 && k->count > 0; i++) {
        uint64_t back = sim_range(s, 0, is_dead ? 400 : 60);
        struct known *m =
            k->all[k->count - 1 - (back < k->count ? back : k->count - 1)];
        if (m->has_id && !m->is_fuzzy && (!is_dead || m->dead_tries > 0 || i == 7))
            return m;
    }
    return NULL;
}

static bool
is_admin_settle(const struct op *op)
{
    return op->kind == OP_ADMIN &&
           (op->command == ADMIN_DELMSG || op->command == ADMIN_MOVETODLQ);
}

void
checker_try(struct checker *k, const struct op *op)
{
    struct known *m = op->message;
    if (op->kind == OP_SETTLE || is_admin_settle(op))
        m->tries++;
    if (is_admin_settle(op))
        m->admin_tries++;
    if ((op->kind == OP_SETTLE && !op->is_ack) ||
        (op->kind == OP_ADMIN && op->command == ADMIN_MOVETODLQ))
        m->dead_tries++;
    if (op->kind == OP_ADMIN && op->command == ADMIN_DELDLQMSG)
        m->dlq_tries++;
    if (op->kind == OP_ADMIN && op->command == ADMIN_SETCFG)
        k->config.open++;
}

void
checker_unknown(struct checker *k, struct sim_client *c, const struct op *op)
{
    (void)k;
    if (op->kind == OP_LOGIN && op->is_resume && c->chain != NULL) {
        c->chain->doubts++;
        c->chain->doubt_reign = c->conn->reign;
    }
    if (c->chain != NULL && op->capacity > c->chain->most)
        c->chain->most = op->capacity;
}

void
checker_redriven(struct sim *s, struct known *m)
{
    struct list_node *node;
    m->is_fuzzy = false;
    m->redriven_us = s->now_us;
    /* The one that put it there; others may be on their way. */
    m->tries--;
    m->dead_tries--;
    m->admin_tries -= m->gone == GONE_MOVED;
    m->gone = GONE_NOT;
    m->gone_us = 0;
    m->last_conn = 0;
    m->told_us = s->now_us;
    /* Whoever lost it to an administrator while away does not know that. */
    while ((node = list_first(&m->holdings)) != NULL)
        checker_let_go(CONTAINER_OF(node, struct holding, in_message));
    s->counts.redriven++;
}

/* --- what leaves --- */

/* By cluster time, and by the time that has really passed. Cluster time is slewed a
 * little; a node that has just started takes it from its peers, whose frames are late,
 * and after a restart of all there is nothing better than the wall clocks, which
 * disagree. */
static void
check_delay(struct sim *s,
            const struct broker *b,
            const struct known *m,
            const struct delivery *d)
{
    uint64_t delay_us = 1000000ull * m->delay_secs;
    uint64_t slack_us = 20000 + delay_us / 1000;
    if (d->received_ms + delay_us / 1000 > broker_cluster_time_ms(b))
        sim_violation(s, "not-early: m%llu has a delay of %u s",
                      (unsigned long long)m->key, m->delay_secs);
    if (s->has_restarted)
        slack_us +=
            LATE_FRAME_US + (uint64_t)(s->skew_most_ms - s->skew_least_ms) * 1000;
    if (s->now_us + slack_us < m->sent_us + delay_us)
        sim_violation(
            s, "not-early: m%llu has a delay of %u s and was published %llu us ago",
            (unsigned long long)m->key, m->delay_secs,
            (unsigned long long)(s->now_us - m->sent_us));
}

static void
check_delivery(struct checker *k,
               struct sim *s,
               const struct sim_conn *conn,
               const struct delivery *d)
{
    struct known *m = checker_by_body(k, s, d->body);
    struct broker *b = replica_broker(s->nodes[conn->node].replica);
    unsigned long long key = m->key;
    checker_bind(k, s, m, &d->id);
    checker_body(s, m, d->body, d->body_size, d->type);
    s->counts.delivered++;
    if (m->is_fuzzy)
        checker_redriven(s, m); /* this shows it */
    if (m->gone != GONE_NOT && checker_is_sure(s, m))
        sim_violation(s,
                      "no-redelivery: m%llu (d%u) was settled (%u) at %llu us and is "
                      "delivered to client %u",
                      key, m->durability, m->gone, (unsigned long long)m->gone_us,
                      conn->client);
    m->gone = GONE_NOT; /* if it was, a machine crash has undone it */
    /* One that was moved to the DLQ before its delay ended comes back without. */
    if (m->redriven_us == 0)
        check_delay(s, b, m, d);
    if (m->last_conn == conn->number)
        sim_violation(s, "m%llu is delivered twice on one connection", key);
    struct chain *chain = s->clients[conn->client].chain;
    uint64_t number = chain == NULL ? 0 : chain->number;
    sim_say(s, "n%u -> c%u: m%llu (d%u), session %llu", conn->node, conn->client, key,
            m->durability, (unsigned long long)number);
    LIST_FOREACH (node, &m->holdings) {
        struct holding *h = CONTAINER_OF(node, struct holding, in_message);
        if (h->chain->number == number)
            h->replay_conn = 0;
        else if (h->stolen_us == 0)
            h->stolen_us = s->now_us;
    }
    if (chain != NULL && m->durability > 0)
        chain->has_received = true;
    m->last_chain = number;
    m->last_us = s->now_us;
    m->last_conn = conn->number;
}

void
checker_emitted(struct checker *k,
                struct sim *s,
                const struct sim_conn *conn,
                const struct parcel *parcel)
{
    if (parcel->kind <= PARCEL_REFUSED) {
        checker_told(k, s, conn, (const struct request *)(const void *)parcel);
    } else if (parcel->kind == PARCEL_DELIVERY) {
        const struct delivery *d = (const struct delivery *)(const void *)parcel;
        if (d->has_id)
            check_delivery(k, s, conn, d);
        else
            copy_emitted(s, conn, d);
    } else if (parcel->kind == PARCEL_NOTICE) {
        const struct notice *n = (const struct notice *)(const void *)parcel;
        const struct known *m = checker_by_id(k, &n->id);
        if (m == NULL || m->admin_tries == 0)
            sim_violation(s, "a notice of what no administrator did");
    }
}
