/* Admin: see admin.h. */
#include "ctl/admin.h"

#include "base/text.h"
#include "base/uuid.h"
#include "ctl/failure.h"
#include "ctl/login.h"
#include "ctl/publish.h"
#include "ctl/terminal.h"

#include <stdlib.h>
#include <string.h>

#define CODE_ID 301 /* no such message, or no id */

enum ctl_exit
admin_begin(struct admin *a, const struct options *o)
{
    *a = (struct admin){.options = o};
    json_object_init(&a->fields);
    return login_connect(o, "admin", "", &a->client);
}

void
admin_end(struct admin *a)
{
    json_object_fini(&a->fields);
    wsclient_free(a->client);
    a->client = NULL;
}

enum ctl_exit
admin_ask(struct admin *a, struct slice request)
{
    const struct options *o = a->options;
    wsclient_send(a->client, request, true);
    enum status st = wsclient_wait(a->client, o->timeout_secs * 1000, &a->reply);
    if (st != ST_OK)
        return ctl_fail_reply(o, st, wsclient_close_code(a->client),
                              "it may have been done");
    if (!login_parse(a->reply, &a->fields))
        return ctl_fail(o, CTL_FAILED, "the reply cannot be read");
    if (reply_code(&a->fields) == CODE_ID)
        return ctl_fail(o, CTL_NOT_FOUND, "there is no such message");
    if (reply_code(&a->fields) != 0)
        return reply_complain(o, &a->fields);
    return CTL_DONE;
}

enum ctl_exit
admin_check_id(const struct options *o, const char *id)
{
    struct uuid parsed;
    if (id == NULL || uuid_parse(slice_from_text(id), &parsed) == ST_OK)
        return CTL_DONE;
    return ctl_fail(o, CTL_USAGE, "'%s' is not the id of a message", id);
}

/* Fields of a reply, one a line; nested values as they are. */
static void
put_fields(const struct json_object *fields, struct bytes *out)
{
    for (size_t i = 0; i < fields->count; i++) {
        const struct json_member *m = &fields->members[i];
        if (slice_equal(m->key, slice_from_text("status")))
            continue;
        if (out->size > 0)
            bytes_put_u8(out, '\n');
        bytes_printf(out, "%-28.*s ", (int)m->key.size, (const char *)m->key.data);
        if (m->type != JSON_STRING || json_unescape(m->value, out) != ST_OK)
            bytes_put_slice(out, m->value);
    }
}

/* A field of a message, for people. */
static void
put_message_field(const struct json_member *m, struct bytes *out)
{
    char text[TERMINAL_TIME_BYTES];
    int64_t secs = 0;
    bool is_whole = json_plain_integer(m->value, &secs) == ST_OK && secs > 0;
    bytes_printf(out, "%-12.*s ", (int)m->key.size, (const char *)m->key.data);
    if (is_whole && slice_equal(m->key, slice_from_text("recdat"))) {
        terminal_time((uint64_t)secs, text);
        bytes_printf(out, "%s UTC\n", text);
    } else if (is_whole && slice_equal(m->key, slice_from_text("delay"))) {
        terminal_duration((uint64_t)secs, text);
        bytes_printf(out, "%s\n", text);
    } else {
        bytes_printf(out, "%.*s\n", (int)m->value.size, (const char *)m->value.data);
    }
}

/* The message of a getmsg: its fields, and the body behind an empty line. */
static void
put_message(const struct json_object *fields, struct bytes *out)
{
    const struct json_member *msg = json_find(fields, "msg");
    struct json_object inner;
    json_object_init(&inner);
    for (size_t i = 0; i < fields->count; i++) {
        const struct json_member *m = &fields->members[i];
        if (m->type == JSON_NUMBER || slice_equal(m->key, slice_from_text("id")))
            put_message_field(m, out);
    }
    if (msg != NULL && login_parse(msg->value, &inner)) {
        for (size_t i = 0; i < inner.count; i++) {
            const struct json_member *m = &inner.members[i];
            if (!slice_equal(m->key, slice_from_text("id")) &&
                !slice_equal(m->key, slice_from_text("body")))
                put_message_field(m, out);
        }
        const struct json_member *body = json_find(&inner, "body");
        bytes_put_u8(out, '\n');
        if (body != NULL)
            json_unescape_loosely(body->value, out);
    }
    json_object_fini(&inner);
}

static void
put_request(const char *cmd, const char *id, struct bytes *out)
{
    struct json_writer w;
    json_write_begin(&w, out);
    json_object_begin(&w, NULL);
    json_put_string(&w, "cmd", cmd);
    if (id != NULL)
        json_put_string(&w, "id", id);
    json_object_end(&w);
}

typedef void put_reply_cb(const struct json_object *fields, struct bytes *out);

/* One question and its answer printed. */
static enum ctl_exit
run_request(const struct options *o,
            struct slice request,
            put_reply_cb *put_cb,
            const char *text)
{
    struct admin a;
    struct bytes out = {0};
    if (!utf8_is_valid(request))
        return ctl_fail(o, CTL_USAGE, "an argument is not UTF-8 text");
    enum ctl_exit code = admin_begin(&a, o);
    if (code == CTL_DONE)
        code = admin_ask(&a, request);
    if (code == CTL_DONE) {
        if (text != NULL)
            bytes_put_text(&out, text);
        else
            put_cb(&a.fields, &out);
        ctl_answer(o, a.reply, slice_of(out.data, out.size));
    }
    bytes_fini(&out);
    admin_end(&a);
    return code;
}

static enum ctl_exit
run_cmd(const struct options *o,
        const char *cmd,
        const char *id,
        put_reply_cb *put_cb,
        const char *text)
{
    struct bytes request = {0};
    enum ctl_exit code = admin_check_id(o, id);
    if (code != CTL_DONE)
        return code;
    put_request(cmd, id, &request);
    code = run_request(o, slice_of(request.data, request.size), put_cb, text);
    bytes_fini(&request);
    return code;
}

enum ctl_exit
admin_command(const struct options *o,
              const char *cmd,
              const char *id,
              const char *text)
{
    return run_cmd(o, cmd, id, put_fields, text);
}

enum ctl_exit
ctl_msg_get(const struct options *o, int argc, char **argv)
{
    (void)argc;
    return run_cmd(o, "getmsg", argv[0], put_message, NULL);
}

enum ctl_exit
ctl_msg_add(const struct options *o, int argc, char **argv)
{
    struct bytes request = {0};
    (void)argc;
    if (!o->is_binary && !utf8_is_valid(slice_from_text(argv[0])))
        return ctl_fail(o, CTL_USAGE, "the body is not UTF-8 text: use --binary");
    publish_text(o, "addmsg", slice_from_text(argv[0]), &request);
    enum ctl_exit code =
        run_request(o, slice_of(request.data, request.size), put_fields, NULL);
    bytes_fini(&request);
    return code;
}

enum ctl_exit
ctl_msg_delete(const struct options *o, int argc, char **argv)
{
    (void)argc;
    return admin_command(o, "delmsg", argv[0], "the message is deleted");
}

enum ctl_exit
ctl_dlq_get(const struct options *o, int argc, char **argv)
{
    (void)argc;
    return run_cmd(o, "getdlqmsg", argv[0], put_message, NULL);
}

enum ctl_exit
ctl_dlq_move(const struct options *o, int argc, char **argv)
{
    (void)argc;
    return admin_command(o, "movetodlq", argv[0],
                         "the message is in the dead letter queue");
}

enum ctl_exit
ctl_dlq_delete(const struct options *o, int argc, char **argv)
{
    (void)argc;
    return admin_command(o, "deldlqmsg", argv[0], "the message is deleted");
}

/* --- settings --- */

/* ["w",60] as "60", or with its letter. */
static void
put_setting(const struct json_member *m, bool has_letter, struct bytes *out)
{
    struct slice value = m->value;
    const uint8_t *comma = value.size > 2 ? memchr(value.data, ',', value.size) : NULL;
    if (comma == NULL) {
        bytes_put_slice(out, value);
        return;
    }
    if (has_letter)
        bytes_printf(out, "%c  ", value.data[2]);
    bytes_put(out, comma + 1, (size_t)(slice_end(value) - comma) - 2);
}

static void
put_settings(const struct json_object *fields, struct bytes *out)
{
    for (size_t i = 0; i < fields->count; i++) {
        const struct json_member *m = &fields->members[i];
        if (m->type != JSON_ARRAY)
            continue;
        if (out->size > 0)
            bytes_put_u8(out, '\n');
        bytes_printf(out, "%-28.*s  ", (int)m->key.size, (const char *)m->key.data);
        put_setting(m, true, out);
    }
}

static enum ctl_exit
print_setting(struct admin *a, const char *name)
{
    const struct json_member *m = json_find(&a->fields, name);
    struct bytes text = {0};
    struct bytes json = {0};
    struct json_writer w;
    if (m == NULL || m->type != JSON_ARRAY)
        return ctl_fail(a->options, CTL_NOT_FOUND, "there is no setting %s", name);
    put_setting(m, false, &text);
    json_write_begin(&w, &json);
    json_object_begin(&w, NULL);
    json_put_raw(&w, name, m->value);
    json_object_end(&w);
    ctl_answer(a->options, slice_of(json.data, json.size),
               slice_of(text.data, text.size));
    bytes_fini(&text);
    bytes_fini(&json);
    return CTL_DONE;
}

enum ctl_exit
ctl_cfg_get(const struct options *o, int argc, char **argv)
{
    struct admin a;
    if (argc == 0)
        return run_cmd(o, "getcfg", NULL, put_settings, NULL);
    enum ctl_exit code = admin_begin(&a, o);
    if (code == CTL_DONE)
        code = admin_ask(&a, slice_from_text("{\"cmd\":\"getcfg\"}"));
    if (code == CTL_DONE)
        code = print_setting(&a, argv[0]);
    admin_end(&a);
    return code;
}

/* NAME=VALUE as a member; text is cut at the name's end. */
static enum ctl_exit
add_setting(const struct options *o, char *text, struct json_writer *w)
{
    char *value = strchr(text, '=');
    int64_t number;
    if (value == NULL || value == text)
        return ctl_fail(o, CTL_USAGE, "'%s' is no NAME=VALUE", text);
    *value++ = '\0';
    if (json_plain_integer(slice_from_text(value), &number) != ST_OK)
        return ctl_fail(o, CTL_USAGE, "%s: '%s' is no whole number", text, value);
    json_put_raw(w, text, slice_from_text(value));
    return CTL_DONE;
}

/* The queue leaves names out that it does not know; somebody who typed one does not
 * want that. names: how add_setting left them. */
static enum ctl_exit
change_settings(const struct options *o, struct slice request, int count, char **names)
{
    struct admin a;
    enum ctl_exit code = admin_begin(&a, o);
    if (code == CTL_DONE)
        code = admin_ask(&a, slice_from_text("{\"cmd\":\"getcfg\"}"));
    for (int i = 0; i < count && code == CTL_DONE; i++) {
        const struct json_member *m = json_find(&a.fields, names[i]);
        if (m == NULL || m->type != JSON_ARRAY)
            code = ctl_fail(o, CTL_NOT_FOUND, "there is no setting %s", names[i]);
    }
    if (code == CTL_DONE)
        code = admin_ask(&a, request);
    if (code == CTL_DONE)
        ctl_answer(o, a.reply, slice_from_text("the settings are changed"));
    admin_end(&a);
    return code;
}

enum ctl_exit
ctl_cfg_set(const struct options *o, int argc, char **argv)
{
    struct bytes request = {0};
    struct json_writer w;
    enum ctl_exit code = CTL_DONE;
    json_write_begin(&w, &request);
    json_object_begin(&w, NULL);
    json_put_string(&w, "cmd", "setcfg");
    for (int i = 0; i < argc && code == CTL_DONE; i++)
        code = add_setting(o, argv[i], &w);
    json_object_end(&w);
    if (code == CTL_DONE && !utf8_is_valid(slice_of(request.data, request.size)))
        code = ctl_fail(o, CTL_USAGE, "an argument is not UTF-8 text");
    if (code == CTL_DONE)
        code = change_settings(o, slice_of(request.data, request.size), argc, argv);
    bytes_fini(&request);
    return code;
}
