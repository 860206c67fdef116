/* Intake: puts received bytes together into frames, whatever pieces they come in.
 *
 * The body of a frame goes straight into a blob of exactly its size, so that whoever
 * gets the frame can keep parts of it by reference. Nothing is allocated before the
 * head is whole and its size is within the limit. Pure: bytes in, frames out.
 *
 * Use: while bytes are left, intake_take() them, then intake_next() while it gives
 * frames. When intake_room() is not empty, bytes may be read into it directly instead.
 */
#ifndef HF_CLUSTER_INTAKE_H
#define HF_CLUSTER_INTAKE_H

#include "base/blob.h"
#include "cluster/frame.h"

struct intake {
    uint32_t max_bytes; /* of a body; the owner may change it between frames */
    uint32_t head_size; /* how much of head is there */
    uint8_t head[FRAME_HEAD_BYTES];
    struct blob *body; /* of the current frame, once its head is whole */
    uint32_t filled;   /* how much of body is there */
};

void intake_init(struct intake *in, uint32_t max_bytes);
void intake_fini(struct intake *in);

/* Takes what belongs to the current frame off the front of bytes; all that is left in
 * bytes belongs to later frames. ST_INVALID, ST_RANGE: see frame_head_read(); ST_NOMEM:
 * no memory for the body. After a failure the connection is of no more use. */
enum status intake_take(struct intake *in, struct slice *bytes) MUST_USE;

/* Where the rest of the current body belongs: ret_size 0 when none is under way. */
uint8_t *intake_room(struct intake *in, size_t *ret_size);
void intake_fill(struct intake *in, size_t count); /* so much was read into the room */

/* The current frame, when it is whole: the caller takes the reference of the body,
 * which is never NULL. ST_AGAIN: not whole yet. ST_CORRUPT: its checksum is wrong. */
enum status
intake_next(struct intake *in, uint8_t *ret_kind, struct blob **ret_body) MUST_USE;

#endif
