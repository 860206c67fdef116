/* Room: growing a buffer whose size a client decides, so it may fail. Private to the
 * WebSocket codec. */
#ifndef HF_PROTO_ROOM_H
#define HF_PROTO_ROOM_H

#include "base/bytes.h"
#include "base/mem.h"

/* Makes b's capacity at least capacity. False when out of memory; b is as it was. */
static inline bool MUST_USE
room_try(struct bytes *b, size_t capacity)
{
    if (capacity <= b->capacity)
        return true;
    uint8_t *data = mem_try_realloc(b->data, capacity);
    if (data == NULL)
        return false;
    b->data = data;
    b->capacity = capacity;
    return true;
}

#endif
