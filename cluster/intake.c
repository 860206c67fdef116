/* Intake: see intake.h. Invariants: body is set exactly when the head is whole;
 * filled <= body->size; max_bytes bounds body->size at the time of its allocation. */
#include "cluster/intake.h"

#include <assert.h>
#include <string.h>

void
intake_init(struct intake *in, uint32_t max_bytes)
{
    *in = (struct intake){.max_bytes = max_bytes};
}

void
intake_fini(struct intake *in)
{
    blob_put(in->body);
    in->body = NULL;
    in->head_size = 0;
}

/* Moves at most want bytes from the front of bytes to out; how many it were. */
static uint32_t
move(struct slice *bytes, uint8_t *out, uint32_t want)
{
    uint32_t count = bytes->size < want ? (uint32_t)bytes->size : want;
    if (count > 0)
        memcpy(out, bytes->data, count);
    bytes->data += count;
    bytes->size -= count;
    return count;
}

enum status
intake_take(struct intake *in, struct slice *bytes)
{
    if (in->body == NULL) {
        uint32_t missing = FRAME_HEAD_BYTES - in->head_size;
        in->head_size += move(bytes, in->head + in->head_size, missing);
        if (in->head_size < FRAME_HEAD_BYTES)
            return ST_OK;
        struct frame_head head;
        enum status status = frame_head_read(in->head, in->max_bytes, &head);
        if (status != ST_OK)
            return status;
        in->body = blob_try_new(head.size);
        if (in->body == NULL)
            return ST_NOMEM;
        in->filled = 0;
    }
    in->filled += move(bytes, in->body->data + in->filled, in->body->size - in->filled);
    return ST_OK;
}

uint8_t *
intake_room(struct intake *in, size_t *ret_size)
{
    if (in->body == NULL) {
        *ret_size = 0;
        return NULL;
    }
    *ret_size = in->body->size - in->filled;
    return in->body->data + in->filled;
}

void
intake_fill(struct intake *in, size_t count)
{
    assert(in->body != NULL && count <= in->body->size - in->filled);
    in->filled += (uint32_t)count;
}

enum status
intake_next(struct intake *in, uint8_t *ret_kind, struct blob **ret_body)
{
    if (in->body == NULL || in->filled < in->body->size)
        return ST_AGAIN;
    enum status status = frame_check(in->head, blob_slice(in->body));
    if (status != ST_OK)
        return status;
    *ret_kind = in->head[4];
    *ret_body = in->body;
    in->body = NULL;
    in->head_size = 0;
    return ST_OK;
}
