/* Batches: records gather in the open one; a closed one becomes a log entry.
 *
 *   open ──close──► closed ──take──► taken ──submitted──► in flight ──► committed
 *
 * A decision is three steps, in this order: batch_begin(), the verb on the state, then
 * batch_add() with the record. Beginning closes an open batch that must not take the
 * record, so that the journal's mark stands before the verb.
 *
 * An ack or nack that is to be synced may wait for company: a publisher with one
 * message in flight sends its next one just when the ack of the last comes in, and
 * would wait for the ack's sync before its own. So when a synced record other than an
 * ack was added in the last BATCH_HOLD_MS, a batch of such acks alone stays open for as
 * long at most.
 *
 * The journal's marks are keyed by batch number (log indexes are not known yet), with
 * the top bit set so that no log index can be taken for one. Invariant:
 * first <= to_submit <= to_take <= open; exactly the batches below first are committed.
 */
#ifndef HF_BROKER_BATCH_H
#define HF_BROKER_BATCH_H

#include "base/mailbox.h"
#include "queue/state.h"

#define BATCH_HOLD_MS 2

struct broker;
struct part;
struct batch;

struct flight {
    struct mail_chain effects; /* parcels that leave when it is committed */
    struct blob *entry;        /* closed and not taken yet */
    uint64_t stamp_ms;
    uint64_t index; /* log index once submitted */
    bool is_sync;
    bool is_urgent; /* not acks and nacks alone */
    bool is_config; /* queues, logins or settings change */
};

struct batches {
    struct flight *ring; /* first to open, by number */
    size_t capacity;     /* a power of two */
    uint64_t first;
    uint64_t to_submit;
    uint64_t to_take;
    uint64_t open;
    struct bytes bytes;    /* the open batch's entry; empty: it has no record */
    size_t closed_bytes;   /* in entries not taken */
    uint64_t committed_ms; /* stamp of the last committed batch */
    /* Monotonic. */
    uint64_t hold_until_ms; /* the open batch, while it is not urgent */
    uint64_t company_ms;    /* when the last urgent synced record was added */
};

void batches_init(struct batches *s);
void batches_fini(struct batches *s);
/* Drops all that is not committed, with its effects. Numbers go on. */
void batches_drop(struct batches *s);

/* Makes the open batch one that takes a record: begun, small enough, synced if is_sync.
 * Returns its stamp. */
uint64_t batch_begin(struct broker *b, bool is_sync);
/* The same, with a stamp of this turn: for records that take their time from it. */
uint64_t batch_begin_now(struct broker *b, bool is_sync);
/* part: whose bytes it counts for; NULL = nobody's. */
void batch_add(struct broker *b, struct part *part, const struct record *record);
/* Records of one message or session. */
void batch_add_message(struct broker *b,
                       struct part *part,
                       enum record_type type,
                       const struct record_message *fields);
void batch_add_session(struct broker *b,
                       struct part *part,
                       enum record_type type,
                       const struct record_session *fields);
/* Marks the open batch: the configuration version moves when it is committed. */
void batch_set_config(struct broker *b);

/* The open batch's number. */
uint64_t batch_open_number(const struct broker *b);
/* What a refusal or a reading rests on: the last batch that has a record. */
uint64_t batch_read_tag(const struct broker *b);
/* The open batch, which gets a NOOP if it has no record yet. */
uint64_t batch_barrier(struct broker *b);
/* When the open batch is to be taken, if it may wait; else 0. */
uint64_t batch_held_until(const struct broker *b);
/* Nothing is open, waiting or in flight. */
bool batch_is_idle(const struct broker *b);
struct flight *batch_flight(const struct batches *s, uint64_t number);

#endif
