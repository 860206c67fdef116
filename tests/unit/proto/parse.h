/* Parse: requests made from text, for the tests. */
#ifndef HF_TESTS_PROTO_PARSE_H
#define HF_TESTS_PROTO_PARSE_H

#include "suites.h"

/* The parser's request, which the caller frees with parse_free(). Never NULL. */
struct request *parse_bytes(enum login_role role,
                            enum queue_type type,
                            bool is_text,
                            struct slice payload);
struct request *
parse_text(enum login_role role, enum queue_type type, const char *text);
struct request *parse_login(const char *text);
void parse_free(struct request *r);

/* The code of a request and whether it ends the connection: "0", "203", "100 ends". */
const char *parse_code(enum login_role role, enum queue_type type, const char *text);
const char *parse_login_code(const char *text);

/* A table of texts with what they give. */
struct code_case {
    const char *text;
    const char *code;
};

#define CHECK_CODES(cases, role, type)                                                 \
    for (size_t i_ = 0; i_ < COUNT_OF(cases); i_++) {                                  \
        const char *code_ = parse_code((role), (type), (cases)[i_].text);              \
        ck_assert_msg(strcmp(code_, (cases)[i_].code) == 0, "%.200s: %s, not %s",      \
                      (cases)[i_].text, code_, (cases)[i_].code);                      \
    }

/* format with one %s, filled in: in a buffer of the next few calls. */
const char *fill(const char *format, const char *text);

#endif
