/* Fields: readers of single members of a request, and the parts of the request parser
 * that its files share. Private to request*.c. */
#ifndef HF_PROTO_FIELDS_H
#define HF_PROTO_FIELDS_H

#include "proto/request.h"

/* The codes that are known before the broker looks (manual, "Failure codes"). */
enum {
    CODE_JSON = 100,
    CODE_CONTEXT = 101,
    CODE_LOGIN_BINARY = 102,
    CODE_USERNAME = 103,
    CODE_PASSWORD = 104,
    CODE_ROLE = 105,
    CODE_QUEUE_TYPE = 106,
    CODE_ADMIN_COPY = 108,
    CODE_REPLAY = 110,
    CODE_BODY = 200,
    CODE_TYPE = 201,
    CODE_BASE64 = 202,
    CODE_DELAY = 203,
    CODE_DURABILITY = 204,
    CODE_KEY = 205,
    CODE_NO_BODY = 206,
    CODE_COPY_DELAY = 207,
    CODE_COPY_DURABILITY = 208,
    CODE_COPY_KEY = 209,
    CODE_CAPACITY = 300,
    CODE_ACK = 302,
    CODE_LOGOUT = 303,
    CODE_NOT_EXPECTED = 304,
    CODE_COPY_SUBSCRIBER = 306,
    CODE_COMMAND = 400,
    CODE_SUBSCRIBE = 401,
    CODE_YEAR = 404,
    CODE_MONTH = 405,
    CODE_DAY = 406,
    CODE_FLAG = 408,
    CODE_PAGE = 409,
    CODE_BEFORE = 410,
    CODE_AFTER = 411,
    CODE_COUNT = 412,
    CODE_SETTING = 414,
    CODE_READ_ONLY = 415,
    CODE_NO_SETTING = 416,
    CODE_PLACE = 417,
    CODE_FILTER = 418,
};

struct request_parser {
    struct json_object object;
    struct bytes scratch; /* unescaped texts and escaped bodies, for a moment */
};

/* Several bad fields give the lowest code. */
static inline void
code_add(uint16_t *code, uint16_t other)
{
    if (*code == 0 || other < *code)
        *code = other;
}

/* All of these: m may be NULL, for a field that is not there; then they say no. */

/* A whole number (PROTOCOL-NOTES 12) from least to most. */
bool field_whole(const struct json_member *m,
                 int64_t least,
                 int64_t most,
                 uint32_t *ret_value);
bool field_bool(const struct json_member *m, bool *ret_value);
/* A text of at most max bytes, unescaped, without lone surrogates. *ret_text is
 * borrowed from the request or from p->scratch, until the next such call. */
bool field_text(struct request_parser *p,
                const struct json_member *m,
                size_t max_bytes,
                struct slice *ret_text);
bool
field_id(struct request_parser *p, const struct json_member *m, struct uuid *ret_id);
/* The context of p->object as JSON text, borrowed from the request; empty when there is
 * none or it is bad (then 101 is added). */
struct slice field_context(const struct json_member *m, uint16_t *code);

/* The fields of a publish in p->object. Adds what is wrong to *code; the body is there
 * only when *code is 0 at the end. False: out of memory. */
bool publish_read(struct request_parser *p,
                  enum queue_type type,
                  struct publish_fields *out,
                  uint16_t *code) MUST_USE;

/* The fields of redrive and purge in p->object. */
bool request_read_redrive(struct request_parser *p, struct request *r, uint16_t *code);
bool request_read_purge(struct request_parser *p, struct request *r, uint16_t *code);

/* A request that is nothing but its refusal. */
struct request *
request_refused(uint64_t conn, struct slice context, uint16_t code, bool ends) MUST_USE;

struct request *request_parse_publish(struct request_parser *p,
                                      const struct speaker *speaker,
                                      bool is_text,
                                      struct slice payload) MUST_USE;
struct request *request_parse_subscriber(struct request_parser *p,
                                         const struct speaker *speaker,
                                         bool is_text,
                                         struct slice payload) MUST_USE;
struct request *request_parse_admin(struct request_parser *p,
                                    const struct speaker *speaker,
                                    bool is_text,
                                    struct slice payload) MUST_USE;

#endif
