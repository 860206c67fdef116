/* Checker: the nodes. One history, one state, all invariants, and at the end exactly
 * what was confirmed and not settled. */
#include "base/mem.h"
#include "checker.h"
#include "client.h"

#include <assert.h>
#include <string.h>

struct histories {
    uint64_t *chains; /* by index; 0 = not known */
    uint64_t *digests;
    uint64_t capacity;
};

struct histories *
histories_new(void)
{
    return mem_calloc(1, sizeof(struct histories));
}

void
histories_free(struct histories *h)
{
    mem_free(h->chains);
    mem_free(h->digests);
    mem_free(h);
}

static void
reach(struct histories *h, uint64_t index)
{
    if (index < h->capacity)
        return;
    uint64_t capacity = h->capacity == 0 ? 4096 : h->capacity * 2;
    while (capacity <= index)
        capacity *= 2;
    h->chains = mem_realloc(h->chains, capacity * sizeof *h->chains);
    h->digests = mem_realloc(h->digests, capacity * sizeof *h->digests);
    memset(h->chains + h->capacity, 0, (capacity - h->capacity) * sizeof *h->chains);
    memset(h->digests + h->capacity, 0, (capacity - h->capacity) * sizeof *h->digests);
    h->capacity = capacity;
}

/* A machine crash in MODE_CHAOS may undo history. */
static bool
is_one_history(const struct sim *s)
{
    return s->options.mode == MODE_KILLS || s->machine_crashes == 0;
}

static void
compare(struct sim *s,
        const struct sim_node *n,
        uint64_t *known,
        uint64_t value,
        const char *what)
{
    value |= 1; /* 0 is not known */
    if (*known == 0)
        *known = value;
    else if (*known != value)
        sim_violation(s, "fork: node %u has another %s", n->id, what);
}

void
checker_digest(struct checker *k, struct sim *s, struct sim_node *n)
{
    const struct state *state = replica_state(n->replica);
    struct histories *h = checker_histories(k);
    if (!is_one_history(s))
        return;
    reach(h, state->applied);
    compare(s, n, &h->digests[state->applied], state_digest(state), "state");
}

/* --- counters --- */

static void
count_tree(const struct tree *tree, uint64_t now_ms, uint64_t *columns)
{
    for (struct tree_node *t = tree_first(tree); t != NULL; t = tree_next(t)) {
        const struct message *m = CONTAINER_OF(t, struct message, in_ids);
        columns[0]++;
        columns[5] += m->place == PLACE_HELD;
        columns[6] += m->place == PLACE_DEAD;
        columns[7] += m->place == PLACE_WAITING && m->ready_ms > now_ms;
        columns[8] += m->durability > 0;
    }
}

static void
check_counters(struct sim *s, struct sim_node *n)
{
    const struct queue *q = sim_queue(n);
    struct broker *b = replica_broker(n->replica);
    struct queue_live live;
    uint64_t columns[STATS_COLUMNS] = {0};
    if (q == NULL || !n->is_serving)
        return;
    broker_queue_live(b, q, &live);
    count_tree(&q->messages, broker_cluster_time_ms(b), columns);
    count_tree(&q->dead, 0, columns);
    for (struct tree_node *t = tree_first(&q->line); t != NULL; t = tree_next(t))
        columns[3] += CONTAINER_OF(t, struct session, in_line)->is_saved;
    static const int counted[] = {0, 3, 5, 6, 7, 8};
    for (size_t i = 0; i < sizeof counted / sizeof counted[0]; i++)
        if (columns[counted[i]] != live.columns[counted[i]])
            sim_violation(s, "node %u: getlivestats column %d is %llu, there are %llu",
                          n->id, counted[i],
                          (unsigned long long)live.columns[counted[i]],
                          (unsigned long long)columns[counted[i]]);
}

void
checker_node(struct checker *k, struct sim *s, struct sim_node *n)
{
    struct histories *h = checker_histories(k);
    struct rlog_status log;
    rlog_get_status(replica_rlog(n->replica), &log);
    const struct state *state = replica_state(n->replica);
    if (is_one_history(s) && !mutant_breaks(BROKEN_CHAIN)) {
        reach(h, log.applied_index);
        compare(s, n, &h->chains[log.applied_index], log.chain, "history");
    }
    const char *what = state_check(state);
    if (what != NULL)
        sim_violation(s, "node %u: state_check: %s", n->id, what);
    what = broker_check(replica_broker(n->replica));
    if (what != NULL)
        sim_violation(s, "node %u: broker_check: %s", n->id, what);
    if (n->is_serving) {
        check_counters(s, n);
    } else {
        if (state->applied != log.applied_index)
            sim_violation(s, "node %u: the state is at %llu, the log at %llu", n->id,
                          (unsigned long long)state->applied,
                          (unsigned long long)log.applied_index);
        checker_digest(k, s, n);
    }
}

/* --- service --- */

#define SERVICE_US 5000000 /* RELIABILITY: after a majority is back */

static bool
is_fit(const struct sim *s, const struct sim_node *n)
{
    /* Without a log it knows no members, and does not vote. */
    return sim_disk_last(n->disk) > 0 && n->is_alive && !n->is_dying && n->is_member &&
           !n->is_crashed && !n->is_blank && s->now_us >= n->backlog_us &&
           s->now_us >= n->paused_until_us && !sim_disk_is_disturbed(n->disk);
}

/* All of those that are fit reach each other. */
static bool
is_majority_fit(const struct sim *s)
{
    uint32_t members = 0;
    uint32_t fit = 0;
    for (uint32_t i = 1; i <= s->node_count; i++) {
        members += s->nodes[i].is_member;
        if (!is_fit(s, &s->nodes[i]))
            continue;
        fit++;
        for (uint32_t j = 1; j <= s->node_count; j++)
            if (is_fit(s, &s->nodes[j]) && sim_is_cut(s, i, j))
                return false;
    }
    return fit > members / 2;
}

/* Everybody is there, gated or not: where none is blank, the best log leads (relaxed
 * rule of the gate). */
static bool
is_whole(const struct sim *s)
{
    for (uint32_t i = 1; i <= s->node_count; i++) {
        struct sim_node n = s->nodes[i];
        if (!n.is_member)
            continue;
        n.is_crashed = false;
        if (!is_fit(s, &n))
            return false;
        for (uint32_t j = 1; j <= s->node_count; j++)
            if (s->nodes[j].is_member && sim_is_cut(s, i, j))
                return false;
    }
    return true;
}

void
checker_service(struct sim *s)
{
    bool is_clear = sim_weather(s, FAULT_LOSS) == 0 &&
                    sim_weather(s, FAULT_SLOW) <= 5 && sim_operator_is_idle(s);
    for (uint32_t i = 1; i <= s->node_count; i++)
        if (s->nodes[i].is_alive && s->nodes[i].is_serving)
            s->served_us = s->now_us;
    bool is_soon = is_whole(s);
    if (!is_clear || (!is_soon && !is_majority_fit(s)))
        s->served_us = s->now_us;
    if (s->now_us > s->served_us + SERVICE_US)
        sim_violation(s,
                      "service: a majority is well and connected, and no leader "
                      "serves since %llu us",
                      (unsigned long long)s->served_us);
}

void
checker_look(struct checker *k, struct sim *s)
{
    checker_service(s);
    for (uint32_t i = 1; i <= s->node_count; i++) {
        struct sim_node *n = &s->nodes[i];
        if (n->is_alive && !n->is_dying && s->now_us >= n->paused_until_us)
            checker_node(k, s, n);
    }
    sim_push(s, s->now_us + 500000, &(struct sim_event){.type = EVENT_CHECK});
}

/* --- the end --- */

bool
checker_is_quiet(struct sim *s)
{
    uint64_t index = 0;
    if (!sim_operator_is_idle(s))
        return false;
    for (uint32_t i = 1; i <= s->node_count; i++) {
        struct sim_node *n = &s->nodes[i];
        struct rlog_status log;
        if (!n->is_member)
            continue;
        if (!n->is_alive)
            return false;
        rlog_get_status(replica_rlog(n->replica), &log);
        if (index == 0)
            index = log.applied_index;
        if (log.applied_index != index || log.last_index != index ||
            replica_state(n->replica)->applied != index)
            return false;
    }
    return true;
}

static void
check_convergence(struct sim *s, const struct sim_node *leader)
{
    struct rlog_status want;
    rlog_get_status(replica_rlog(leader->replica), &want);
    uint64_t digest = state_digest(replica_state(leader->replica));
    for (uint32_t i = 1; i <= s->node_count; i++) {
        struct sim_node *n = &s->nodes[i];
        struct rlog_status log;
        if (!n->is_member)
            continue;
        if (!n->is_alive)
            sim_violation(s, "the end: node %u is down", n->id);
        rlog_get_status(replica_rlog(n->replica), &log);
        if (log.is_gated)
            sim_violation(s, "the end: node %u is still gated", n->id);
        if (log.applied_index != want.applied_index ||
            (log.chain != want.chain && !mutant_breaks(BROKEN_CHAIN)))
            sim_violation(s, "the end: node %u is at %llu, leader %u at %llu", n->id,
                          (unsigned long long)log.applied_index, leader->id,
                          (unsigned long long)want.applied_index);
        if (replica_state(n->replica)->applied != log.applied_index)
            sim_violation(s, "the end: node %u has open batches", n->id);
        if (state_digest(replica_state(n->replica)) != digest)
            sim_violation(s,
                          "the end: node %u has another state at %llu (leader: %llu)",
                          n->id, (unsigned long long)log.applied_index,
                          (unsigned long long)replica_state(leader->replica)->applied);
    }
}

static void
check_there(struct sim *s, struct known *m, const struct message *found)
{
    unsigned long long key = m->key;
    bool is_dead = found->place == PLACE_DEAD;
    m->is_seen = true;
    if (found->durability != m->durability || (is_dead && m->durability == 0))
        sim_violation(s, "the end: m%llu has durability %u", key, found->durability);
    if (!checker_is_sure(s, m))
        return;
    if (!is_dead && m->gone != GONE_NOT)
        sim_violation(s, "the end: m%llu (d%u) was settled (%u) and is in the queue",
                      key, m->durability, m->gone);
    if (is_dead &&
        ((m->dead_tries == 0 && m->redriven_us == 0 && !m->is_fuzzy) ||
         m->dlq_deleted_us != 0 || m->gone == GONE_ACK || m->gone == GONE_DELETED))
        sim_violation(s, "dlq-exact: m%llu (d%u, settled %u) is there at the end", key,
                      m->durability, m->gone);
}

static void
check_tree(struct checker *k, struct sim *s, const struct tree *tree)
{
    for (struct tree_node *t = tree_first(tree); t != NULL; t = tree_next(t)) {
        const struct message *found = CONTAINER_OF(t, struct message, in_ids);
        struct known *m = checker_by_body(k, s, found->body);
        checker_bind(k, s, m, &found->id);
        checker_body(s, m, found->body, found->body_size, found->type);
        check_there(s, m, found);
    }
}

static void
check_missing(struct sim *s, const struct known *m)
{
    bool is_dead = m->gone == GONE_NACK || m->gone == GONE_MOVED;
    if (m->is_seen || m->told_us == 0 || m->durability == 0 || !checker_is_sure(s, m))
        return;
    if (m->tries == 0)
        sim_violation(s, "no-loss: m%llu (d%u, confirmed at %llu us) is gone",
                      (unsigned long long)m->key, m->durability,
                      (unsigned long long)m->told_us);
    if (is_dead && m->dlq_tries == 0)
        sim_violation(s,
                      "no-loss: m%llu (d%u) was put into the dead letter queue at %llu "
                      "us and is not there",
                      (unsigned long long)m->key, m->durability,
                      (unsigned long long)m->gone_us);
}

void
checker_finish(struct checker *k, struct sim *s)
{
    struct sim_node *leader = sim_leader(s);
    if (leader == NULL)
        sim_violation(s, "the end: there is no leader");
    for (uint32_t i = 0; i < s->client_count; i++)
        if (!s->clients[i].is_gone)
            sim_violation(s, "the end: client %u could not finish", i);
    if (!sim_operator_is_idle(s))
        sim_violation(s, "the end: a change of members is not done");
    check_convergence(s, leader);
    for (uint32_t i = 1; i <= s->node_count; i++)
        if (s->nodes[i].is_alive)
            checker_node(k, s, &s->nodes[i]);
    const struct queue *q = sim_queue(leader);
    if (q == NULL)
        sim_violation(s, "the end: there is no queue");
    check_tree(k, s, &q->messages);
    check_tree(k, s, &q->dead);
    for (uint64_t key = 1; key <= checker_count(k); key++)
        check_missing(s, checker_known(k, key));
    if (tree_first(&q->line) != NULL)
        sim_violation(s, "the end: a session is left");
    struct tree_node *left = tree_first(&q->messages);
    if (left != NULL)
        sim_violation(s, "no-stuck: %llu messages are left and nobody got them: m%llu",
                      (unsigned long long)q->messages.count,
                      (unsigned long long)checker_by_body(
                          k, s, CONTAINER_OF(left, struct message, in_ids)->body)
                          ->key);
}
