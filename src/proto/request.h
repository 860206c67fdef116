/* Requests: from a client's message to struct request. The manual's fields, limits and
 * codes; several bad fields give the lowest code. Pure.
 *
 * NULL means out of memory (the caller closes the connection). */
#ifndef HF_PROTO_REQUEST_H
#define HF_PROTO_REQUEST_H

#include "base/json.h"
#include "broker/parcel.h"

/* Who speaks: known after the login. */
struct speaker {
    uint64_t conn;
    enum login_role role;
    enum queue_type type;
};

/* One per network thread: reused tables and buffers. */
struct request_parser;
struct request_parser *request_parser_new(void);
void request_parser_free(struct request_parser *p);

/* The first message of a connection. is_text false: code 102. Always kind LOGIN; code
 * says what is wrong already: up to 106 it is refused without a look at the password.
 */
struct request *request_parse_login(struct request_parser *p,
                                    uint64_t conn,
                                    uint32_t queue,
                                    bool is_text,
                                    struct slice payload) MUST_USE;
/* Any later message. is_text: payload is valid UTF-8. */
struct request *request_parse(struct request_parser *p,
                              const struct speaker *speaker,
                              bool is_text,
                              struct slice payload) MUST_USE;

#endif
