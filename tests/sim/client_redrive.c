/* An operator takes a dead letter back among the waiting messages. The node is asked
 * without a connection, and says later whether the batch was committed. */
#include "client.h"

#include "broker/operate.h"
#include "queue/level.h"
#include "queue/sweep.h"

static bool
is_fit(const struct sim *s, const struct known *m)
{
    return m->has_id && m->durability > 0 && m->told_us != 0 && !m->is_fuzzy &&
           (m->gone == GONE_NACK || m->gone == GONE_MOVED) && m->tries == 1 &&
           m->dead_tries == 1 && m->dlq_tries == 0 && m->dlq_deleted_us == 0 &&
           m->gone_us + 20000 < s->now_us;
}

/* In the DLQ of the node that leads, and nobody is about to settle it. */
static struct known *
pick(struct sim *s)
{
    for (int i = 0; i < 4; i++) {
        struct known *m = checker_pick(s->checker, s, true);
        if (m != NULL && is_fit(s, m))
            return m;
    }
    return NULL;
}

/* By its id alone, or, where the level has it, by a sweep that finds just this one. */
static enum status
redrive(struct sim *s, struct sim_node *n, const struct known *m, uint64_t *ret_batch)
{
    struct broker *b = replica_broker(n->replica);
    struct slice name = slice_from_text("demo");
    struct bulk bulk = {.is_redrive = true,
                        .places = SWEEP_DEAD,
                        .has_after = true,
                        .has_last = true,
                        .after = m->id,
                        .last = m->id};
    struct bulk_result result;
    if (broker_level(b) < HF_LEVEL_SWEEPS || sim_chance(s, 500))
        return broker_redrive(b, name, &m->id, ret_batch);
    for (size_t i = UUID_SIZE; i > 0 && bulk.after.b[i - 1]-- == 0; i--)
        ; /* the id just before */
    enum status st = broker_bulk(b, name, &bulk, false, &result);
    if (st != ST_OK)
        return st;
    *ret_batch = result.batch;
    return result.count == 1 ? ST_OK : ST_NOTFOUND;
}

static void
begin(struct sim *s, struct sim_client *c)
{
    struct redrive *x = &c->redrive;
    struct sim_node *n = sim_leader(s);
    if (n == NULL || replica_is_handing_over(n->replica))
        return;
    struct known *m = pick(s);
    if (m == NULL)
        return;
    enum status st = redrive(s, n, m, &x->batch);
    sim_say(s, "c%u redrives m%llu on n%u: %s", c->id, (unsigned long long)m->key,
            n->id, status_name(st));
    if (st != ST_OK) /* by a leader of old, perhaps: it does not know */
        return;
    m->is_fuzzy = true;
    x->message = m;
    x->node = n->id;
    x->incarnation = n->incarnation;
    x->lead = replica_lead_count(n->replica);
    sim_node_wake(s, n);
}

void
client_redrive(struct sim *s, struct sim_client *c)
{
    struct redrive *x = &c->redrive;
    if (x->message == NULL) {
        if (!s->is_stopping)
            begin(s, c);
        return;
    }
    const struct sim_node *n = &s->nodes[x->node];
    enum status st = ST_CLOSED;
    if (n->is_alive && !n->is_dying && n->incarnation == x->incarnation)
        st = replica_batch_status(n->replica, x->lead, x->batch);
    if (st == ST_AGAIN)
        return;
    if (st == ST_OK && x->message->is_fuzzy)
        checker_redriven(s, x->message);
    x->message = NULL; /* else nobody knows, and it stays fuzzy */
}
