/* An administrator: publishes, reads, deletes, moves, and changes a setting. */
#include "client.h"

static enum admin_command
a_command(struct sim *s)
{
    static const enum admin_command commands[] = {
        ADMIN_ADDMSG,    ADMIN_ADDMSG,     ADMIN_GETMSG,       ADMIN_GETMSG,
        ADMIN_GETMSG,    ADMIN_GETMSG,     ADMIN_GETMSG,       ADMIN_DELMSG,
        ADMIN_MOVETODLQ, ADMIN_GETDLQMSG,  ADMIN_GETDLQMSG,    ADMIN_DELDLQMSG,
        ADMIN_GETMSGS,   ADMIN_GETDLQMSGS, ADMIN_GETLIVESTATS, ADMIN_GETCFG,
    };
    if (sim_chance(s, 20))
        return ADMIN_SETCFG;
    return commands[sim_range(s, 0, sizeof commands / sizeof commands[0] - 1)];
}

static bool
fill(struct sim *s, struct op *op, struct admin_fields *fields)
{
    fields->command = op->command;
    switch (op->command) {
    case ADMIN_ADDMSG:
        client_fill_publish(s, op, &fields->publish);
        return true;
    case ADMIN_GETMSGS:
    case ADMIN_GETDLQMSGS:
        fields->is_open = true;
        fields->is_before = sim_chance(s, 500);
        fields->count = (uint32_t)sim_range(s, 1, 40);
        return true;
    case ADMIN_SETCFG:
        op->value = (uint32_t)sim_range(s, 300, 3600);
        fields->settings.count = 1;
        fields->settings.items[0].id = SETTING_STATS_FREQUENCY_SECS;
        fields->settings.items[0].value = op->value;
        return true;
    case ADMIN_GETLIVESTATS:
    case ADMIN_GETCFG:
    case ADMIN_GETSTATS:
    case ADMIN_GETUSAGE:
        return true;
    case ADMIN_REDRIVE: /* by an operator: client_redrive.c */
    case ADMIN_PURGE:
    case ADMIN_HISTORY:
        return false;
    case ADMIN_GETMSG:
    case ADMIN_DELMSG:
    case ADMIN_MOVETODLQ:
    case ADMIN_GETDLQMSG:
    case ADMIN_DELDLQMSG:
        break;
    }
    bool is_dead = op->command == ADMIN_GETDLQMSG || op->command == ADMIN_DELDLQMSG;
    op->message = checker_pick(s->checker, s, is_dead);
    if (op->message == NULL)
        return false;
    fields->has_id = true;
    fields->id = op->message->id;
    return true;
}

static void
command(struct sim *s, struct sim_client *c)
{
    struct op *op = client_begin(s, c, OP_ADMIN);
    op->command = a_command(s);
    struct request *r = client_request(c, op, PARCEL_ADMIN);
    if (!fill(s, op, r->admin)) {
        op->command = r->admin->command = ADMIN_GETLIVESTATS;
    }
    checker_try(s->checker, op);
    client_send(s, c, r);
    s->counts.admin++;
}

void
admin_wake(struct sim *s, struct sim_client *c)
{
    struct request *r;
    if (s->now_us >= c->leave_us) {
        client_drop(s, c);
        c->is_gone = true;
        return;
    }
    if (sim_chance(s, 60) || c->redrive.message != NULL)
        client_redrive(s, c);
    if (c->conn == NULL) {
        if (client_connect(s, c, OP_LOGIN, ROLE_ADMIN, &r))
            client_send(s, c, r);
        client_wake_in(s, c, sim_range(s, 20000, 200000));
        return;
    }
    if (sim_chance(s, 5)) {
        client_drop(s, c);
        client_wake_in(s, c, sim_range(s, 1000, 500000));
        return;
    }
    if (c->is_open && c->next_op - c->first_op < c->window)
        command(s, c);
    client_wake_in(s, c, sim_range(s, 1000, 30000));
}
