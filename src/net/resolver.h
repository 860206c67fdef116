/* Resolver: looks up a leader's host name with the system's resolver on a thread of its
 * own, because getaddrinfo() blocks. Made at the first question; addresses written as
 * numbers never come here. */
#ifndef HF_NET_RESOLVER_H
#define HF_NET_RESOLVER_H

#include "net/control.h"

struct resolver;
/* On the resolver's thread; takes the answer. */
typedef void resolver_cb(void *ctx, unsigned worker, struct control_resolved *answer);

struct resolver *resolver_new(resolver_cb *cb, void *ctx);
/* Does not wait for a look-up under way; cb is not called after this. NULL is fine. */
void resolver_free(struct resolver *r);
/* Any thread. Answered once, unless the resolver is freed. ST_AGAIN: too many
 * questions, or no thread; ask again later. address: host:port. */
enum status resolver_ask(struct resolver *r,
                         unsigned worker,
                         uint64_t generation,
                         const char *address) MUST_USE;

#endif
