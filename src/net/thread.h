/* Thread: the loop of one network thread. */
#ifndef HF_NET_THREAD_H
#define HF_NET_THREAD_H

#include "net/listen.h"

/* Prepares w (made by worker_init()) and starts its thread. acceptor: NULL, or what
 * this thread accepts with. ST_IO: the thread could not be started. */
enum status thread_start(struct worker *w, struct acceptor *acceptor) MUST_USE;
/* After CONTROL_STOP was told: waits for its end. */
void thread_join(struct worker *w);

#endif
