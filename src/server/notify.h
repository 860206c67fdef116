/* Notify: what the service manager is told (the protocol of sd_notify(3), a datagram of
 * NAME=VALUE lines). Without NOTIFY_SOCKET in the environment everything here does
 * nothing. Nothing waits: a message that the socket cannot take is lost.
 *
 *   READY=1 STATUS=..                   the node takes clients
 *   RELOADING=1 MONOTONIC_USEC=..       HUP came; READY=1 follows
 *   STOPPING=1                          TERM came
 *   WATCHDOG=1                          a turn of the core's loop; twice in the time
 *                                       that WATCHDOG_USEC gives
 *   EXTEND_TIMEOUT_USEC=.. STATUS=..    it starts, and is getting on */
#ifndef HF_SERVER_NOTIFY_H
#define HF_SERVER_NOTIFY_H

#include <stdint.h>

struct notify {
    int fd;               /* -1: there is nobody to tell */
    uint64_t watchdog_ms; /* 0: none is wanted */
    uint64_t next_ms;     /* when WATCHDOG=1 is due */
};

/* Reads NOTIFY_SOCKET (a path, or '@' and an abstract name), WATCHDOG_USEC and
 * WATCHDOG_PID from the environment. */
void notify_open(struct notify *n);
void notify_close(struct notify *n);

void notify_ready(struct notify *n);
void notify_reloading(struct notify *n); /* the end is notify_ready() */
void notify_stopping(struct notify *n);
/* The start, or the catching up, goes on for at most so long without another word. */
void notify_extend(struct notify *n, uint64_t extend_ms, const char *status);
/* A turn of the loop. */
void notify_turn(struct notify *n, uint64_t now_ms);
/* By when there must be another turn; UINT64_MAX: no watchdog. */
uint64_t notify_deadline(const struct notify *n);

#endif
