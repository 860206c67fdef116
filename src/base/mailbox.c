/* Mailbox: a stack of mail that many threads push and one thread empties.
 *
 * Not a queue with single pops: taking all at once is what makes it safe without
 * hazard pointers or counters. The push compares only the top pointer; that a mail with
 * the same address may have left and come back between the load and the swap (ABA) does
 * no harm, because the new chain is linked to that very address, which is again the
 * top.
 *
 * Invariant: from the top down mail is newest to oldest, also inside one chain. */
#include "base/mailbox.h"

#include <assert.h>

void
mail_chain_add(struct mail_chain *chain, struct mail *mail)
{
    mail->next = NULL;
    if (chain->last == NULL)
        chain->first = mail;
    else
        chain->last->next = mail;
    chain->last = mail;
}

/* Turns the direction of a list; returns its new first. */
static struct mail *
reverse(struct mail *first)
{
    struct mail *done = NULL;
    while (first != NULL) {
        struct mail *next = first->next;
        first->next = done;
        done = first;
        first = next;
    }
    return done;
}

void
mailbox_init(struct mailbox *box)
{
    atomic_init(&box->top, NULL);
}

bool
mailbox_put(struct mailbox *box, struct mail_chain *chain)
{
    if (chain->first == NULL)
        return false;
    struct mail *oldest = chain->first;
    struct mail *newest = reverse(chain->first);
    assert(newest == chain->last);
    *chain = (struct mail_chain){NULL, NULL};
    struct mail *top = atomic_load_explicit(&box->top, memory_order_relaxed);
    do {
        oldest->next = top;
    } while (!atomic_compare_exchange_weak_explicit(
        &box->top, &top, newest, memory_order_release, memory_order_relaxed));
    return top == NULL;
}

struct mail *
mailbox_take(struct mailbox *box)
{
    /* A look first: an exchange would take the cache line from the senders each time.
     */
    if (atomic_load_explicit(&box->top, memory_order_relaxed) == NULL)
        return NULL;
    return reverse(atomic_exchange_explicit(&box->top, NULL, memory_order_acquire));
}
