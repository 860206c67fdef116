/* Checker: what a reply says, judged when it leaves its node. */
#include "checker.h"
#include "client.h"

#include <assert.h>
#include <string.h>

static unsigned long long
key_of(const struct known *m)
{
    return m->key;
}

/* It is in the queue (waiting, delayed or held), whatever is on its way. own: how many
 * tries are the op's own. */
static bool
is_certainly_there(const struct sim *s,
                   const struct known *m,
                   const struct sim_conn *conn,
                   const struct op *op,
                   uint32_t own)
{
    if (m->told_us == 0 || m->told_us >= op->sent_us || m->tries > own ||
        m->gone != GONE_NOT || !checker_is_sure(s, m))
        return false;
    return m->durability > 0 || m->reign == conn->reign;
}

static void
settled(struct sim *s, struct known *m, enum gone gone)
{
    if (m->gone != GONE_NOT && checker_is_sure(s, m))
        sim_violation(s, "settled-once: m%llu (d%u) was settled (%u) and is again (%u)",
                      key_of(m), m->durability, m->gone, gone);
    if (m->durability == 0 && (gone == GONE_NACK || gone == GONE_MOVED))
        sim_violation(s, "d0-not-rejected: m%llu", key_of(m));
    m->gone = gone;
    m->gone_us = s->now_us;
    s->counts.settled++;
}

/* The try was refused: it did nothing. */
static void
untry(const struct op *op, bool is_admin, bool is_dead)
{
    assert(op->message->tries > 0);
    op->message->tries--;
    if (is_admin)
        op->message->admin_tries--;
    if (is_dead)
        op->message->dead_tries--;
}

static void
told_settle(struct sim *s,
            const struct sim_conn *conn,
            const struct op *op,
            unsigned code)
{
    struct known *m = op->message;
    const struct chain *chain = s->clients[conn->client].chain;
    if (code == 0) {
        settled(s, m, op->is_ack ? GONE_ACK : GONE_NACK);
        checker_prove(s, chain, op->sent_us);
        if (chain != NULL && m->last_chain != chain->number && checker_is_sure(s, m))
            sim_violation(s,
                          "one-holder: m%llu is settled by session %llu; session %llu "
                          "was given it at %llu us",
                          key_of(m), (unsigned long long)chain->number,
                          (unsigned long long)m->last_chain,
                          (unsigned long long)m->last_us);
        return;
    }
    untry(op, false, !op->is_ack);
    if (code == 305 && m->durability == 0 && !op->is_ack)
        return;
    if (code != 301)
        sim_violation(s, "m%llu (d%u): %s refused with %u", key_of(m), m->durability,
                      op->is_ack ? "ack" : "nack", code);
    /* An administrator took it and gave it back while its holder was away, and the ack
     * was on its way when that was known. */
    bool is_returned = op->sent_us <= m->redriven_us;
    if (s->options.mode == MODE_KILLS && op->was_held && m->admin_tries == 0 &&
        !is_returned)
        sim_violation(s, "hold-kept: m%llu (d%u): 301 for client %u, which holds it",
                      key_of(m), m->durability, conn->client);
}

static void
told_login(struct checker *k,
           struct sim *s,
           const struct sim_conn *conn,
           const struct op *op,
           const struct reply *reply)
{
    struct sim_client *c = &s->clients[conn->client];
    if (reply->code == 109 && op->is_resume) {
        checker_not_resumed(k, s, conn, op);
        return;
    }
    if (reply->code != 0)
        sim_violation(s, "client %u: login refused with %u", c->id, reply->code);
    if (c->kind != CLIENT_SUBSCRIBER)
        return;
    if (op->is_resume) {
        checker_resumed(k, s, conn, op, &reply->id);
        return;
    }
    assert(c->chain == NULL);
    c->chain = checker_new_chain(k, &reply->id, op->capacity);
    c->chain->conn = conn->number;
}

static void
told_capacity(struct sim *s,
              const struct sim_conn *conn,
              const struct op *op,
              unsigned code)
{
    struct chain *chain = s->clients[conn->client].chain;
    if (code != 0)
        sim_violation(s, "client %u: capacity refused with %u", conn->client, code);
    if (chain == NULL)
        return;
    checker_prove(s, chain, op->sent_us);
}

static void
told_taken(struct sim *s,
           const struct sim_conn *conn,
           const struct op *op,
           unsigned code)
{
    struct known *m = op->message;
    bool is_move = op->command == ADMIN_MOVETODLQ;
    if (code == 0) {
        settled(s, m, is_move ? GONE_MOVED : GONE_DELETED);
        return;
    }
    if (code == 301 && is_certainly_there(s, m, conn, op, 1))
        sim_violation(s, "fresh-reads: m%llu (d%u) is there and was not found",
                      key_of(m), m->durability);
    if (code != 301 && !(code == 413 && is_move && m->durability == 0))
        sim_violation(s, "m%llu (d%u): delmsg or movetodlq refused with %u", key_of(m),
                      m->durability, code);
    untry(op, true, is_move);
}

static bool
is_certainly_dead(const struct sim *s,
                  const struct known *m,
                  const struct op *op,
                  uint32_t own)
{
    return (m->gone == GONE_NACK || m->gone == GONE_MOVED) &&
           m->gone_us < op->sent_us && m->dlq_tries <= own && checker_is_sure(s, m);
}

static void
told_dlq_deleted(struct sim *s, const struct op *op, unsigned code)
{
    struct known *m = op->message;
    if (code == 0) {
        if (m->dead_tries == 0 && m->redriven_us == 0)
            sim_violation(s, "dlq-exact: m%llu was there", key_of(m));
        if (m->dlq_deleted_us != 0 && checker_is_sure(s, m))
            sim_violation(s, "settled-once: m%llu was deleted twice", key_of(m));
        m->dlq_deleted_us = s->now_us;
        return;
    }
    if (code != 301 || is_certainly_dead(s, m, op, 1))
        sim_violation(s, "fresh-reads: dead m%llu: deldlqmsg refused with %u",
                      key_of(m), code);
    m->dlq_tries--;
}

static void
check_view(struct sim *s, const struct known *m, const struct reply *reply)
{
    const struct message_view *v = reply->rows;
    if (reply->row_count != 1 || v->body == NULL || uuid_compare(&v->id, &m->id) != 0 ||
        v->durability != m->durability || v->delay_secs != m->delay_secs)
        sim_violation(s, "fresh-reads: m%llu reads wrong", key_of(m));
    checker_body(s, m, v->body, v->body_size, v->type);
}

static void
told_read(struct sim *s,
          const struct sim_conn *conn,
          const struct op *op,
          const struct reply *reply)
{
    const struct known *m = op->message;
    bool is_dlq = op->command == ADMIN_GETDLQMSG;
    s->counts.reads++;
    if (reply->code == 0) {
        check_view(s, m, reply);
        if (is_dlq &&
            ((m->dead_tries == 0 && m->redriven_us == 0) || m->durability == 0))
            sim_violation(s, "dlq-exact: m%llu is there", key_of(m));
        bool is_gone = is_dlq
                           ? m->dlq_deleted_us != 0 && m->dlq_deleted_us < op->sent_us
                           : m->gone != GONE_NOT && m->gone_us < op->sent_us;
        if (is_gone && checker_is_sure(s, m))
            sim_violation(s, "fresh-reads: m%llu was read after it was gone",
                          key_of(m));
        return;
    }
    if (reply->code != 301)
        sim_violation(s, "m%llu: getmsg refused with %u", key_of(m), reply->code);
    if (is_dlq ? is_certainly_dead(s, m, op, 0) : is_certainly_there(s, m, conn, op, 0))
        sim_violation(s, "fresh-reads: m%llu (d%u) is there and was not found",
                      key_of(m), m->durability);
}

static void
told_list(struct checker *k,
          struct sim *s,
          const struct op *op,
          const struct reply *reply)
{
    const struct uuid *before = NULL;
    for (uint32_t i = 0; i < reply->row_count; i++) {
        const struct uuid *id = &reply->rows[i].id;
        const struct known *m = checker_by_id(k, id);
        if (before != NULL && uuid_compare(before, id) >= 0)
            sim_violation(s, "a page is not in order of ids");
        before = id;
        if (m == NULL || !checker_is_sure(s, m))
            continue;
        uint64_t gone_us =
            op->command == ADMIN_GETMSGS ? m->gone_us : m->dlq_deleted_us;
        if (gone_us != 0 && gone_us < op->sent_us)
            sim_violation(s, "fresh-reads: m%llu is in a page after it was gone",
                          key_of(m));
    }
}

static void
told_config(struct checker *k,
            struct sim *s,
            const struct op *op,
            const struct reply *reply)
{
    struct checker_config *config = checker_config(k);
    if (reply->code != 0)
        sim_violation(s, "getcfg or setcfg refused with %u", reply->code);
    if (op->command == ADMIN_SETCFG) {
        config->value = op->value;
        config->open--;
    } else if (config->value != 0 && config->open == 0 &&
               reply->config[SETTING_STATS_FREQUENCY_SECS] != config->value) {
        sim_violation(s, "fresh-reads: a setting is %llu, %u was confirmed",
                      (unsigned long long)reply->config[SETTING_STATS_FREQUENCY_SECS],
                      config->value);
    }
}

static void
told_live(struct sim *s, const struct reply *reply)
{
    const uint64_t *live = reply->live;
    if (reply->code != 0 || live[5] + live[6] > live[0] || live[8] > live[0] ||
        live[7] + live[5] + live[6] > live[0])
        sim_violation(s, "getlivestats does not add up");
}

/* Some disk must have been full, as its node has said. */
static void
told_no_room(struct sim *s, struct known *m)
{
    bool is_any_full = false;
    for (uint32_t i = 1; i <= s->node_count; i++)
        is_any_full = is_any_full || sim_disk_was_full(s->nodes[i].disk);
    if (!is_any_full || m->durability == 0 || m->has_id)
        sim_violation(s, "no-room: m%llu (d%u) is refused%s", key_of(m), m->durability,
                      is_any_full ? "" : ", and no disk was full");
    m->is_refused = true;
    s->counts.no_room++;
}

static void
told_publish(struct checker *k,
             struct sim *s,
             const struct sim_conn *conn,
             const struct op *op,
             const struct reply *reply)
{
    if (reply->code == 502) {
        told_no_room(s, op->message);
        return;
    }
    if (reply->code != 0)
        sim_violation(s, "publish of m%llu refused with %u", key_of(op->message),
                      reply->code);
    checker_publish_told(k, s, op->message, conn, &reply->id);
}

static void
told_admin(struct checker *k,
           struct sim *s,
           const struct sim_conn *conn,
           const struct op *op,
           const struct reply *reply)
{
    switch (op->command) {
    case ADMIN_ADDMSG:
        told_publish(k, s, conn, op, reply);
        break;
    case ADMIN_DELMSG:
    case ADMIN_MOVETODLQ:
        told_taken(s, conn, op, reply->code);
        break;
    case ADMIN_DELDLQMSG:
        told_dlq_deleted(s, op, reply->code);
        break;
    case ADMIN_GETMSG:
    case ADMIN_GETDLQMSG:
        told_read(s, conn, op, reply);
        break;
    case ADMIN_GETMSGS:
    case ADMIN_GETDLQMSGS:
        told_list(k, s, op, reply);
        break;
    case ADMIN_GETCFG:
    case ADMIN_SETCFG:
        told_config(k, s, op, reply);
        break;
    case ADMIN_GETLIVESTATS:
        told_live(s, reply);
        break;
    case ADMIN_GETSTATS:
    case ADMIN_GETUSAGE:
    case ADMIN_REDRIVE:
    case ADMIN_PURGE:
    case ADMIN_HISTORY:
        break;
    }
}

static const char *
name_of(const struct op *op)
{
    static const char *const commands[] = {
        [ADMIN_GETLIVESTATS] = "getlivestats",
        [ADMIN_GETSTATS] = "getstats",
        [ADMIN_GETUSAGE] = "getusage",
        [ADMIN_GETMSGS] = "getmsgs",
        [ADMIN_GETMSG] = "getmsg",
        [ADMIN_ADDMSG] = "addmsg",
        [ADMIN_DELMSG] = "delmsg",
        [ADMIN_MOVETODLQ] = "movetodlq",
        [ADMIN_GETDLQMSGS] = "getdlqmsgs",
        [ADMIN_GETDLQMSG] = "getdlqmsg",
        [ADMIN_DELDLQMSG] = "deldlqmsg",
        [ADMIN_GETCFG] = "getcfg",
        [ADMIN_SETCFG] = "setcfg",
    };
    switch (op->kind) {
    case OP_LOGIN:
        return op->is_resume ? "resume" : "login";
    case OP_PUBLISH:
        return "publish";
    case OP_SETTLE:
        return op->is_ack ? "ack" : "nack";
    case OP_CAPACITY:
        return "capacity";
    case OP_LOGOUT:
        return "logout";
    case OP_ADMIN:
        return commands[op->command];
    case OP_COPY:
        return "copy";
    }
    return "?";
}

void
checker_told(struct checker *k,
             struct sim *s,
             const struct sim_conn *conn,
             const struct request *r)
{
    struct sim_client *c = &s->clients[conn->client];
    uint64_t number = 0;
    if (r->context_size == sizeof number)
        memcpy(&number, r->context, sizeof number);
    struct op *op = c->conn == conn ? client_op(c, number) : NULL;
    if (op == NULL || op->is_told)
        sim_violation(s, "order: client %u is answered twice, or what it did not ask",
                      c->id);
    op->is_told = true;
    sim_say(s, "n%u -> c%u: %s of m%llu: %u", conn->node, c->id, name_of(op),
            op->message == NULL ? 0 : key_of(op->message), r->reply.code);
    if (r->parcel.kind != PARCEL_LOGIN)
        checker_replayed(s, conn);
    switch (op->kind) {
    case OP_LOGIN:
        told_login(k, s, conn, op, &r->reply);
        break;
    case OP_PUBLISH:
        told_publish(k, s, conn, op, &r->reply);
        break;
    case OP_SETTLE:
        told_settle(s, conn, op, r->reply.code);
        break;
    case OP_CAPACITY:
        told_capacity(s, conn, op, r->reply.code);
        break;
    case OP_LOGOUT:
        if (r->reply.code != 0)
            sim_violation(s, "logout refused with %u", r->reply.code);
        break;
    case OP_ADMIN:
        told_admin(k, s, conn, op, &r->reply);
        break;
    case OP_COPY:
        copy_told(s, conn, &r->reply);
        break;
    }
}
