/* Listen: the listening sockets and the one thread that accepts. */
#ifndef HF_NET_LISTEN_H
#define HF_NET_LISTEN_H

#include "net/worker.h"

#define LISTEN_MAX 16 /* addresses */

struct acceptor;

/* Binds all addresses. ST_EXISTS, ST_INVALID, ST_IO; nothing is left then. */
enum status acceptor_new(const char *const *addresses,
                         size_t count,
                         struct acceptor **ret_acceptor) MUST_USE;
/* On w's thread, or before it runs: new connections go to all threads in turn. */
enum status acceptor_start(struct acceptor *a, struct worker *w) MUST_USE;
/* Closes the listening sockets; on w's thread, or when it has ended. */
void acceptor_stop(struct acceptor *a);
void acceptor_free(struct acceptor *a);                         /* NULL is fine */
uint16_t acceptor_port(const struct acceptor *a, size_t index); /* 0: none */

#endif
