/* Connection: one client that this node serves, from its first byte to its last.
 *
 *   conn.c          life: start, events, deadlines, ending of all
 *   conn_upgrade.c  first byte, PROXY header, TLS handshake, HTTP upgrade
 *   conn_read.c     bytes to WebSocket messages to requests; back-pressure
 *   conn_write.c    frames to bytes; what was sent; the last words
 *   conn_state.c    states, stopping and dropping: what all the others use
 *
 * What they call of each other is in conn_steps.h; the states and their meaning are in
 * conn_state.c. One thread: that of c->worker. */
#ifndef HF_NET_CONN_H
#define HF_NET_CONN_H

#include "net/worker.h"

enum conn_state {
    CONN_SNIFF,      /* TLS or a PROXY header? */
    CONN_TLS,        /* handshake */
    CONN_UPGRADE,    /* HTTP */
    CONN_LOGIN,      /* the first message */
    CONN_LOGIN_WAIT, /* the core's answer to it */
    CONN_OPEN,
    CONN_FLUSH,  /* the last bytes on their way; nothing is taken any more */
    CONN_LINGER, /* end of stream sent; reads and discards until the client's own */
    CONN_DEAD,   /* socket closed; freed at the end of the turn */
    CONN_STATE_COUNT
};

/* Index of net_counts.closes_total. */
enum conn_close {
    CONN_CLOSE_LOGOUT, /* 1000 */
    CONN_CLOSE_1002,
    CONN_CLOSE_1007,
    CONN_CLOSE_1008,
    CONN_CLOSE_1009,
    CONN_CLOSE_1011,
    CONN_CLOSE_NONE,  /* no close frame from us */
    CONN_CLOSE_OTHER, /* the client's own was answered */
};

/* What a connection's timer went off for. */
enum conn_due {
    CONN_DUE_NOTHING,
    CONN_DUE_LAST_WORDS, /* FLUSH and LINGER are over */
    CONN_DUE_LOGIN,      /* no-reply-timeout-secs */
    CONN_DUE_MESSAGE,    /* message-timeout-secs */
    CONN_DUE_STUCK,      /* half full, and nothing was taken for LIMIT_STUCK_WRITE_MS */
    CONN_DUE_PING,
};

/* Deliveries in the output that TLS does not have whole yet. */
struct conn_mark {
    uint64_t end; /* place in the output stream */
    uint32_t charge_bytes;
};

struct conn_marks {
    struct conn_mark *items; /* a ring of capacity, a power of two */
    uint32_t capacity;
    uint32_t first;
    uint32_t count;
};

struct conn {
    struct map_node in_map;
    struct list_node in_conns; /* of the worker: conns or dead */
    struct list_node in_ready;
    struct list_node in_dirty;
    struct worker *worker;
    SSL *ssl; /* NULL in SNIFF */
    struct timer timer;
    int fd;
    enum conn_state state : 8;
    bool wants_read : 1;      /* read_event is added */
    bool wants_write : 1;     /* write_event is added */
    bool is_relayed : 1;      /* a PROXY header came */
    bool is_stalled : 1;      /* back-pressure: not read from */
    bool has_ended : 1;       /* no request is taken any more; a reply will close it */
    bool is_message_open : 1; /* message_ms counts */
    bool is_blocked : 1;      /* the socket took less than we had */
    bool is_counted : 1;      /* in closes_total */
    bool write_wants_read : 1;
    bool read_wants_write : 1;
    uint8_t window_bits;   /* of deflate; 0 = not agreed */
    uint16_t closing_code; /* of the client's close frame, answered behind all replies
                              that are due; 0 = none */
    uint64_t number;
    uint64_t accepted_ms; /* where the client was accepted, not here, when relayed */
    uint64_t active_ms;   /* the last byte either way */
    uint64_t taken_ms;   /* the socket last took a byte, or there was nothing to take */
    uint64_t message_ms; /* a message in fragments began; stalled: its age by then */
    uint64_t login_ms;   /* the login was whole */
    uint64_t ends_ms;    /* FLUSH, LINGER: deadline */
    struct admission_entry *admission;
    struct directory_queue *queue; /* from the upgrade on */
    struct speaker speaker;
    struct signal *closed; /* from the login on: made early, so that it cannot fail */

    struct ws_decoder decoder;
    struct bytes rest; /* UPGRADE: the head so far; later: read, but not yet decoded */
    uint32_t unanswered_requests;
    size_t unanswered_bytes;
    size_t expected_bytes; /* about how much their replies will be */

    struct bytes out; /* bytes from out_at on are not yet handed to TLS */
    size_t out_at;
    uint64_t out_base;  /* place of out.data[0] in the output stream */
    bool has_slot;      /* counted in queue->connections */
    uint64_t login_end; /* place behind the login's reply: a record ends there */
    struct conn_marks marks;
    uint64_t frames_sent; /* deliveries */
    uint64_t bytes_sent;
    uint64_t bytes_reported;
    uint64_t socket_read; /* as counted so far, see conn_account() */
    uint64_t socket_written;

    struct event read_event;
    struct event write_event;
};

/* Serves an arrival; takes it. */
void conn_start(struct arrival *a);
/* Sets all deadlines again: a limit changed. */
void conn_set_all_deadlines(struct worker *w);
/* Ends all at once, without a word (and not a byte after). */
void conn_drop_all(struct worker *w, const char *cause);
void conn_free(struct conn *c); /* DEAD */

#endif
