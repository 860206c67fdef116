/* pub and sub: one message, or many, by hand or from a script. */
#include "base/mem.h"
#include "base/text.h"
#include "ctl/commands.h"
#include "ctl/login.h"
#include "ctl/publish.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
        return ctl_fail(o, st == ST_TIMEOUT ? CTL_TIMEOUT : CTL_UNREACHABLE,
                        "no reply (%s): whether it was published is not known",
                        st == ST_TIMEOUT ? "no answer in time" : "the server closed");
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
send_ack(struct wsclient *c, const struct json_object *m)
{
    const struct json_member *id = json_find(m, "id");
    struct bytes text = {0};
    if (id == NULL)
        return;
    bytes_printf(&text, "{\"id\":\"%.*s\",\"ack\":1}", (int)id->value.size,
                 (const char *)id->value.data);
    wsclient_send(c, slice_of(text.data, text.size), true);
    bytes_fini(&text);
}

/* One frame: a message is printed and acknowledged; true when it was one. What comes
 * when enough came (each answer makes room for another) goes back when this ends. */
static bool
take_frame(const struct options *o,
           struct wsclient *c,
           struct slice frame,
           bool has_enough,
           uint64_t *unanswered,
           enum ctl_exit *ret_code)
{
    struct json_object m;
    bool is_message = false;
    json_object_init(&m);
    if (json_parse(&m, frame) != JSON_IS_OBJECT) {
        *ret_code = ctl_fail(o, CTL_FAILED, "what the server sent cannot be read");
    } else if (reply_has(&m, "body")) {
        is_message = !has_enough;
        if (is_message && !print_message(o, frame, &m))
            *ret_code = ctl_fail(o, CTL_FAILED,
                                 "standard output: %s: the message is not acknowledged",
                                 strerror(errno));
        else if (is_message && !o->has_no_ack && !o->is_copy) {
            send_ack(c, &m);
            (*unanswered)++;
        }
    } else if (reply_has(&m, "status")) {
        if (*unanswered > 0)
            (*unanswered)--;
        if (reply_code(&m) != 0) {
            *ret_code = reply_complain(o, &m);
        }
    }
    json_object_fini(&m);
    return is_message;
}

enum ctl_exit
ctl_sub(const struct options *o, int argc, char **argv)
{
    struct wsclient *c = NULL;
    char extra[48] = "";
    uint64_t got = 0;
    uint64_t unanswered = 0;
    struct slice frame;
    (void)argc;
    (void)argv;
    /* No more than asked for: what is held and not wanted would go back at the end. */
    uint64_t capacity =
        o->count != 0 && o->count < o->capacity ? o->count : o->capacity;
    if (!o->is_copy)
        (void)snprintf(extra, sizeof extra, ",\"capacity\":%llu",
                       (unsigned long long)capacity);
    enum ctl_exit code = login_connect(o, "subscriber", extra, &c);
    if (code != CTL_DONE)
        return code;
    while (code == CTL_DONE && (o->count == 0 || got < o->count || unanswered > 0)) {
        bool is_bounded = o->count != 0;
        enum status st =
            wsclient_wait(c, is_bounded ? o->timeout_secs * 1000 : 3600000, &frame);
        if (st == ST_TIMEOUT && !is_bounded)
            continue;
        if (st != ST_OK) {
            if (st == ST_TIMEOUT)
                code = ctl_fail(o, CTL_TIMEOUT, "no message in time");
            else
                code = ctl_fail(o, CTL_UNREACHABLE,
                                "the server closed the connection (code %u)",
                                wsclient_close_code(c));
        } else if (take_frame(o, c, frame, is_bounded && got == o->count, &unanswered,
                              &code)) {
            got++;
        }
    }
    if (code == CTL_DONE && !o->is_copy) {
        wsclient_send(c, slice_from_text("{\"logout\":true}"), true);
        while (wsclient_wait(c, 2000, &frame) == ST_OK)
            ; /* bound: the server closes after its reply */
    }
    wsclient_free(c);
    return code;
}
