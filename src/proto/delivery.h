/* Delivery: a message as JSON text. Private to delivery.c and reply.c. */
#ifndef HF_PROTO_DELIVERY_H
#define HF_PROTO_DELIVERY_H

#include "base/uuid.h"

struct message_text {
    const struct uuid *id; /* NULL: a copy queue's message */
    struct slice key;      /* empty: none */
    struct slice body;     /* the inside of a JSON string */
    uint8_t type;          /* 1 or 2 */
    uint64_t received_secs;
};

/* Bytes that message_put() appends. */
size_t message_text_size(const struct message_text *m);
void message_put(const struct message_text *m, struct bytes *out);

#endif
