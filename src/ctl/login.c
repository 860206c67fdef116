/* Login: see login.h. */
#include "ctl/login.h"

#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX 65536

static enum status
read_file(const char *path, struct bytes *out)
{
    FILE *f = fopen(path, "re");
    if (f == NULL) {
        (void)fprintf(stderr, "holdfastctl: %s: %s\n", path, strerror(errno));
        return ST_NOTFOUND;
    }
    uint8_t *at = bytes_extend(out, FILE_MAX);
    out->size = fread(at, 1, FILE_MAX, f);
    (void)fclose(f);
    return ST_OK;
}

static enum status
get_object(struct slice text, const char *key, struct slice *ret_value)
{
    struct json_object o;
    enum status st = ST_NOTFOUND;
    json_object_init(&o);
    if (utf8_is_valid(text) && json_parse(&o, text) == JSON_IS_OBJECT) {
        const struct json_member *m = json_find(&o, key);
        if (m != NULL && m->type == JSON_OBJECT) {
            *ret_value = m->value;
            st = ST_OK;
        }
    }
    json_object_fini(&o);
    return st;
}

static enum status
get_text(const struct json_object *o, const char *key, char *out, size_t size)
{
    const struct json_member *m = json_find(o, key);
    struct bytes text = {0};
    enum status st = ST_INVALID;
    if (m != NULL && m->type == JSON_STRING &&
        json_unescape(m->value, &text) == ST_OK && text.size < size) {
        if (text.size > 0)
            memcpy(out, text.data, text.size);
        out[text.size] = '\0';
        st = ST_OK;
    }
    bytes_fini(&text);
    return st;
}

enum status
login_read(const char *file, const char *role, struct login *ret_login)
{
    struct bytes text = {0};
    struct json_object o;
    enum status st = read_file(file, &text);
    if (st != ST_OK) {
        bytes_fini(&text);
        return st;
    }
    struct slice value = slice_of(text.data, text.size);
    (void)get_object(value, "logins", &value);
    st = get_object(value, role, &value);
    json_object_init(&o);
    if (st == ST_OK && json_parse(&o, value) == JSON_IS_OBJECT &&
        get_text(&o, "username", ret_login->username, sizeof ret_login->username) ==
            ST_OK)
        st = get_text(&o, "password", ret_login->password, sizeof ret_login->password);
    else
        st = ST_INVALID;
    json_object_fini(&o);
    bytes_fini(&text);
    if (st != ST_OK)
        (void)fprintf(stderr, "holdfastctl: %s: no login for the role %s in it\n", file,
                      role);
    return st;
}

uint16_t
reply_code(const struct json_object *reply)
{
    const struct json_member *m = json_find(reply, "code");
    int64_t code = 0;
    if (m == NULL || m->type != JSON_NUMBER || json_whole(m->value, &code) != ST_OK)
        return 0;
    return (uint16_t)code;
}

void
reply_complain(const struct json_object *reply)
{
    const struct json_member *m = json_find(reply, "reason");
    (void)fprintf(stderr, "holdfastctl: the queue refused with code %u: %.*s\n",
                  reply_code(reply), m != NULL ? (int)m->value.size : 0,
                  m != NULL ? (const char *)m->value.data : "");
}

bool
reply_has(const struct json_object *reply, const char *key)
{
    return json_find(reply, key) != NULL;
}

static enum ctl_exit
log_in(struct wsclient *c, const struct options *o, const char *role, const char *extra)
{
    struct login login;
    struct bytes text = {0};
    struct json_writer w;
    struct slice reply;
    struct json_object parsed;
    if (login_read(o->login_file, role, &login) != ST_OK)
        return CTL_USAGE;
    json_write_begin(&w, &text);
    json_object_begin(&w, NULL);
    json_put_string(&w, "username", login.username);
    json_put_string(&w, "password", login.password);
    json_put_string(&w, "role", role);
    json_put_string(&w, "queuetype", o->is_copy ? "copy" : "distribute");
    bytes_put_text(&text, extra);
    json_object_end(&w);
    wsclient_send(c, slice_of(text.data, text.size), true);
    memset(text.data, 0, text.size);
    memset(&login, 0, sizeof login);
    bytes_fini(&text);
    enum status st = wsclient_wait(c, o->timeout_secs * 1000, &reply);
    if (st != ST_OK) {
        (void)fprintf(stderr, "holdfastctl: no reply to the login: %s\n",
                      st == ST_TIMEOUT ? "no answer in time" : "the server closed");
        return CTL_UNREACHABLE;
    }
    json_object_init(&parsed);
    enum ctl_exit code = CTL_DONE;
    if (json_parse(&parsed, reply) != JSON_IS_OBJECT || reply_code(&parsed) != 0) {
        reply_complain(&parsed);
        code = CTL_REFUSED;
    }
    json_object_fini(&parsed);
    return code;
}

enum ctl_exit
login_connect(const struct options *o,
              const char *role,
              const char *extra,
              struct wsclient **ret_client)
{
    char error[256] = "";
    struct wsclient *c = NULL;
    if (o->url == NULL || o->login_file == NULL) {
        (void)fprintf(stderr, "holdfastctl: --url and --login-file are wanted\n");
        return CTL_USAGE;
    }
    const struct wsclient_options options = {
        .url = o->url,
        .ca = o->ca,
        .host = o->host,
        .timeout_ms = o->timeout_secs * 1000,
    };
    if (wsclient_connect(&options, error, sizeof error, &c) != ST_OK) {
        (void)fprintf(stderr, "holdfastctl: %s\n", error);
        return CTL_UNREACHABLE;
    }
    enum ctl_exit code = log_in(c, o, role, extra);
    if (code != CTL_DONE) {
        wsclient_free(c);
        return code;
    }
    *ret_client = c;
    return CTL_DONE;
}
