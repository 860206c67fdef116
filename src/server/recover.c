/* Recover: see recover.h. One entry behind all others, in a new term, says that this
 * node is the only member: at its next start it leads, and everything before that entry
 * counts as committed. */
#include "server/recover.h"

#include "base/crc32c.h"
#include "base/json.h"
#include "queue/salvage.h"
#include "raft/disk.h"
#include "raft/members.h"
#include "raft/rlog_members.h"
#include "server/data.h"
#include "server/exit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct recovery {
    struct rlog_disk *log;
    uint64_t last_index;
    uint64_t last_term;
    struct rlog_members members; /* the newest there */
};

static void
say_plan(const struct recovery *r, uint64_t id)
{
    (void)fprintf(stderr,
                  "Node %llu has entries up to %llu, the last one of term %llu. The "
                  "members are",
                  (unsigned long long)id, (unsigned long long)r->last_index,
                  (unsigned long long)r->last_term);
    for (uint32_t i = 0; i < r->members.count; i++)
        (void)fprintf(stderr, " %llu%s", (unsigned long long)r->members.members[i].id,
                      r->members.members[i].is_voter ? "" : " (stand-by)");
    (void)fprintf(
        stderr,
        ".\n\n"
        "It is to become the only member. What other nodes have and this one has not\n"
        "is lost for ever: messages that were confirmed, and the marks of messages\n"
        "that were acknowledged, which will be delivered again. Do it only when a\n"
        "majority of the nodes cannot come back, and only on the node that has the\n"
        "most (compare term and last entry: holdfastctl data check).\n\n"
        "No other node may ever start again with the data that it has: there would\n"
        "be two clusters. Make their data directories anew with holdfastctl cluster\n"
        "join, after holdfastctl cluster add.\n\n");
}

/* The new members, in a term of their own. */
static enum status
write_entry(struct recovery *r, uint64_t id)
{
    struct rlog_members alone = {.count = 1};
    struct bytes payload = {0};
    alone.members[0] = *rlog_members_find(&r->members, id);
    alone.members[0].is_voter = true;
    uint64_t term = r->log->found.term + 1;
    enum status st = r->log->ops->write_term(r->log->ctx, term, 0);
    if (st != ST_OK)
        return st;
    rlog_members_encode(&alone, &payload);
    struct rlog_entry e = {
        .index = r->last_index + 1,
        .term = term,
        .type = RLOG_CHANGE,
        .is_sync = true,
        .crc = crc32c(0, payload.data, payload.size),
        .blob = blob_copy(slice_of(payload.data, payload.size)),
        .size = (uint32_t)payload.size,
    };
    r->log->ops->append(r->log->ctx, &e, 1);
    blob_put(e.blob);
    bytes_fini(&payload);
    return ST_OK;
}

static int
go_on(const struct recover_options *o, struct recovery *r)
{
    const struct rlog_found *found = &r->log->found;
    uint64_t id = o->config->node_id;
    r->last_index = found->first_index + found->count - 1;
    r->last_term =
        found->count > 0 ? found->entries[found->count - 1].term : found->snapshot.term;
    if (rlog_found_members(r->log, &r->members) != ST_OK ||
        rlog_members_find(&r->members, id) == NULL) {
        (void)fprintf(stderr, "holdfastd: this node's log does not name it as a "
                              "member: it cannot go on alone\n");
        return EXIT_FAILED;
    }
    if (rlog_members_is_sole_voter(&r->members, id)) {
        (void)fprintf(stderr, "This node is the only voter already.\n");
        return EXIT_DONE;
    }
    say_plan(r, id);
    if (!data_is_confirmed(o->is_sure))
        return EXIT_USAGE;
    if (write_entry(r, id) != ST_OK) {
        (void)fprintf(stderr, "holdfastd: %s\n", strerror(errno));
        return EXIT_FAILED;
    }
    return EXIT_DONE;
}

static void
report_json(const struct recovery *r, uint64_t id, int code)
{
    struct bytes out = {0};
    struct json_writer w;
    json_write_begin(&w, &out);
    json_object_begin(&w, NULL);
    json_put_u64(&w, "node", id);
    json_put_u64(&w, "last_index", r->last_index);
    json_put_u64(&w, "last_term", r->last_term);
    json_put_bool(&w, "recovered", code == EXIT_DONE);
    json_put_u64(&w, "exit", (uint64_t)code);
    json_object_end(&w);
    (void)printf("%.*s\n", (int)out.size, (const char *)out.data);
    bytes_fini(&out);
}

int
recover(const struct recover_options *o)
{
    const struct config *c = o->config;
    char boot_id[DISK_BOOT_ID_MAX + 1];
    struct disk *d = NULL;
    struct disk_error error;
    struct recovery r = {0};
    struct disk_options options = {
        .dir = c->data_dir,
        .node_id = c->node_id,
        .boot_id = boot_id,
        .salvage_cb = entry_has_damaged_bodies,
    };
    if (config_boot_id(c->boot_id_file, boot_id, sizeof boot_id) != ST_OK) {
        (void)fprintf(stderr, "holdfastd: %s: %s\n", c->boot_id_file, strerror(errno));
        return EXIT_FAILED;
    }
    config_cluster_id(c, options.cluster_id);
    enum status st = disk_open(&options, &d, &error);
    int code = EXIT_FAILED;
    if (st != ST_OK) {
        code = data_fail(st, &error);
    } else {
        r.log = disk_rlog(d);
        if (disk_is_rejoining(d))
            (void)fprintf(stderr, "holdfastd: this node has lost its data and waits "
                                  "for the others: it cannot go on alone\n");
        else
            code = go_on(o, &r);
        r.log->ops->found_done(r.log->ctx);
        st = disk_close(d, true);
        if (code == EXIT_DONE && st != ST_OK)
            code = EXIT_FAILED;
    }
    if (o->is_json)
        report_json(&r, c->node_id, code);
    return code;
}
