/* Answer: reading what a node answered: members of objects and elements of arrays. */
#ifndef HF_CTL_ANSWER_H
#define HF_CTL_ANSWER_H

#include "base/json.h"

/* The next element of an array, raw; *rest begins as the array's text and is moved on.
 * False: there is none. text is well formed JSON. */
bool answer_next(struct slice *rest, struct slice *ret_element);
/* A member of an object that was parsed; 0, false or empty when it is not there or of
 * another kind. */
uint64_t answer_u64(const struct json_object *o, const char *key);
bool answer_bool(const struct json_object *o, const char *key);
struct slice answer_text(const struct json_object *o, const char *key); /* escaped */
struct slice answer_array(const struct json_object *o, const char *key);

#endif
