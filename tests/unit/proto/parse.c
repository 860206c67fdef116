/* Parse: see parse.h. */
#include "parse.h"

#define CONN  77
#define QUEUE 5

static struct request_parser *
parser(void)
{
    static struct request_parser *p;
    if (p == NULL)
        p = request_parser_new();
    return p;
}

/* The payload in memory of its own, so that the sanitizer sees a read behind its end.
 */
static struct request *
parse(const struct speaker *speaker, bool is_text, struct slice payload)
{
    uint8_t *copy = mem_alloc(payload.size);
    if (payload.size > 0)
        memcpy(copy, payload.data, payload.size);
    struct slice copied = slice_of(copy, payload.size);
    struct request *r =
        speaker == NULL ? request_parse_login(parser(), CONN, QUEUE, is_text, copied)
                        : request_parse(parser(), speaker, is_text, copied);
    mem_free(copy);
    ck_assert_ptr_nonnull(r);
    ck_assert_uint_eq(r->parcel.conn, CONN);
    return r;
}

struct request *
parse_bytes(enum login_role role,
            enum queue_type type,
            bool is_text,
            struct slice payload)
{
    struct speaker speaker = {.conn = CONN, .role = role, .type = type};
    return parse(&speaker, is_text, payload);
}

struct request *
parse_text(enum login_role role, enum queue_type type, const char *text)
{
    return parse_bytes(role, type, true, slice_from_text(text));
}

struct request *
parse_login(const char *text)
{
    struct request *r = parse(NULL, true, slice_from_text(text));
    ck_assert_int_eq(r->parcel.kind, PARCEL_LOGIN);
    ck_assert_uint_eq(r->login->queue, QUEUE);
    return r;
}

void
parse_free(struct request *r)
{
    parcel_free(&r->parcel);
}

static const char *
code_text(struct request *r)
{
    static char text[20];
    snprintf(text, sizeof(text), "%u%s", r->code, r->ends ? " ends" : "");
    parse_free(r);
    return text;
}

const char *
parse_code(enum login_role role, enum queue_type type, const char *text)
{
    return code_text(parse_text(role, type, text));
}

const char *
parse_login_code(const char *text)
{
    return code_text(parse_login(text));
}

const char *
fill(const char *format, const char *text)
{
    static char buffers[4][4096];
    static unsigned next;
    char *buffer = buffers[next++ % 4];
    const char *place = strstr(format, "%s");
    ck_assert_ptr_nonnull(place);
    int size = snprintf(buffer, sizeof(buffers[0]), "%.*s%s%s", (int)(place - format),
                        format, text, place + 2);
    ck_assert_int_lt(size, (int)sizeof(buffers[0]));
    return buffer;
}
