/* Journal: how a leader takes back what it proposed and could not commit.
 *
 * While state->journal is set, every verb first notes the old place, session fields,
 * settings and so on. Marks name entries: journal_mark(index, stamp) after the verbs of
 * one entry; journal_commit(index) forgets (and really frees messages, sessions and
 * queues that are gone) up to that mark; journal_rollback() undoes everything that is
 * not committed, newest first, and state->applied and stamp_ms go back too. After a
 * rollback the state equals (state_digest) the state that a follower has at the last
 * committed mark. Volatile messages must be dropped before a rollback. Pure.
 *
 * While there is a journal only journal_mark() moves state->applied and stamp_ms (that
 * is how it knows their old values); state_apply() and state_skip() call it
 * themselves. */
#ifndef HF_QUEUE_JOURNAL_H
#define HF_QUEUE_JOURNAL_H

#include "queue/state.h"

struct journal *journal_new(void);
/* Must be empty: committed or rolled back. NULL is fine. */
void journal_free(struct journal *j);
/* Ends an entry: state->applied and stamp_ms become these. Marking the same index again
 * with nothing in between does nothing. s->journal must be set. */
void journal_mark(struct state *s, uint64_t index, uint64_t stamp_ms);
/* Up to and including the mark of index; what is not marked yet stays. */
void journal_commit(struct state *s, uint64_t index);
void journal_rollback(struct state *s);
bool journal_is_empty(const struct journal *j);

#endif
