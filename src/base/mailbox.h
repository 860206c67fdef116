/* Mailbox: many threads put, one thread takes, without a lock.
 *
 * A stack by compare-and-swap that the taker empties in one exchange and reverses, so
 * mail comes out in the order each sender put it. A sender chains what one turn of its
 * loop made and puts the chain at once. The mailbox does not wake anybody: put tells
 * whether the box was empty, and the sender then rings the taker's bell (eventfd,
 * uv_async) once. */
#ifndef HF_BASE_MAILBOX_H
#define HF_BASE_MAILBOX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct mail {
    struct mail *next;
};

/* A sender's own chain, first put first. All zero is empty. */
struct mail_chain {
    struct mail *first;
    struct mail *last;
};

struct mailbox {
    _Atomic(struct mail *) top;
};

void mail_chain_add(struct mail_chain *chain, struct mail *mail); /* sender's thread */

void mailbox_init(struct mailbox *box);
/* Puts the whole chain and leaves it empty. True: the box was empty, ring the bell.
 * Any thread. An empty chain does nothing and returns false. */
bool mailbox_put(struct mailbox *box, struct mail_chain *chain);
/* All mail, oldest first, linked by next; NULL when there is none. Taker's thread. */
struct mail *mailbox_take(struct mailbox *box);

#endif
