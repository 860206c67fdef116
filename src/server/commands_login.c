/* Commands: the noun login: the three logins of each queue.
 *
 * A rotation takes 0.1 s of scrypt, on libuv's pool. The old password is worth nothing
 * from its record on. Connections that are logged in stay, as with other servers, so
 * that a rotation is no outage; --close ends them too, for a password that leaked. */
#include "base/json.h"
#include "base/mem.h"
#include "broker/operate.h"
#include "server/auth.h"
#include "server/commands_args.h"

#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>

static const char *const ROLES[ROLE_COUNT] = {"publisher", "subscriber", "admin"};

struct rotation {
    uv_work_t work;
    struct command *command;
    enum login_role role;
    enum status status;
    bool is_close;
    struct record_login_set set;
    char queue[LIMIT_QUEUE_NAME_BYTES + 1];
    char username[LIMIT_USERNAME_BYTES + 1];
    char password[33];
};

static void
list_of_queue(struct command *command, struct json_writer *w, const struct queue *q)
{
    for (int i = 0; i < ROLE_COUNT; i++) {
        const struct login_secret *login = &q->logins[i];
        uint64_t connected = broker_logged_in(q, (enum login_role)i);
        struct slice name = slice_of(login->username, login->username_size);
        json_object_begin(w, NULL);
        json_put_string(w, "queue", q->name);
        json_put_string(w, "role", ROLES[i]);
        json_put_text(w, "username", name);
        json_put_u64(w, "connections", connected);
        json_object_end(w);
        bytes_printf(&command->text, "%s%-24s %-10s  %.*s  connections %llu",
                     command->text.size > 0 ? "\n" : "", q->name, ROLES[i],
                     (int)name.size, (const char *)name.data,
                     (unsigned long long)connected);
    }
}

static void
run_login_list(struct command *command)
{
    command_list(command, "logins", list_of_queue);
}

static void
rotate_work_cb(uv_work_t *work)
{
    struct rotation *r = work->data;
    auth_make_password(r->password);
    r->status = auth_make_secret(slice_from_text(r->username),
                                 slice_from_text(r->password), &r->set.login);
}

static void
describe(const struct rotation *r, uint32_t closed)
{
    struct command *command = r->command;
    struct json_writer w;
    json_write_begin(&w, &command->json);
    json_object_begin(&w, NULL);
    json_put_string(&w, "queue", r->queue);
    json_put_string(&w, "role", ROLES[r->role]);
    json_put_string(&w, "username", r->username);
    json_put_string(&w, "password", r->password);
    json_put_u64(&w, "closed", closed);
    json_object_end(&w);
    bytes_printf(&command->text,
                 "queue %s, %s: the old password is worth nothing now, connections "
                 "closed: %u\n"
                 "This login is shown once, and cannot be shown again:\n"
                 "  username %s  password %s",
                 r->queue, ROLES[r->role], closed, r->username, r->password);
}

static void
rotate_done_cb(uv_work_t *work, int cancelled)
{
    struct rotation *r = work->data;
    struct command *command = r->command;
    struct node *n = command->node;
    uint64_t batch = 0;
    enum status st = cancelled != 0 ? ST_CLOSED : r->status;
    if (n->control == NULL)
        st = ST_CLOSED; /* the node is stopping */
    if (st == ST_OK)
        st = broker_set_login(replica_broker(n->replica), slice_from_text(r->queue),
                              &r->set, &batch);
    if (st == ST_OK) {
        uint32_t closed = 0;
        if (r->is_close)
            closed = broker_close_role(replica_broker(n->replica),
                                       slice_from_text(r->queue), r->role, batch);
        describe(r, closed);
        command_wait_batch(command, batch);
    } else {
        command_fail_status(command, st, "the queue is gone");
    }
    OPENSSL_cleanse(r, sizeof *r);
    mem_free(r);
}

static void
run_login_rotate(struct command *command)
{
    struct command_args args;
    int role = 0;
    if (!command_read_args(command, COMMAND_QUEUE | COMMAND_CLOSE, &args))
        return;
    while (role < ROLE_COUNT &&
           (args.word == NULL || strcmp(args.word, ROLES[role]) != 0))
        role++;
    if (role == ROLE_COUNT) {
        command_fail(command, EXIT_USAGE,
                     "whose login: publisher, subscriber or admin?");
        return;
    }
    const struct queue *q = command_find_queue(command, &args);
    if (q == NULL)
        return;
    struct rotation *r = mem_calloc(1, sizeof *r);
    const struct login_secret *old = &q->logins[role];
    r->command = command;
    r->role = r->set.role = (enum login_role)role;
    r->is_close = args.is_close;
    r->work.data = r;
    (void)snprintf(r->queue, sizeof r->queue, "%s", q->name);
    memcpy(r->username, old->username, old->username_size);
    (void)uv_queue_work(&command->node->loop, &r->work, rotate_work_cb, rotate_done_cb);
}

const struct command_info COMMANDS_LOGIN[] = {
    {"login", "list", COMMAND_AT_LEADER, 0, 2, run_login_list,
     "login list [--queue NAME]"},
    {"login", "rotate", COMMAND_AT_LEADER, 1, 4, run_login_rotate,
     "login rotate publisher|subscriber|admin [--queue NAME] [--close]"},
    {.noun = NULL},
};
