/* Login: see login.h. */
#include "ctl/login.h"

#include "base/file.h"
#include "base/text.h"
#include "ctl/context.h"
#include "ctl/failure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#define FILE_MAX 65536

static const char *const ROLES[] = {"publisher", "subscriber", "admin"};
#define ROLE_COUNT (sizeof ROLES / sizeof ROLES[0])

/* Where the queue is and who asks. */
struct target {
    const char *url; /* borrowed from options, environment or context */
    const char *ca;
    const char *host;
    struct context context;
    struct login login;
};

bool
login_parse(struct slice text, struct json_object *o)
{
    return utf8_is_valid(text) && json_parse(o, text) == JSON_IS_OBJECT;
}

bool
login_text(const struct json_object *o, const char *key, char *out, size_t size)
{
    const struct json_member *m = json_find(o, key);
    struct bytes text = {0};
    bool is_good = false;
    if (m == NULL)
        return true;
    if (m->type == JSON_STRING && json_unescape(m->value, &text) == ST_OK &&
        text.size < size &&
        (text.size == 0 || memchr(text.data, 0, text.size) == NULL)) {
        if (text.size > 0)
            memcpy(out, text.data, text.size);
        out[text.size] = '\0';
        is_good = true;
    }
    if (text.data != NULL)
        explicit_bzero(text.data, text.capacity);
    bytes_fini(&text);
    return is_good;
}

static bool
get_object(struct slice text, const char *key, struct slice *ret_value)
{
    struct json_object o;
    bool is_found = false;
    json_object_init(&o);
    if (login_parse(text, &o)) {
        const struct json_member *m = json_find(&o, key);
        if (m != NULL && m->type == JSON_OBJECT) {
            *ret_value = m->value;
            is_found = true;
        }
    }
    json_object_fini(&o);
    return is_found;
}

/* What login rotate printed is one login that says its role. */
static bool
is_of_role(struct slice text, const char *role)
{
    struct json_object o;
    char named[16] = "";
    json_object_init(&o);
    bool is_it = login_parse(text, &o) && login_text(&o, "role", named, sizeof named) &&
                 strcmp(named, role) == 0;
    json_object_fini(&o);
    return is_it;
}

bool
login_of_role(struct slice text, const char *role, struct login *ret_login)
{
    struct json_object o;
    struct login login = {.username = ""};
    (void)get_object(text, "logins", &text);
    if (!get_object(text, role, &text) && !is_of_role(text, role))
        return false;
    json_object_init(&o);
    bool is_good = login_parse(text, &o) &&
                   login_text(&o, "username", login.username, sizeof login.username) &&
                   login_text(&o, "password", login.password, sizeof login.password) &&
                   login.username[0] != '\0' && json_find(&o, "password") != NULL;
    json_object_fini(&o);
    if (is_good)
        *ret_login = login;
    explicit_bzero(&login, sizeof login);
    return is_good;
}

static enum ctl_exit
read_file(const struct options *o, const char *path, struct bytes *out)
{
    struct json_object parsed;
    bytes_reserve(out, 2 * FILE_MAX); /* it stays in one place, which is wiped */
    enum status st = file_read(path, FILE_MAX, out);
    if (st == ST_IO)
        return ctl_fail_file(o, path);
    json_object_init(&parsed);
    bool is_json = st == ST_OK && login_parse(slice_of(out->data, out->size), &parsed);
    json_object_fini(&parsed);
    return is_json ? CTL_DONE
                   : ctl_fail(o, CTL_FAILED,
                              "%s: is no JSON object: what 'queue create --json' or "
                              "'login rotate --json' printed is wanted",
                              path);
}

static void
wipe(struct bytes *b)
{
    if (b->data != NULL)
        explicit_bzero(b->data, b->capacity);
    bytes_fini(b);
}

/* Those of text, and of old what text has none for. False: there is none in text. */
static bool
merge(struct slice text, struct slice old, struct bytes *out)
{
    struct login login;
    struct json_writer w;
    bool is_found = false;
    json_write_begin(&w, out);
    json_object_begin(&w, NULL);
    for (size_t i = 0; i < ROLE_COUNT; i++) {
        bool is_new = login_of_role(text, ROLES[i], &login);
        is_found |= is_new;
        if (!is_new && !login_of_role(old, ROLES[i], &login))
            continue;
        json_object_begin(&w, ROLES[i]);
        json_put_string(&w, "username", login.username);
        json_put_string(&w, "password", login.password);
        json_object_end(&w);
    }
    json_object_end(&w);
    explicit_bzero(&login, sizeof login);
    return is_found;
}

enum ctl_exit
login_merge_file(const struct options *o, const char *path, struct bytes *logins)
{
    struct bytes text = {0};
    struct bytes merged = {0};
    enum ctl_exit code = read_file(o, path, &text);
    if (code == CTL_DONE && !merge(slice_of(text.data, text.size),
                                   slice_of(logins->data, logins->size), &merged))
        code = ctl_fail(o, CTL_USAGE, "%s: no login in it", path);
    if (code == CTL_DONE) {
        wipe(logins);
        *logins = merged;
    } else {
        wipe(&merged);
    }
    wipe(&text);
    return code;
}

static enum ctl_exit
login_from_file(const struct options *o,
                const char *path,
                const char *role,
                struct login *ret_login)
{
    struct bytes text = {0};
    enum ctl_exit code = read_file(o, path, &text);
    if (code == CTL_DONE &&
        !login_of_role(slice_of(text.data, text.size), role, ret_login))
        code = ctl_fail(o, CTL_USAGE, "%s: no login for the role %s in it", path, role);
    wipe(&text);
    return code;
}

/* A line from the terminal; false at its end. */
static bool
ask(const char *what, bool is_secret, char *out, size_t size)
{
    struct termios old;
    bool has_old = is_secret && tcgetattr(STDIN_FILENO, &old) == 0;
    (void)fprintf(stderr, "%s: ", what);
    (void)fflush(stderr);
    if (has_old) {
        struct termios quiet = old;
        quiet.c_lflag &= ~(tcflag_t)ECHO;
        (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
    }
    bool is_read = fgets(out, (int)size, stdin) != NULL;
    if (has_old) {
        (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &old);
        (void)fputc('\n', stderr);
    }
    if (!is_read)
        return false;
    out[strcspn(out, "\n")] = '\0';
    return out[0] != '\0';
}

/* From a prompt, once a run. */
static enum ctl_exit
login_from_prompt(const struct options *o, const char *role, struct login *login)
{
    struct ctl_state *s = o->state;
    if (s->password[0] == '\0') {
        if (isatty(STDIN_FILENO) == 0 || isatty(STDERR_FILENO) == 0)
            return ctl_fail(
                o, CTL_USAGE,
                "no login for the role %s: give --login-file, --context, or "
                "HOLDFAST_USERNAME and HOLDFAST_PASSWORD",
                role);
        if (login->username[0] != '\0')
            (void)snprintf(s->username, sizeof s->username, "%s", login->username);
        else if (!ask("Username", false, s->username, sizeof s->username))
            return ctl_fail(o, CTL_USAGE, "no user name was given");
        if (!ask("Password", true, s->password, sizeof s->password))
            return ctl_fail(o, CTL_USAGE, "no password was given");
    }
    (void)snprintf(login->username, sizeof login->username, "%s", s->username);
    (void)snprintf(login->password, sizeof login->password, "%s", s->password);
    return CTL_DONE;
}

static enum ctl_exit
find_login(const struct options *o, const char *role, struct target *t)
{
    const char *username = getenv("HOLDFAST_USERNAME");
    const char *password = getenv("HOLDFAST_PASSWORD");
    struct slice kept = slice_of(t->context.logins.data, t->context.logins.size);
    if (o->login_file != NULL)
        return login_from_file(o, o->login_file, role, &t->login);
    if (o->context != NULL && login_of_role(kept, role, &t->login))
        return CTL_DONE;
    if (username != NULL && username[0] != '\0') {
        (void)snprintf(t->login.username, sizeof t->login.username, "%s", username);
        if (password == NULL || password[0] == '\0')
            return login_from_prompt(o, role, &t->login);
        (void)snprintf(t->login.password, sizeof t->login.password, "%s", password);
        return CTL_DONE;
    }
    if (kept.size > 0 && login_of_role(kept, role, &t->login))
        return CTL_DONE;
    return login_from_prompt(o, role, &t->login);
}

/* "" is NULL. */
static const char *
or_null(const char *text)
{
    return text != NULL && text[0] != '\0' ? text : NULL;
}

static const char *
first_of(const char *a, const char *b, const char *c)
{
    return a != NULL ? a : b != NULL ? b : c;
}

/* A context is looked at when it is named, or when nothing else says where the queue
 * is: its passwords never go to an address that is not its own unless both were named.
 */
static enum ctl_exit
find_target(const struct options *o, const char *role, struct target *t)
{
    const char *url = or_null(getenv("HOLDFAST_URL"));
    enum ctl_exit code = CTL_DONE;
    if (o->context != NULL || (o->url == NULL && url == NULL)) {
        code = context_load(o, o->context, &t->context);
        if (code == CTL_NOT_FOUND && o->context == NULL)
            return ctl_fail(
                o, CTL_USAGE,
                "where is the queue? Give --url, --context or HOLDFAST_URL");
        if (code != CTL_DONE)
            return code;
    }
    /* Without --context there is a context only when the environment has no address. */
    t->url = first_of(o->url, or_null(t->context.url), url);
    t->ca = first_of(o->ca, or_null(t->context.ca), or_null(getenv("HOLDFAST_CA")));
    t->host =
        first_of(o->host, or_null(t->context.host), or_null(getenv("HOLDFAST_HOST")));
    return find_login(o, role, t);
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

enum ctl_exit
reply_complain(const struct options *o, const struct json_object *reply)
{
    const struct json_member *m = json_find(reply, "reason");
    uint16_t code = reply_code(reply);
    struct bytes reason = {0};
    if (m != NULL && json_unescape(m->value, &reason) != ST_OK)
        bytes_clear(&reason);
    enum ctl_exit exit = code == 0 ? CTL_FAILED : failure_of_reply(code);
    (void)ctl_fail(o, exit, "the queue refused with code %u: %.*s", code,
                   (int)reason.size, (const char *)reason.data);
    bytes_fini(&reason);
    return exit;
}

bool
reply_has(const struct json_object *reply, const char *key)
{
    return json_find(reply, key) != NULL;
}

static enum ctl_exit
log_in(struct wsclient *c,
       const struct options *o,
       const char *role,
       const struct login *login,
       const char *extra)
{
    struct bytes text = {0};
    struct json_writer w;
    struct slice reply;
    struct json_object parsed;
    bool is_copy = o->is_copy && strcmp(role, "admin") != 0;
    json_write_begin(&w, &text);
    json_object_begin(&w, NULL);
    json_put_string(&w, "username", login->username);
    json_put_string(&w, "password", login->password);
    json_put_string(&w, "role", role);
    json_put_string(&w, "queuetype", is_copy ? "copy" : "distribute");
    bytes_put_text(&text, extra);
    json_object_end(&w);
    wsclient_send(c, slice_of(text.data, text.size), true);
    wipe(&text);
    enum status st = wsclient_wait(c, o->timeout_secs * 1000, &reply);
    if (st != ST_OK)
        return ctl_fail_reply(o, st, wsclient_close_code(c), "no reply to the login");
    json_object_init(&parsed);
    enum ctl_exit code = CTL_DONE;
    if (!login_parse(reply, &parsed))
        code = ctl_fail(o, CTL_FAILED, "the reply to the login cannot be read");
    else if (reply_code(&parsed) != 0)
        code = reply_complain(o, &parsed);
    json_object_fini(&parsed);
    return code;
}

static enum ctl_exit
connect_to(const struct options *o,
           const struct target *t,
           struct wsclient **ret_client)
{
    char error[256] = "";
    const struct wsclient_options options = {
        .url = t->url,
        .ca = t->ca,
        .host = t->host,
        .timeout_ms = o->timeout_secs * 1000,
    };
    enum ctl_exit code = ctl_check_file(o, t->ca);
    if (code != CTL_DONE)
        return code;
    enum status st = wsclient_connect(&options, error, sizeof error, ret_client);
    if (st == ST_OK)
        return CTL_DONE;
    return ctl_fail(o, failure_of_connect(st), "%s", error);
}

enum ctl_exit
login_connect(const struct options *o,
              const char *role,
              const char *extra,
              struct wsclient **ret_client)
{
    struct target t = {.url = NULL};
    struct wsclient *c = NULL;
    enum ctl_exit code = find_target(o, role, &t);
    if (code == CTL_DONE)
        code = connect_to(o, &t, &c);
    if (code == CTL_DONE)
        code = log_in(c, o, role, &t.login, extra);
    context_fini(&t.context);
    explicit_bzero(&t.login, sizeof t.login);
    if (code == CTL_DONE)
        *ret_client = c;
    else
        wsclient_free(c);
    return code;
}
