/* Rejoin: see rejoin.h. */
#include "server/rejoin.h"

#include "base/log.h"
#include "raft/members.h"

#include <stdio.h>
#include <string.h>

static void
say(const struct trouble *t, const char *aside, const char *consequence)
{
    const struct disk_error *e = &t->error;
    bool is_conflict = t->why == ST_CONFLICT;
    if (is_conflict || e->file[0] == 0)
        log_event(LOG_ERROR, is_conflict ? "log.conflict" : "disk.damaged",
                  "what=%s aside=%s consequence=%s", log_quote(e->text),
                  log_quote(aside), log_quote(consequence));
    else
        log_event(LOG_ERROR, "disk.damaged",
                  "file=%s offset=%llu what=%s aside=%s consequence=%s",
                  log_quote(e->file), (unsigned long long)e->offset, log_quote(e->text),
                  log_quote(aside), log_quote(consequence));
}

/* Nobody else has what is damaged here, or may say in which term this node voted. */
static void
refuse(const struct config *c, const struct trouble *t, bool is_member)
{
    char consequence[400];
    if (t->why == ST_CONFLICT)
        (void)snprintf(consequence, sizeof consequence,
                       "exiting; the other members do not make a majority");
    else if (t->error.is_final && is_member)
        (void)snprintf(consequence, sizeof consequence,
                       "exiting; term and vote are lost and cannot be guessed; put "
                       "back one of the two files, or run: holdfastctl data check %s",
                       c->data_dir);
    else
        (void)snprintf(consequence, sizeof consequence,
                       "exiting; run: holdfastctl data check %s, then: holdfastctl "
                       "data repair %s --config %s",
                       c->data_dir, c->data_dir, c->file);
    say(t, "none", consequence);
}

enum status
rejoin_try(const struct config *c, const struct trouble *trouble)
{
    const struct rlog_members *members = &trouble->error.members;
    char name[DISK_ASIDE_NAME_BYTES];
    struct disk_error error;
    struct disk_options options = {.dir = c->data_dir, .node_id = c->node_id};
    if (members->count == 0)
        members = &c->initial_cluster;
    bool is_possible = rlog_members_can_spare(members, c->node_id);
    if (!is_possible || trouble->error.is_final) {
        refuse(c, trouble, is_possible);
        return ST_DENIED;
    }
    config_cluster_id(c, options.cluster_id);
    enum status st = disk_set_aside(&options, trouble->error.text, name, &error);
    if (st == ST_OK) {
        say(trouble, name, "rejoining: all of it comes from the other members");
        return ST_OK;
    }
    say(trouble, "none", "exiting");
    log_event(LOG_ERROR, "disk.not_set_aside", "status=%s what=%s consequence=exiting",
              log_quote(status_name(st)), log_quote(error.text));
    return st;
}
