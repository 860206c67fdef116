/* pub and sub: one message, or many, by hand or from a script. */
#include "base/mem.h"
#include "base/text.h"
#include "ctl/commands.h"
#include "ctl/failure.h"
#include "ctl/login.h"
#include "ctl/publish.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_EVERY_MS 200 /* whether a signal came */
#define LOGOUT_MS     2000

struct sub {
    const struct options *o;
    struct wsclient *client;
    uint64_t got;
    uint64_t acked;
    uint64_t capacity;   /* of the session, once what was sent is done */
    uint64_t unanswered; /* requests */
    bool is_broken;      /* the connection */
};

void
publish_text(const struct options *o,
             const char *cmd,
             struct slice body,
             struct bytes *out)
{
    struct json_writer w;
    struct bytes encoded = {0};
    if (o->is_binary) {
        base64_encode(body, bytes_extend(&encoded, base64_encoded_size(body.size)));
        body = slice_of(encoded.data, encoded.size);
    }
    json_write_begin(&w, out);
    json_object_begin(&w, NULL);
    if (cmd != NULL)
        json_put_string(&w, "cmd", cmd);
    json_put_text(&w, "body", body);
    if (o->is_binary)
        json_put_u64(&w, "type", 2);
    if (!o->is_copy) {
        if (o->delay_secs != 0)
            json_put_u64(&w, "delay", o->delay_secs);
        json_put_u64(&w, "durability", o->durability);
        if (o->key != NULL)
            json_put_string(&w, "publisherkey", o->key);
    }
    json_object_end(&w);
    bytes_fini(&encoded);
}

/* Publishes one body and prints the reply: the id, or the whole with --json. */
static enum ctl_exit
publish_one(const struct options *o, struct wsclient *c, struct slice body)
{
    struct bytes text = {0};
    struct slice reply;
    struct json_object parsed;
    if (!o->is_binary && !utf8_is_valid(body)) {
        return ctl_fail(o, CTL_USAGE, "the body is not UTF-8 text: use --binary");
    }
    publish_text(o, NULL, body, &text);
    wsclient_send(c, slice_of(text.data, text.size), true);
    bytes_fini(&text);
    enum status st = wsclient_wait(c, o->timeout_secs * 1000, &reply);
    if (st != ST_OK)
        return ctl_fail_reply(o, st, wsclient_close_code(c),
                              "whether it was published is not known");
    json_object_init(&parsed);
    enum ctl_exit code = CTL_DONE;
    if (json_parse(&parsed, reply) != JSON_IS_OBJECT || reply_code(&parsed) != 0) {
        code = reply_complain(o, &parsed);
    } else {
        const struct json_member *id = json_find(&parsed, "id");
        if (id == NULL)
            id = json_find(&parsed, "subscribers");
        ctl_answer_line(o, reply, id == NULL ? reply : id->value);
    }
    json_object_fini(&parsed);
    return code;
}

enum ctl_exit
ctl_pub(const struct options *o, int argc, char **argv)
{
    struct wsclient *c = NULL;
    char *line = NULL;
    size_t capacity = 0;
    ssize_t size;
    enum ctl_exit code = login_connect(o, "publisher", "", &c);
    if (code != CTL_DONE)
        return code;
    if (argc >= 1 && strcmp(argv[0], "-") != 0) {
        uint64_t count = o->count == 0 ? 1 : o->count;
        for (uint64_t i = 0; i < count && code == CTL_DONE; i++)
            code = publish_one(o, c, slice_from_text(argv[0]));
    } else {
        while (code == CTL_DONE && (size = getline(&line, &capacity, stdin)) >= 0) {
            if (size > 0 && line[size - 1] == '\n')
                size--;
            code = publish_one(o, c, slice_of(line, (size_t)size));
        }
    }
    free(line);
    wsclient_free(c);
    return code;
}

/* False: standard output did not take it. */
static bool
print_message(const struct options *o, struct slice frame, const struct json_object *m)
{
    const struct json_member *body = json_find(m, "body");
    const struct json_member *type = json_find(m, "type");
    struct bytes text = {0};
    bool is_binary = type != NULL && slice_equal(type->value, slice_from_text("2"));
    if (o->is_json) {
        ctl_answer_line(o, frame, slice_of(NULL, 0));
    } else if (json_unescape(body->value, &text) == ST_OK) {
        struct bytes raw = {0};
        if (is_binary && o->is_binary &&
            base64_decode(slice_of(text.data, text.size), &raw) == ST_OK)
            (void)fwrite(raw.data, 1, raw.size, stdout);
        else
            (void)fwrite(text.data, 1, text.size, stdout);
        (void)fputc('\n', stdout);
        bytes_fini(&raw);
    }
    bytes_fini(&text);
    return fflush(stdout) == 0 && !ferror(stdout);
}

static void
send_request(struct sub *s, const struct bytes *text)
{
    wsclient_send(s->client, slice_of(text->data, text->size), true);
    s->unanswered++;
}

/* Each answer makes room for another message. Less room is asked for as the end nears,
 * so that no message is taken that nobody wants: it would go back behind the others. A
 * session has room for one at least, so that one may be taken all the same. */
static void
lower_capacity(struct sub *s)
{
    uint64_t count = s->o->count;
    uint64_t left = count > s->acked ? count - s->acked - 1 : 0;
    struct bytes text = {0};
    if (count == 0 || s->capacity <= left || s->capacity == 1)
        return;
    s->capacity = left > 0 ? left : 1;
    bytes_printf(&text, "{\"capacity\":%llu}", (unsigned long long)s->capacity);
    send_request(s, &text);
    bytes_fini(&text);
}

static void
send_ack(struct sub *s, const struct json_object *m)
{
    const struct json_member *id = json_find(m, "id");
    struct bytes text = {0};
    if (id == NULL)
        return;
    lower_capacity(s);
    bytes_printf(&text, "{\"id\":\"%.*s\",\"ack\":1}", (int)id->value.size,
                 (const char *)id->value.data);
    send_request(s, &text);
    s->acked++;
    bytes_fini(&text);
}

/* One frame: a message is printed and acknowledged. What comes when enough came goes
 * back when this ends. */
static enum ctl_exit
take_frame(struct sub *s, struct slice frame)
{
    const struct options *o = s->o;
    struct json_object m;
    enum ctl_exit code = CTL_DONE;
    json_object_init(&m);
    if (json_parse(&m, frame) != JSON_IS_OBJECT) {
        code = ctl_fail(o, CTL_FAILED, "what the server sent cannot be read");
    } else if (reply_has(&m, "body")) {
        bool is_wanted = o->count == 0 || s->got < o->count;
        if (is_wanted && !print_message(o, frame, &m))
            code = ctl_fail(o, CTL_FAILED,
                            "standard output: %s: the message is not acknowledged",
                            strerror(errno));
        else if (is_wanted && !o->has_no_ack && !o->is_copy)
            send_ack(s, &m);
        s->got += is_wanted;
    } else if (reply_has(&m, "status")) {
        if (s->unanswered > 0)
            s->unanswered--;
        if (reply_code(&m) != 0)
            code = reply_complain(o, &m);
    }
    json_object_fini(&m);
    return code;
}

/* --- until when --- */

static volatile sig_atomic_t was_told_to_end;

static void
end_cb(int number)
{
    was_told_to_end = 1;
    (void)signal(number, SIG_DFL);
}

/* The first of them ends with a logout, the second at once. */
static void
catch_signals(void)
{
    struct sigaction action = {.sa_handler = end_cb};
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGHUP, &action, NULL);
}

/* ST_AGAIN: a signal came. */
static enum status
next_frame(struct sub *s, struct slice *ret_frame)
{
    uint64_t deadline_ms = ctl_now_ms() + s->o->timeout_secs * 1000;
    for (;;) { /* bound: the deadline with --count, else a signal */
        if (was_told_to_end != 0)
            return ST_AGAIN;
        enum status st = wsclient_wait(s->client, LOOK_EVERY_MS, ret_frame);
        if (st != ST_TIMEOUT || (s->o->count != 0 && ctl_now_ms() >= deadline_ms))
            return st;
    }
}

static enum ctl_exit
run_sub(struct sub *s)
{
    uint64_t count = s->o->count;
    enum ctl_exit code = CTL_DONE;
    struct slice frame;
    while (code == CTL_DONE && (count == 0 || s->got < count || s->unanswered > 0)) {
        enum status st = next_frame(s, &frame);
        if (st == ST_AGAIN)
            break;
        if (st == ST_OK)
            code = take_frame(s, frame);
        else if (st == ST_TIMEOUT)
            code = ctl_fail(s->o, CTL_TIMEOUT, "no message in time");
        else
            code = ctl_fail_reply(s->o, st, wsclient_close_code(s->client),
                                  "what is not acknowledged comes again");
        s->is_broken = st != ST_OK && st != ST_TIMEOUT;
    }
    return code;
}

/* A logout gives back what is held; a session that only drops would be saved, and keep
 * it for its time. */
enum ctl_exit
ctl_sub(const struct options *o, int argc, char **argv)
{
    struct sub s = {.o = o, .capacity = o->capacity};
    struct slice frame;
    char extra[48] = "";
    (void)argc;
    (void)argv;
    if (o->count != 0 && o->count < s.capacity)
        s.capacity = o->count;
    if (o->has_no_ack && o->count > s.capacity)
        return ctl_fail(o, CTL_USAGE,
                        "with --no-ack all are held: --count up to --capacity");
    if (!o->is_copy)
        (void)snprintf(extra, sizeof extra, ",\"capacity\":%llu",
                       (unsigned long long)s.capacity);
    enum ctl_exit code = login_connect(o, "subscriber", extra, &s.client);
    if (code != CTL_DONE)
        return code;
    catch_signals();
    code = run_sub(&s);
    if (!s.is_broken && !o->is_copy) {
        wsclient_send(s.client, slice_from_text("{\"logout\":true}"), true);
        while (wsclient_wait(s.client, LOGOUT_MS, &frame) == ST_OK)
            ; /* bound: the server closes after its reply */
    }
    wsclient_free(s.client);
    return code;
}
