/* What the files of the replicated log offer each other; part of raft/rlog_int.h. */
#ifndef HF_RAFT_RLOG_PARTS_H
#define HF_RAFT_RLOG_PARTS_H

#include "raft/rlog_int.h"

/* rlog.c */
void rlog_fatal(struct rlog *r, enum status why, const char *what);
void rlog_note_time(struct rlog *r, uint64_t now_ms);
uint64_t rlog_random(struct rlog *r, uint64_t below);        /* 0..below-1 */
uint64_t rlog_term_of(const struct rlog *r, uint64_t index); /* log or snapshot, or 0 */
uint64_t rlog_last_term(const struct rlog *r);
bool rlog_is_leader(const struct rlog *r);
/* In the library's configuration; NULL: it is not. */
struct raft_server *rlog_server(const struct rlog *r, uint64_t id);
uint64_t rlog_known_leader(const struct rlog *r);
/* The row of a peer; a new one when it has none. */
struct rlog_peer *rlog_peer(struct rlog *r, uint64_t id);
struct rlog_peer *rlog_peer_find(struct rlog *r, uint64_t id); /* or NULL */
const struct rlog_peer *rlog_peer_look(const struct rlog *r, uint64_t id);

/* heap.c: the aborting heap, and a payload "allocation" of RLOG_NO_PAYLOAD_BYTES zeros
 * that frees to nothing. */
#define RLOG_NO_PAYLOAD_BYTES 8u
void rlog_heap_install(void);
void *rlog_heap_batch(void);

/* rlog_step.c */
void rlog_step(struct rlog *r, struct raft_event *event, const struct rlog_source *src);
int rlog_try_step(struct rlog *r,
                  struct raft_event *event,
                  const struct rlog_source *src); /* gives the library's code back */
void rlog_settle(struct rlog *r);
/* The entry at index with a reference of its blob; false after rlog_fatal(). */
bool rlog_load_entry(struct rlog *r, uint64_t index, struct rlog_entry *ret_entry);

/* rlog_store.c */
void rlog_store_entries(struct rlog *r,
                        uint64_t index,
                        const struct rlog_entry *entries,
                        uint32_t count);
void rlog_report_stored(struct rlog *r);
void rlog_ask_sync(struct rlog *r);
void rlog_tick_sync(struct rlog *r);

/* rlog_send.c */
void rlog_send_message(struct rlog *r,
                       const struct raft_message *m,
                       const struct rlog_source *src);
void rlog_send_frame(struct rlog *r,
                     uint64_t peer,
                     enum rlog_frame_kind kind,
                     const struct rlog_entry *entries,
                     uint32_t count);
void rlog_pump(struct rlog *r, struct rlog_peer *p);
void rlog_reset_cursors(struct rlog *r);
void rlog_send_heartbeat(struct rlog *r, struct rlog_peer *p);
void rlog_send_result(struct rlog *r, uint64_t peer, uint64_t last_log_index);

/* rlog_submit.c */
void rlog_submit_barrier(struct rlog *r);
void rlog_tick_handover(struct rlog *r);
/* The connected voter that would lead best, those with a good disk before others; 0:
 * none. wanted: that one only, if not 0. */
uint64_t rlog_choose_target(const struct rlog *r, uint64_t wanted);

/* rlog_room.c */
void rlog_look_at_disk(struct rlog *r);
bool rlog_is_slow(const struct rlog *r);

/* rlog_elect.c */
void rlog_fire_timeout(struct rlog *r);
void rlog_tick_election(struct rlog *r);
uint64_t rlog_election_deadline(const struct rlog *r);
void rlog_fast_start(struct rlog *r, uint64_t wait_ms, uint32_t tries);
void rlog_fast_stop(struct rlog *r);
void rlog_fast_heard(struct rlog *r, uint64_t peer);
/* A pre-vote was asked from us, or refused to us. */
void rlog_fast_asked(struct rlog *r);
void rlog_fast_refused(struct rlog *r);
void rlog_fast_boot(struct rlog *r); /* a peer's position came */

/* rlog_gate.c */
/* Raises the term of a start that must; false after rlog_fatal(). */
bool rlog_raise_term(struct rlog *r, uint64_t *term, uint64_t *vote);
void rlog_gate_close(struct rlog *r);
bool rlog_gate_may_stand(struct rlog *r);
bool rlog_gate_may_vote(struct rlog *r, uint64_t last_term, uint64_t last_index);
/* It votes, gate closed, and has not heard of a leader for an election timeout. */
bool rlog_gate_misses_leader(const struct rlog *r);
/* An AppendEntries of the leader (term, commit) was accepted. */
void rlog_gate_heard(struct rlog *r, uint64_t term, uint64_t leader_commit);
void rlog_gate_check(struct rlog *r);
void rlog_tick_gate(struct rlog *r);
void rlog_gate_position(struct rlog *r,
                        struct rlog_peer *p,
                        const struct rlog_position *position);
void rlog_tell_position(struct rlog *r, uint64_t peer, bool is_answer);

/* rlog_chain.c: where it begins; an entry that is applied. */
void rlog_chain_reset(struct rlog *r, uint64_t index, uint64_t chain);
void rlog_chain_add(struct rlog *r, const struct rlog_entry *e);

/* rlog_snapshot.c */
void rlog_install_begin(struct rlog *r, struct raft_update *u);
void rlog_receive_offer(struct rlog *r,
                        uint64_t peer,
                        uint64_t term,
                        const struct rlog_snapshot_meta *meta);
void rlog_receive_chunk(struct rlog *r,
                        uint64_t peer,
                        const struct rlog_chunk *chunk,
                        struct blob *frame);
void rlog_receive_local(struct rlog *r,
                        enum rlog_snapshot_event event,
                        const struct rlog_snapshot_meta *meta);

/* rlog_offer.c */
void rlog_offer_start(struct rlog *r, struct rlog_peer *p, uint64_t index);
void rlog_offer_stop(struct rlog *r, struct rlog_peer *p);
void rlog_offer_stop_all(struct rlog *r);
void rlog_offer_answered(struct rlog *r,
                         struct rlog_peer *p,
                         const struct rlog_snapshot_ack *ack);
void rlog_offer_resume(struct rlog *r, struct rlog_peer *p); /* the link is back */
void rlog_tick_offers(struct rlog *r);
uint64_t rlog_offer_deadline(const struct rlog *r);

#endif
