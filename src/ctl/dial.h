/* Dial: from a URL to a connected socket, with a deadline. */
#ifndef HF_CTL_DIAL_H
#define HF_CTL_DIAL_H

#include "base/bytes.h"

struct dial_address {
    char host[256]; /* without the brackets of an IPv6 address */
    char port[8];
};

/* wss://HOST[:PORT][/...]; ST_INVALID: it is none. */
enum status dial_parse(const char *url, struct dial_address *ret_address) MUST_USE;
/* A socket that does not block, or -1: error has one line for people. */
int dial(const struct dial_address *address,
         uint64_t deadline_ms,
         char *error,
         size_t error_size);
/* Waits for poll()'s events; false at the deadline (ctl_now_ms). */
bool dial_wait(int fd, short events, uint64_t deadline_ms);

#endif
