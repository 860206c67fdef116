/* Checker: sessions and what they hold, as their clients see it. */
#include "base/mem.h"
#include "checker.h"
#include "client.h"

#include <assert.h>

struct chain *
checker_new_chain(struct checker *k, const struct uuid *id, uint32_t capacity)
{
    struct chain *chain = mem_calloc(1, sizeof *chain);
    list_init(&chain->held);
    chain->number = checker_next_chain(k);
    chain->id = chain->next_id = *id;
    chain->bound = chain->most = capacity;
    return chain;
}

void
checker_let_go(struct holding *h)
{
    list_remove(&h->in_chain);
    list_remove(&h->in_message);
    h->chain->held_count--;
    mem_free(h);
}

void
checker_end_chain(struct checker *k, struct sim_client *c)
{
    struct list_node *node;
    (void)k;
    if (c->chain == NULL)
        return;
    while ((node = list_first(&c->chain->held)) != NULL)
        checker_let_go(CONTAINER_OF(node, struct holding, in_chain));
    mem_free(c->chain);
    c->chain = NULL;
}

void
checker_logged_in(struct chain *chain)
{
    chain->id = chain->next_id;
    chain->is_known = true;
    chain->doubts = 0;
}

/* The reply has arrived: what was given before has arrived before, unless it is paced.
 */
void
checker_set_capacity(const struct sim *s, struct chain *chain, uint32_t capacity)
{
    if (capacity > chain->most)
        chain->most = capacity;
    chain->bound = s->is_paced ? chain->most : capacity;
}

struct holding *
checker_holding(const struct chain *chain, const struct known *m)
{
    LIST_FOREACH (node, &m->holdings) {
        struct holding *h = CONTAINER_OF(node, struct holding, in_message);
        if (h->chain == chain)
            return h;
    }
    return NULL;
}

bool
checker_is_held(const struct holding *h, const struct sim_conn *conn)
{
    return h->stolen_us == 0 && (h->message->durability > 0 || h->reign == conn->reign);
}

void
checker_hold(struct checker *k, struct sim_client *c, struct known *m)
{
    struct chain *chain = c->chain;
    (void)k;
    if (chain == NULL || checker_holding(chain, m) != NULL)
        return;
    struct holding *h = mem_calloc(1, sizeof *h);
    h->message = m;
    h->chain = chain;
    h->reign = c->conn->reign;
    if (m->last_chain != chain->number)
        h->stolen_us = m->last_us;
    list_push_back(&chain->held, &h->in_chain);
    list_push_back(&m->holdings, &h->in_message);
    chain->held_count++;
}

static void
check_capacity(struct sim *s, const struct sim_client *c)
{
    uint32_t count = 0;
    LIST_FOREACH (node, &c->chain->held) {
        const struct holding *h = CONTAINER_OF(node, struct holding, in_chain);
        /* What an administrator took while it was saved is still in our list. */
        if (checker_is_held(h, c->conn) && h->message->admin_tries == 0)
            count++;
    }
    if (s->options.mode == MODE_KILLS && count > c->chain->bound)
        sim_violation(s, "capacity: client %u holds %u, its capacity is %u", c->id,
                      count, c->chain->bound);
}

struct known *
checker_got(struct checker *k,
            struct sim *s,
            struct sim_client *c,
            const struct delivery *d)
{
    struct known *m = checker_by_body(k, s, d->body);
    if (c->chain == NULL)
        return NULL;
    if (m->gone != GONE_NOT)
        return NULL; /* an administrator's doing; the notice follows */
    if (checker_holding(c->chain, m) != NULL)
        return m;
    checker_hold(k, c, m);
    check_capacity(s, c);
    return m;
}

void
checker_noticed(struct checker *k, struct sim_client *c, const struct notice *n)
{
    const struct known *m = checker_by_id(k, &n->id);
    struct holding *h = c->chain == NULL ? NULL : checker_holding(c->chain, m);
    if (h != NULL)
        checker_let_go(h);
}

void
checker_prove(struct sim *s, const struct chain *chain, uint64_t sent_us)
{
    if (s->options.mode != MODE_KILLS || chain == NULL)
        return;
    LIST_FOREACH (node, &chain->held) {
        const struct holding *h = CONTAINER_OF(node, struct holding, in_chain);
        if (h->stolen_us != 0 && h->stolen_us < sent_us)
            sim_violation(s,
                          "one-holder: m%llu is held by session %llu and was given to "
                          "another at %llu us",
                          (unsigned long long)h->message->key,
                          (unsigned long long)chain->number,
                          (unsigned long long)h->stolen_us);
    }
}

void
checker_resumed(struct checker *k,
                struct sim *s,
                const struct sim_conn *conn,
                const struct op *op,
                const struct uuid *id)
{
    struct chain *chain = s->clients[conn->client].chain;
    (void)k;
    assert(chain != NULL);
    checker_prove(s, chain, op->sent_us);
    chain->next_id = *id;
    chain->conn = conn->number;
    if (op->capacity > chain->most)
        chain->most = op->capacity;
    chain->bound = chain->most; /* what it held before may come only now */
    LIST_FOREACH_SAFE (node, &chain->held) {
        struct holding *h = CONTAINER_OF(node, struct holding, in_chain);
        if (h->message->durability == 0 && h->reign != conn->reign)
            checker_let_go(h); /* its leader is gone */
        else if (op->is_replay && h->stolen_us == 0)
            h->replay_conn = conn->number;
    }
    s->counts.resumed++;
}

void
checker_replayed(struct sim *s, const struct sim_conn *conn)
{
    const struct chain *chain = s->clients[conn->client].chain;
    if (chain == NULL || s->is_paced || s->options.mode != MODE_KILLS)
        return;
    LIST_FOREACH (node, &chain->held) {
        const struct holding *h = CONTAINER_OF(node, struct holding, in_chain);
        if (h->replay_conn == conn->number && h->message->admin_tries == 0)
            sim_violation(s,
                          "replay-complete: m%llu was held by session %llu and is not "
                          "sent again",
                          (unsigned long long)h->message->key,
                          (unsigned long long)chain->number);
    }
}

/* It was saved for longer than the limit; time passes also while nobody leads. */
static bool
has_expired(const struct sim *s, const struct sim_conn *old)
{
    uint64_t limit_us = SIM_SAVED_SECS * 1000000 - LATE_FRAME_US;
    uint64_t saved_us = old->learned_us != 0 ? old->learned_us : old->ended_us;
    /* A new leader has saved it, whatever the old one believes. */
    if (old->reign < s->reign_count && s->reigns[old->reign + 1].began_us < saved_us)
        saved_us = s->reigns[old->reign + 1].began_us;
    return s->now_us > saved_us + limit_us;
}

/* A resume was refused with 109. May it be? */
void
checker_not_resumed(struct checker *k,
                    struct sim *s,
                    const struct sim_conn *conn,
                    const struct op *op)
{
    const struct chain *chain = s->clients[conn->client].chain;
    const struct sim_conn *old = sim_conn_find(s, chain->conn);
    bool is_open = old->reign == conn->reign &&
                   (old->learned_us == 0 || old->learned_us >= op->sent_us);
    (void)k;
    s->counts.resumes_refused++;
    if (s->options.mode != MODE_KILLS || !chain->has_received || chain->doubts >= 2 ||
        (chain->doubts == 1 && chain->doubt_reign == conn->reign) || is_open ||
        has_expired(s, old))
        return;
    sim_violation(s,
                  "resume-works: session %llu of client %u: the node knew its end at "
                  "%llu us or ended it at %llu us, %u doubts",
                  (unsigned long long)chain->number, conn->client,
                  (unsigned long long)old->learned_us,
                  (unsigned long long)old->ended_us, chain->doubts);
}
