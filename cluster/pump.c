/* Pump: see pump.h. */
#include "cluster/pump.h"

#define SCRATCH_BYTES (16u << 10) /* one TLS record */
#define LITTLE_BYTES  (8u << 10)  /* far less than one read of the socket takes */

enum status
pump_out(struct pump *p, SSL *ssl, struct outq *out, bool *ret_is_blocked)
{
    size_t budget = PUMP_OUT_BYTES;

    *ret_is_blocked = false;
    while (out->bytes > 0) {
        if (budget == 0) {
            *ret_is_blocked = true; /* goes on when the loop comes round */
            return ST_AGAIN;
        }
        struct slice front = outq_front(out);
        if (front.size > budget)
            front.size = budget;
        size_t count = 0;
        enum status status = cluster_tls_write(ssl, front, &count);
        if (status == ST_AGAIN)
            *ret_is_blocked = cluster_tls_wants_write(ssl);
        if (status != ST_OK)
            return status;
        outq_consume(out, count);
        p->sent_bytes += count;
        budget -= count;
        if (++p->records == PUMP_REKEY_RECORDS) {
            cluster_tls_rekey(ssl);
            p->records = 0;
        }
    }
    return ST_OK;
}

/* Hands on all frames that rest completes. ST_CLOSED: the callback said stop. */
static enum status
take(struct intake *in, struct slice rest, pump_frame_cb *cb, void *ctx)
{
    do {
        uint8_t kind;
        struct blob *body;
        enum status status = intake_take(in, &rest);
        if (status != ST_OK)
            return status == ST_INVALID ? ST_CORRUPT : status;
        status = intake_next(in, &kind, &body);
        if (status == ST_AGAIN)
            continue;
        if (status != ST_OK)
            return status;
        bool goes_on = cb(ctx, kind, body);
        blob_put(body);
        if (!goes_on)
            return ST_CLOSED;
    } while (rest.size > 0);
    return ST_OK;
}

enum status
pump_in(struct pump *p, SSL *ssl, struct intake *in, pump_frame_cb *cb, void *ctx)
{
    uint8_t scratch[SCRATCH_BYTES];

    for (size_t done = 0; done < PUMP_IN_BYTES;) {
        size_t room;
        size_t count = 0;
        uint8_t *body = intake_room(in, &room);
        bool is_direct = room > 0;
        enum status status = cluster_tls_read(
            ssl, is_direct ? body : scratch, is_direct ? room : sizeof scratch, &count);
        if (status != ST_OK)
            return status;
        done += count;
        p->received_bytes += count;
        if (is_direct)
            intake_fill(in, count);
        status = take(in, slice_of(scratch, is_direct ? 0 : count), cb, ctx);
        if (status != ST_OK)
            return status == ST_CLOSED ? ST_OK : status;
        /* So little was in the socket that it is empty now; to ask costs a call. */
        if (done < LITTLE_BYTES && !cluster_tls_has_more(ssl))
            return ST_AGAIN;
    }
    return ST_OK;
}
