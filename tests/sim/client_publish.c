/* Publishers: a window of publishes, now and then one in the login, a drop in between.
 */
#include "client.h"

#include <assert.h>

static uint8_t
a_durability(struct sim *s)
{
    uint64_t x = sim_range(s, 1, 8);
    if (x == 1)
        return 0;
    /* One entry that is synced makes all before it safe: some worlds go without. */
    if (s->is_lazy)
        return sim_chance(s, 15) ? 2 : 1;
    return x <= 5 ? 1 : 2;
}

void
client_fill_publish(struct sim *s, struct op *op, struct publish_fields *fields)
{
    uint32_t delay = sim_chance(s, 80) ? (uint32_t)sim_range(s, 1, 3) : 0;
    op->message = checker_publish(s->checker, s, a_durability(s), delay);
    checker_fill(op->message, fields);
}

static void
log_in(struct sim *s, struct sim_client *c)
{
    struct request *r;
    bool is_publish = sim_chance(s, 200);
    if (!client_connect(s, c, is_publish ? OP_PUBLISH : OP_LOGIN, ROLE_PUBLISHER, &r)) {
        client_wake_in(s, c, sim_range(s, 20000, 300000));
        return;
    }
    if (is_publish)
        client_fill_publish(s, client_op(c, c->first_op), &r->login->publish);
    client_send(s, c, r);
    client_wake_in(s, c, sim_range(s, 1000, 30000));
}

static void
publish(struct sim *s, struct sim_client *c)
{
    struct op *op = client_begin(s, c, OP_PUBLISH);
    struct request *r = client_request(c, op, PARCEL_PUBLISH);
    client_fill_publish(s, op, &r->publish);
    client_send(s, c, r);
}

void
publisher_wake(struct sim *s, struct sim_client *c)
{
    if (s->now_us >= c->leave_us) {
        if (c->conn == NULL || c->first_op == c->next_op) {
            client_drop(s, c);
            c->is_gone = true;
            return;
        }
        client_wake_in(s, c, 50000);
        return;
    }
    if (c->conn == NULL) {
        log_in(s, c);
        return;
    }
    if (sim_chance(s, 4)) {
        client_drop(s, c);
        client_wake_in(s, c, sim_range(s, 1000, 500000));
        return;
    }
    uint64_t burst = sim_chance(s, 100) ? c->window : 1;
    for (; burst > 0 && c->is_open && c->next_op - c->first_op < c->window; burst--)
        publish(s, c);
    client_wake_in(s, c, sim_range(s, 500, s->is_busy ? 5000 : 30000));
}
