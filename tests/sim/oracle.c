/* Oracle: what the nodes say to each other and do with their logs, held against the
 * rules of Raft. It sees all frames as they leave, and all disks.
 *
 *  one-leader    nobody else leads in a term (entries and snapshots are a leader's)
 *  term-durable  no frame is of a later term than its sender's disk (R1)
 *  one-vote      a vote is on the disk when it is told, and is the only one of its term
 *  claim         what an answer says is stored is: written, or synced where it must be
 *                (R2, R3, R4), and it is the leader's entry (G1)
 *  one-history   what is applied at an index is the same for all and for ever
 *  completeness  who is elected has everything that was committed in earlier terms */
#include "base/mem.h"
#include "checker.h"
#include "raft/wire.h"
#include "server/timekeeper.h"

#include <string.h>

struct committed {
    uint64_t term; /* 0: not known */
    uint64_t in;   /* the term in which it was committed, or a later one */
    uint32_t crc;
};

struct oracle {
    uint32_t *leaders; /* by term, 0 = none yet */
    uint64_t leader_capacity;
    uint64_t vote_term[SIM_NODES_MAX + 1];
    uint64_t vote_for[SIM_NODES_MAX + 1];
    struct committed *entries; /* by index */
    uint64_t entry_capacity;
    uint64_t last; /* highest index that was applied */
    uint64_t safe; /* up to here a majority had it synced: nothing undoes it */
};

struct oracle *
oracle_new(void)
{
    return mem_calloc(1, sizeof(struct oracle));
}

void
oracle_free(struct oracle *o)
{
    mem_free(o->leaders);
    mem_free(o->entries);
    mem_free(o);
}

uint64_t
oracle_entries(const struct oracle *o)
{
    return o->last;
}

void
oracle_forget(struct oracle *o, const struct sim_node *n)
{
    o->vote_term[n->id] = o->vote_for[n->id] = 0;
}

/* The array's next capacity, with count elements zeroed behind the old ones. */
static void *
grow(void *array, uint64_t *capacity, uint64_t index, size_t size)
{
    uint64_t old = *capacity;
    if (index < old)
        return array;
    uint64_t now = old == 0 ? 1024 : old * 2;
    while (now <= index)
        now *= 2;
    uint8_t *grown = mem_realloc(array, now * size);
    memset(grown + old * size, 0, (now - old) * size);
    *capacity = now;
    return grown;
}

/* --- frames --- */

static void
check_leads(struct oracle *o, struct sim *s, const struct sim_node *n, uint64_t term)
{
    o->leaders = grow(o->leaders, &o->leader_capacity, term, sizeof *o->leaders);
    if (o->leaders[term] == 0)
        o->leaders[term] = n->id;
    else if (o->leaders[term] != n->id)
        sim_violation(s, "one-leader: nodes %u and %u both lead in term %llu",
                      o->leaders[term], n->id, (unsigned long long)term);
}

static void
check_term(struct sim *s, const struct sim_node *n, uint64_t term, const char *what)
{
    uint64_t durable;
    uint64_t vote;
    sim_disk_get_term(n->disk, &durable, &vote);
    if (term > durable)
        sim_violation(
            s, "term-durable: node %u says %s of term %llu, on its disk is %llu", n->id,
            what, (unsigned long long)term, (unsigned long long)durable);
}

static void
check_vote(struct oracle *o,
           struct sim *s,
           const struct sim_node *n,
           uint64_t to,
           const struct raft_request_vote_result *m)
{
    uint64_t durable;
    uint64_t vote;
    if (m->pre_vote)
        return;
    check_term(s, n, m->term, "a vote");
    if (!m->vote_granted)
        return;
    sim_disk_get_term(n->disk, &durable, &vote);
    if (durable == m->term && vote != to)
        sim_violation(s, "one-vote: node %u votes for %llu, on its disk is %llu", n->id,
                      (unsigned long long)to, (unsigned long long)vote);
    if (m->term < o->vote_term[n->id] ||
        (m->term == o->vote_term[n->id] && to != o->vote_for[n->id]))
        sim_violation(
            s, "one-vote: node %u votes for %llu in term %llu, after %llu in %llu",
            n->id, (unsigned long long)to, (unsigned long long)m->term,
            (unsigned long long)o->vote_for[n->id],
            (unsigned long long)o->vote_term[n->id]);
    o->vote_term[n->id] = m->term;
    o->vote_for[n->id] = to;
    sim_trigger(s, TRIGGER_VOTE, n->id, (uint32_t)to);
}

static void
check_result(const struct oracle *o,
             struct sim *s,
             const struct sim_node *n,
             uint64_t to,
             const struct raft_append_entries_result *m)
{
    check_term(s, n, m->term, "an answer");
    if (m->rejected != 0 || m->last_log_index == 0)
        return;
    unsigned long long index = m->last_log_index;
    if (!sim_disk_claim(n->disk, m->last_log_index))
        sim_violation(s, "claim: node %u says it has stored up to %llu", n->id, index);
    const struct sim_node *leader = &s->nodes[to];
    const struct rlog_entry *mine = sim_disk_entry(n->disk, m->last_log_index);
    const struct rlog_entry *its = sim_disk_entry(leader->disk, m->last_log_index);
    bool is_leader = m->term < o->leader_capacity && o->leaders[m->term] == to;
    uint64_t term;
    uint64_t vote;
    sim_disk_get_term(leader->disk, &term, &vote);
    if (is_leader && term == m->term && mine != NULL && its != NULL &&
        mine->term != its->term)
        sim_violation(s,
                      "claim: node %u has at %llu another entry than its leader %llu",
                      n->id, index, (unsigned long long)to);
}

/* The begin of an AppendEntries (raft/wire.c): decoding all of it costs more than the
 * rest of the simulator. */
static uint64_t
term_of_append(struct slice head)
{
    struct reader r = reader_of(head);
    (void)read_u64(&r);
    return read_u64(&r);
}

static void
check_small(struct oracle *o,
            struct sim *s,
            const struct sim_node *n,
            uint64_t to,
            const struct rlog_frame *frame)
{
    struct raft_request_vote vote;
    struct raft_request_vote_result vote_result;
    struct raft_append_entries_result result;
    struct rlog_snapshot_meta meta;
    uint64_t number;
    if (frame->kind == RLOG_FRAME_VOTE) {
        if (rlog_wire_get_vote(frame->head, &vote) == ST_OK && !vote.pre_vote)
            check_term(s, n, vote.term, "a request for votes");
    } else if (frame->kind == RLOG_FRAME_VOTE_RESULT) {
        if (rlog_wire_get_vote_result(frame->head, &vote_result) == ST_OK)
            check_vote(o, s, n, to, &vote_result);
    } else if (frame->kind == RLOG_FRAME_APPEND_RESULT) {
        if (rlog_wire_get_append_result(frame->head, &result, &number, &(uint8_t){0}) ==
            ST_OK)
            check_result(o, s, n, to, &result);
    } else if (frame->kind == RLOG_FRAME_SNAPSHOT_OFFER) {
        if (rlog_wire_get_offer(frame->head, &number, &meta) == ST_OK)
            check_leads(o, s, n, number);
    }
}

static const char *
kind_name(uint8_t kind)
{
    static const char *const names[] = {
        "?",           "append",   "append-result", "vote",  "vote-result",
        "timeout-now", "position", "offer",         "chunk", "snapshot-ack"};
    if (kind == TIMEKEEPER_FRAME)
        return "time";
    return kind < sizeof names / sizeof names[0] ? names[kind] : names[0];
}

/* What elections and time are about. */
static void
log_small(struct sim *s, const struct rlog_frame *frame)
{
    struct raft_request_vote v;
    struct raft_request_vote_result a;
    struct rlog_position p;
    if (frame->kind == RLOG_FRAME_VOTE && rlog_wire_get_vote(frame->head, &v) == ST_OK)
        sim_log(s, "  %svote: term %llu, log ends at %llu of term %llu",
                v.pre_vote ? "pre-" : "", (unsigned long long)v.term,
                (unsigned long long)v.last_log_index,
                (unsigned long long)v.last_log_term);
    else if (frame->kind == RLOG_FRAME_VOTE_RESULT &&
             rlog_wire_get_vote_result(frame->head, &a) == ST_OK)
        sim_log(s, "  %s, term %llu", a.vote_granted ? "granted" : "refused",
                (unsigned long long)a.term);
    else if (frame->kind == RLOG_FRAME_POSITION &&
             rlog_wire_get_position(frame->head, &p) == ST_OK)
        sim_log(s, "  log ends at %llu of term %llu%s",
                (unsigned long long)p.last_index, (unsigned long long)p.last_term,
                p.is_gated ? ", gated" : "");
    else if (frame->kind == TIMEKEEPER_FRAME)
        sim_log(s, "  cluster time %llu of term %llu%s",
                (unsigned long long)get_u64(frame->head.data + 16),
                (unsigned long long)get_u64(frame->head.data + 24),
                frame->head.data[1] != 0 ? ", leads" : "");
}

void
oracle_sent(struct oracle *o,
            struct sim *s,
            const struct sim_node *n,
            uint64_t to,
            const struct rlog_frame *frame)
{
    if (s->options.detail == DETAIL_FRAMES) {
        sim_log(s, "n%u -> n%llu: %s, %zu bytes, %u entries", n->id,
                (unsigned long long)to, kind_name(frame->kind), frame->head.size,
                frame->count);
        log_small(s, frame);
    }
    if (frame->kind != RLOG_FRAME_APPEND) {
        check_small(o, s, n, to, frame);
        return;
    }
    uint64_t term = term_of_append(frame->head);
    check_leads(o, s, n, term);
    check_term(s, n, term, "entries");
}

/* --- what is applied --- */

static void
note_applied(struct oracle *o,
             struct sim *s,
             const struct sim_node *n,
             uint64_t term,
             const struct rlog_entry *e)
{
    o->entries = grow(o->entries, &o->entry_capacity, e->index, sizeof *o->entries);
    struct committed *known = &o->entries[e->index];
    bool is_same = known->term == e->term && known->crc == e->crc;
    if (known->term != 0 && !is_same) {
        bool is_final = s->options.mode == MODE_KILLS || s->machine_crashes == 0 ||
                        e->index <= o->safe;
        /* A leader of before that slept: a follower had acknowledged it as written, and
         * lost it with its machine. The next leader's messages set it right. */
        bool is_late = term < known->in && !e->is_sync && e->type == RLOG_COMMAND;
        if (is_late && s->options.mode != MODE_KILLS && s->machine_crashes > 0)
            return;
        if (is_final)
            sim_violation(s,
                          "one-history: node %u applies at %llu an entry of term %llu, "
                          "another was committed in term %llu",
                          n->id, (unsigned long long)e->index,
                          (unsigned long long)e->term, (unsigned long long)known->term);
        /* What was only written has been undone, with all behind it. */
        for (uint64_t i = e->index; i <= o->last; i++)
            o->entries[i].term = 0;
        known->term = 0;
        o->last = e->index;
    }
    if (known->term == 0)
        *known = (struct committed){e->term, term, e->crc};
    if (e->index > o->last)
        o->last = e->index;
    if ((e->is_sync || e->type != RLOG_COMMAND) && e->index > o->safe)
        o->safe = e->index;
    if (e->type == RLOG_CHANGE && e->index > 1)
        sim_trigger(s, TRIGGER_CHANGED, n->id, 0);
}

void
oracle_applied(struct oracle *o,
               struct sim *s,
               struct sim_node *n,
               const struct rlog_status *log)
{
    while (n->seen_applied < log->applied_index) {
        const struct rlog_entry *e = sim_disk_entry(n->disk, ++n->seen_applied);
        if (e != NULL)
            note_applied(o, s, n, log->term, e);
    }
}

/* --- who is elected --- */

void
oracle_elected(const struct oracle *o, struct sim *s, const struct sim_node *n)
{
    bool is_final = s->options.mode == MODE_KILLS || s->machine_crashes == 0;
    uint64_t index = is_final ? o->last : o->safe;
    struct rlog_status log;
    rlog_get_status(replica_rlog(n->replica), &log);
    while (index > 0 &&
           (o->entries[index].term == 0 || o->entries[index].in >= log.term))
        index--;
    if (index == 0 || index <= sim_disk_snapshot(n->disk))
        return;
    const struct rlog_entry *e = sim_disk_entry(n->disk, index);
    if (e == NULL || e->term != o->entries[index].term)
        sim_violation(s,
                      "completeness: node %u is elected and has not entry %llu of term "
                      "%llu, which was committed (its log ends at %llu)",
                      n->id, (unsigned long long)index,
                      (unsigned long long)o->entries[index].term,
                      (unsigned long long)sim_disk_last(n->disk));
}
