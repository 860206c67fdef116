/* cluster add, remove, replace, invite: a change of members is a row of steps, and the
 * node takes one at each question (src/server/commands_members.c). Here the question is
 * asked until it says that it is done. An interrupted one goes on when it is given
 * again. */
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "ctl/answer.h"
#include "ctl/cert.h"
#include "ctl/commands.h"
#include "ctl/control_client.h"
#include "ctl/failure.h"
#include "ctl/progress.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ASK_EVERY_MS 200
#define WORDS_MAX    6

struct change {
    const struct options *o;
    const char *words[WORDS_MAX];
    int count;
    bool must_catch_up; /* also when the node says that it is done */
    struct progress progress;
    /* the last answer */
    struct control_answer answer;
    char state[32];
    uint64_t leader; /* who answered */
    uint64_t lag;
    uint64_t most_lag;
    uint64_t least_lag;
    bool is_done;
    bool is_up;
    bool has_caught_up;
    uint64_t moved_ms; /* when something had changed */
};

static void
pause_a_while(void)
{
    const struct timespec t = {.tv_nsec = ASK_EVERY_MS * 1000000L};
    (void)nanosleep(&t, NULL);
}

static void
read_answer(struct change *c)
{
    struct json_object o;
    json_object_init(&o);
    (void)json_parse(&o, slice_of(c->answer.json.data, c->answer.json.size));
    struct slice state = answer_text(&o, "state");
    c->is_done = answer_bool(&o, "done");
    c->is_up = answer_bool(&o, "connected");
    c->has_caught_up = answer_bool(&o, "caught_up");
    c->lag = answer_u64(&o, "lag");
    c->leader = answer_u64(&o, "leader");
    (void)snprintf(c->state, sizeof c->state, "%.*s", (int)state.size,
                   (const char *)state.data);
    json_object_fini(&o);
}

static bool
is_over(const struct change *c)
{
    if (c->answer.exit != CTL_DONE)
        return c->answer.exit != CTL_NO_LEADER;
    return c->is_done && (!c->must_catch_up || c->has_caught_up);
}

/* One question. False: nothing more to ask. */
static bool
ask(struct change *c, enum ctl_exit *ret_code)
{
    char state[sizeof c->state];
    memcpy(state, c->state, sizeof state);
    control_answer_fini(&c->answer);
    *ret_code = control_ask(c->o, c->count, c->words, &c->answer);
    if (*ret_code != CTL_DONE)
        return false;
    read_answer(c);
    bool is_catching = c->is_up && c->lag > 0;
    if (strcmp(state, c->state) != 0 || (is_catching && c->lag < c->least_lag)) {
        c->moved_ms = ctl_now_ms();
        c->least_lag = c->lag;
    }
    if (is_catching && c->lag > c->most_lag)
        c->most_lag = c->lag;
    if (is_catching)
        ctl_progress_update(&c->progress, c->most_lag - c->lag, c->most_lag);
    return !is_over(c) && !c->o->has_no_wait;
}

/* Nothing changed for --timeout: what it waits for, and what to look at. */
static enum ctl_exit
give_up(struct change *c)
{
    const struct options *o = c->o;
    unsigned long long secs = (unsigned long long)o->timeout_secs;
    if (c->answer.exit == CTL_NO_LEADER)
        return control_print(o, &c->answer);
    if (strcmp(c->state, "apart") == 0 || (c->must_catch_up && !c->is_up))
        return ctl_fail(o, CTL_TIMEOUT,
                        "node %s is not reached%s%s for %llu s: does holdfastd run "
                        "there (its log says what is wrong), is that its "
                        "cluster-listen, can the leader, node %llu, connect to it, and "
                        "is its certificate that of node %s? Then give this command "
                        "again: it goes on where it was",
                        c->words[2], c->count > 3 ? " at " : "",
                        c->count > 3 ? c->words[3] : "", secs,
                        (unsigned long long)c->leader, c->words[2]);
    return ctl_fail(o, CTL_TIMEOUT,
                    "%.*s; nothing changed for %llu s: see to it, then give this "
                    "command again",
                    (int)c->answer.text.size, (const char *)c->answer.text.data, secs);
}

/* Until it is done. What the last answer said is printed when is_last, or failed. */
static enum ctl_exit
drive(struct change *c, bool is_last)
{
    enum ctl_exit code = CTL_DONE;
    c->moved_ms = ctl_now_ms();
    ctl_progress_begin(&c->progress, c->words[1], PROGRESS_COUNT);
    while (ask(c, &code)) { /* bound: it moves on, or --timeout */
        if (ctl_now_ms() - c->moved_ms > c->o->timeout_secs * 1000) {
            ctl_progress_end(&c->progress);
            code = give_up(c);
            control_answer_fini(&c->answer);
            return code;
        }
        pause_a_while();
    }
    ctl_progress_end(&c->progress);
    if (code == CTL_DONE && (is_last || c->answer.exit != CTL_DONE))
        code = control_print(c->o, &c->answer);
    control_answer_fini(&c->answer);
    return code;
}

enum ctl_exit
ctl_cluster_add(const struct options *o, int argc, char **argv)
{
    struct change c = {.o = o, .words = {"cluster", "add", argv[0]}, .count = 3};
    if (argc > 1)
        c.words[c.count++] = argv[1];
    return drive(&c, true);
}

enum ctl_exit
ctl_cluster_remove(const struct options *o, int argc, char **argv)
{
    struct change c = {.o = o, .words = {"cluster", "remove", argv[0]}, .count = 3};
    (void)argc;
    return drive(&c, true);
}

/* The new one has everything before the old one goes: only one step is made with fewer
 * voters. */
enum ctl_exit
ctl_cluster_replace(const struct options *o, int argc, char **argv)
{
    struct change in = {.o = o,
                        .words = {"cluster", "add", argv[1], argv[2], "--stand-by"},
                        .count = 5,
                        .must_catch_up = true};
    struct change out = {.o = o, .words = {"cluster", "remove", argv[0]}, .count = 3};
    struct change vote = {
        .o = o, .words = {"cluster", "add", argv[1], argv[2]}, .count = 4};
    (void)argc;
    if (strcmp(argv[0], argv[1]) == 0)
        return ctl_fail(o, CTL_USAGE,
                        "the new node needs an id of its own (the old one has %s)",
                        argv[0]);
    enum ctl_exit code = drive(&in, false);
    if (code == CTL_DONE)
        code = drive(&out, false);
    return code == CTL_DONE ? drive(&vote, true) : code;
}

/* --- invite --- */

/* The node's cluster-ca is in the invitation, and all nodes have the same: one whose
 * certificate another authority signed would be turned away by all of them. */
static enum ctl_exit
check_authority(const struct options *o, const struct bytes *json)
{
    char why[CERT_WHY_MAX];
    char *ca_cert = NULL;
    struct bytes trusted = {0};
    struct json_object invite;
    enum ctl_exit code = CTL_DONE;
    json_object_init(&invite);
    (void)json_parse(&invite, slice_of(json->data, json->size));
    enum status st = json_unescape(answer_text(&invite, "ca"), &trusted);
    bytes_put_u8(&trusted, 0);
    if (cert_read_file(o->ca_cert, why, &ca_cert) != ST_OK)
        code = ctl_fail(o, CTL_FAILED, "%s", why);
    else if (st != ST_OK || !cert_is_trusted(ca_cert, (const char *)trusted.data))
        code = ctl_fail(o, CTL_FAILED,
                        "%s is not among the authorities of the node's cluster-ca: the "
                        "other nodes would turn the new one away",
                        o->ca_cert);
    mem_free(ca_cert);
    json_object_fini(&invite);
    bytes_fini(&trusted);
    return code;
}

static enum ctl_exit
add_certificate(const struct options *o, const char *id, struct bytes *json)
{
    struct cert_pair pair = {0};
    char why[CERT_WHY_MAX];
    struct json_writer w = {.out = json, .need_comma = true};
    /* The node has looked at the id. */
    enum ctl_exit code = ctl_check_file(o, o->ca_cert);
    if (code == CTL_DONE)
        code = ctl_check_file(o, o->ca_key);
    if (code == CTL_DONE)
        code = check_authority(o, json);
    if (code != CTL_DONE)
        return code;
    if (cert_make_node(strtoull(id, NULL, 10), o->ca_cert, o->ca_key, why, &pair) !=
        ST_OK)
        return ctl_fail(o, CTL_FAILED, "%s", why);
    json->size--; /* the closing brace */
    json_put_string(&w, "cert", pair.cert_pem);
    json_put_string(&w, "key", pair.key_pem);
    json_object_end(&w);
    cert_pair_fini(&pair);
    return CTL_DONE;
}

static enum ctl_exit
write_invite(const struct options *o, const struct bytes *json)
{
    enum status st = file_make(o->out, slice_of(json->data, json->size));
    if (st != ST_OK)
        return ctl_fail_file(o, o->out);
    struct bytes text = {0};
    struct bytes answer = {0};
    struct json_writer w;
    json_write_begin(&w, &answer);
    json_object_begin(&w, NULL);
    json_put_string(&w, "invite", o->out);
    json_object_end(&w);
    bytes_printf(&text,
                 "%s is written%s. On the new machine:\n"
                 "  holdfastctl cluster join --config FILE --invite %s",
                 o->out,
                 o->ca_key != NULL ? "; it holds a private key: keep it as one" : "",
                 o->out);
    ctl_answer(o, slice_of(answer.data, answer.size), slice_of(text.data, text.size));
    bytes_fini(&text);
    bytes_fini(&answer);
    return CTL_DONE;
}

enum ctl_exit
ctl_cluster_invite(const struct options *o, int argc, char **argv)
{
    const char *words[4] = {"cluster", "invite", argv[0], argv[1]};
    struct control_answer answer;
    (void)argc;
    if ((o->ca_cert == NULL) != (o->ca_key == NULL))
        return ctl_fail(o, CTL_USAGE, "--ca-cert and --ca-key go together");
    if (o->out == NULL && o->ca_key != NULL)
        return ctl_fail(o, CTL_USAGE,
                        "--out is needed: an invitation with a private key is not for "
                        "a terminal");
    enum ctl_exit code = control_ask(o, 4, words, &answer);
    if (code != CTL_DONE)
        return code;
    if (answer.exit == CTL_DONE && o->ca_key != NULL)
        code = add_certificate(o, argv[0], &answer.json);
    if (answer.exit != CTL_DONE)
        code = control_print(o, &answer);
    else if (code == CTL_DONE && o->out != NULL)
        code = write_invite(o, &answer.json);
    else if (code == CTL_DONE)
        ctl_answer(o, slice_of(answer.json.data, answer.json.size),
                   slice_of(answer.json.data, answer.json.size));
    control_answer_fini(&answer);
    return code;
}
