/* Options: what every holdfastctl command understands. */
#ifndef HF_CTL_OPTIONS_H
#define HF_CTL_OPTIONS_H

#include "base/bytes.h"

/* Exit codes, the same as the control socket's (holdfastctl.8). */
enum ctl_exit {
    CTL_DONE = 0,
    CTL_FAILED = 1,
    CTL_USAGE = 2,
    CTL_NO_LEADER = 3,
    CTL_NOT_FOUND = 4,
    CTL_EXISTS = 5,
    CTL_UNREACHABLE = 6, /* no connection, or it broke */
    CTL_REFUSED = 7,     /* the queue answered with a failure code */
};

struct options {
    bool is_json;
    const char *socket; /* control socket */
    const char *config;
    const char *url; /* wss://host:port/ */
    const char *ca;
    const char *host; /* Host header and TLS name, default that of url */
    const char *login_file;
    uint64_t timeout_secs;
    const char *to;   /* passed on to the node */
    const char *tier; /* passed on to the node */
    bool is_sure;     /* --yes: do not ask */
    /* pub, sub, bench */
    uint64_t durability;
    uint64_t delay_secs;
    const char *key;
    bool is_binary;
    bool is_copy;
    bool has_no_ack;
    uint64_t count; /* 0: no end */
    uint64_t capacity;
    uint64_t publishers;
    uint64_t subscribers;
    uint64_t window;
    uint64_t size_bytes;
    uint64_t seconds;
};

/* Takes options out of argv wherever they stand; what is left (nouns, verbs, values) is
 * moved to the front and counted in ret_count. Says on stderr what is wrong. */
enum status options_parse(int argc,
                          char **argv,
                          struct options *ret_options,
                          int *ret_count) MUST_USE;

#endif
