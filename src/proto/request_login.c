/* Login: the first message of a connection (manual, "The login"), with what each role
 * may add: a subscriber its capacity and session, a publisher a message. */
#include "proto/fields.h"

#include <openssl/crypto.h>
#include <string.h>

/* The index of text in names; -1 when it is none of them. */
static int
find_name(struct request_parser *p,
          const struct json_member *m,
          const char *const *names,
          int count)
{
    struct slice text;
    if (!field_text(p, m, LIMIT_USERNAME_BYTES, &text))
        return -1;
    for (int i = 0; i < count; i++)
        if (slice_equal(text, slice_from_text(names[i])))
            return i;
    return -1;
}

static void
read_name_and_password(struct request_parser *p, struct login_fields *f, uint16_t *code)
{
    struct slice text;
    if (field_text(p, json_find(&p->object, "username"), LIMIT_USERNAME_BYTES, &text) &&
        text.size > 0) {
        memcpy(f->username, text.data, text.size);
        f->username_size = (uint8_t)text.size;
    } else {
        code_add(code, CODE_USERNAME);
    }
    if (field_text(p, json_find(&p->object, "password"), LIMIT_PASSWORD_BYTES, &text) &&
        text.size > 0) {
        memcpy(f->password, text.data, text.size);
        f->password_size = (uint8_t)text.size;
    } else {
        code_add(code, CODE_PASSWORD);
    }
    if (p->scratch.size > 0)
        OPENSSL_cleanse(p->scratch.data, p->scratch.size);
}

/* Of a subscriber of the distribute type. */
static void
read_subscriber(struct request_parser *p, struct login_fields *f, uint16_t *code)
{
    const struct json_member *capacity = json_find(&p->object, "capacity");
    const struct json_member *session = json_find(&p->object, "sessionid");
    const struct json_member *replay = json_find(&p->object, "replay");
    f->has_session = session != NULL;
    f->has_session_id = field_id(p, session, &f->session);
    f->has_capacity = field_whole(capacity, 1, LIMIT_CAPACITY, &f->capacity);
    if (!f->has_capacity && (capacity != NULL || session == NULL))
        code_add(code, CODE_CAPACITY);
    if (replay != NULL && !field_bool(replay, &f->replay))
        code_add(code, CODE_REPLAY);
}

/* False: out of memory. */
static bool
read_login(struct request_parser *p, struct login_fields *f, uint16_t *code)
{
    static const char *const roles[] = {"publisher", "subscriber", "admin"};
    static const char *const types[] = {"distribute", "copy"};
    read_name_and_password(p, f, code);
    int role = find_name(p, json_find(&p->object, "role"), roles, 3);
    int type = find_name(p, json_find(&p->object, "queuetype"), types, 2);
    if (role < 0)
        code_add(code, CODE_ROLE);
    if (type < 0)
        code_add(code, CODE_QUEUE_TYPE);
    if (role < 0 || type < 0)
        return true; /* no other field has a lower code */
    f->role = (enum login_role)role;
    f->type = (enum queue_type)type;
    switch (f->role) {
    case ROLE_PUBLISHER:
        return json_find(&p->object, "body") == NULL ||
               publish_read(p, f->type, &f->publish, code);
    case ROLE_SUBSCRIBER:
        if (f->type == QUEUE_DISTRIBUTE)
            read_subscriber(p, f, code);
        return true;
    case ROLE_ADMIN:
        if (f->type == QUEUE_COPY)
            code_add(code, CODE_ADMIN_COPY);
        return true;
    case ROLE_COUNT:
        break;
    }
    return true;
}

struct request *
request_parse_login(struct request_parser *p,
                    uint64_t conn,
                    uint32_t queue,
                    bool is_text,
                    struct slice payload)
{
    uint16_t code = 0;
    struct slice context = slice_of(NULL, 0);
    bool is_object = is_text && json_parse(&p->object, payload) == JSON_IS_OBJECT;
    if (is_object)
        context = field_context(json_find(&p->object, "context"), &code);
    else
        code = is_text ? CODE_JSON : CODE_LOGIN_BINARY;
    struct request *r = request_new(PARCEL_LOGIN, conn, context);
    if (r == NULL)
        return NULL;
    r->login->queue = queue;
    if (is_object && !read_login(p, r->login, &code)) {
        parcel_free(&r->parcel);
        return NULL;
    }
    r->code = code;
    r->ends = code != 0;
    return r;
}
