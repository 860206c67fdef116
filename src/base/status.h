/* Status codes: the one vocabulary of failure inside Holdfast.
 *
 * A function that can fail returns enum status and leaves its outputs untouched on
 * failure. What a client sees (the manual's codes) is decided in src/broker and
 * src/proto, never here. */
#ifndef HF_BASE_STATUS_H
#define HF_BASE_STATUS_H

#define MUST_USE               __attribute__((warn_unused_result))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))

enum status {
    ST_OK = 0,
    ST_AGAIN,     /* not now: would block, busy, queue full for the moment */
    ST_NOMEM,     /* an allocation failed; nothing changed */
    ST_INVALID,   /* what came in is malformed */
    ST_RANGE,     /* well formed, but outside a limit */
    ST_EXISTS,    /* it is there already */
    ST_NOTFOUND,  /* it is not there */
    ST_NOTLEADER, /* only the leader can do this */
    ST_CLOSED,    /* the other side, or this object, has ended */
    ST_TIMEOUT,   /* a deadline passed */
    ST_DENIED,    /* not authenticated, or not allowed */
    ST_FULL,      /* no space on the disk */
    ST_CORRUPT,   /* a checksum or an invariant of a stored format failed */
    ST_CONFLICT,  /* what is committed here contradicts what the cluster has */
    ST_VERSION,   /* a format or protocol version that we do not speak */
    ST_IO,        /* the operating system refused; errno was logged */
};

/* A short constant English name ("not found"); never NULL. Any thread. */
const char *status_name(enum status status);

#endif
