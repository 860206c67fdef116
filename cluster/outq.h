/* Outgoing queue: the bytes that wait for one connection, in order.
 *
 * Small pieces (heads, small payloads) are copied into chunks; large payloads are kept
 * by reference and never copied. outq_front() gives the next run of bytes to write:
 * straight from a large payload, or several small pieces gathered into one buffer of at
 * most 16 KiB, so that one TLS record carries many small frames.
 *
 * Safe for SSL_write(): until bytes are consumed, each further outq_front() gives a run
 * that begins with the same bytes and is at least as long (that is what OpenSSL demands
 * of a retry with SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER). The queue holds whole frames
 * only: callers ask outq_has_room() for the frame before they put any part of it. */
#ifndef HF_CLUSTER_OUTQ_H
#define HF_CLUSTER_OUTQ_H

#include "base/blob.h"

#define OUTQ_GATHER_BYTES (16u << 10) /* the payload of one TLS record */
#define OUTQ_COPY_MAX     2048        /* smaller payloads are copied */

struct outq_piece {
    struct blob *blob; /* one reference */
    uint32_t offset;
    uint32_t size;
};

struct outq {
    struct outq_piece *pieces; /* a ring; capacity is a power of two */
    size_t capacity;
    size_t first;
    size_t count;
    size_t bytes; /* put and not yet consumed, gathered ones included */
    size_t limit_bytes;
    struct blob *chunk; /* small pieces go here; what is behind chunk_used is free */
    uint32_t chunk_used;
    uint8_t *gather; /* OUTQ_GATHER_BYTES, made at first need */
    uint32_t gather_size;
    uint32_t gather_done;
};

void outq_init(struct outq *q, size_t limit_bytes);
void outq_fini(struct outq *q);

/* Whether a frame of so many bytes may be put now. An empty queue takes any frame. */
bool outq_has_room(const struct outq *q, size_t frame_bytes);
void outq_put(struct outq *q, struct slice bytes); /* copies */
/* Takes a reference of blob, or copies when the part is small. */
void outq_put_blob(struct outq *q, struct blob *blob, uint32_t offset, uint32_t size);

/* The next bytes to write; size 0 when the queue is empty. Borrowed until the next call
 * that changes the queue. */
struct slice outq_front(struct outq *q);
void outq_consume(struct outq *q, size_t count); /* at most the size of the front */

#endif
