/* Replies: from parcels to the JSON that clients read: compact, fields in the order of
 * the manual's examples. Pure; appends to out. */
#ifndef HF_PROTO_REPLY_H
#define HF_PROTO_REPLY_H

#include "broker/parcel.h"

/* Names in usage rows. */
struct reply_names {
    const char *instance_type; /* "self-hosted" */
    const char *region;        /* "local" */
};

void reply_format(const struct request *request,
                  const struct reply_names *names,
                  struct bytes *out);
void delivery_format(const struct delivery *delivery, struct bytes *out);
void notice_format(const struct notice *notice, struct bytes *out);
void push_format(const struct push *push, struct bytes *out);
/* Bytes of the frame that a subscriber gets: "length in bytes" of getmsg and getmsgs
 * (89 for the manual's example: type 1, body of five bytes, no key). */
uint32_t message_frame_size(const struct message_view *view);
/* The manual's text for a code, without parameters. */
const char *reason_text(uint16_t code);

#endif
