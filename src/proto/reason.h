/* Reasons: the texts of failures. Private to reply.c (reason_text is in reply.h). */
#ifndef HF_PROTO_REASON_H
#define HF_PROTO_REASON_H

#include "broker/parcel.h"

/* Appends the text of request's failure with its parameters; it is not escaped, but may
 * have quotes in it. */
void reason_put(const struct request *request, struct bytes *out);
/* The name of a setting; SETTING_COUNT is messages-memory-used. */
const char *reason_setting_name(enum setting_id id);

#endif
