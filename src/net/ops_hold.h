/* Ops hold: the connections of the ops endpoint: how many, and for how long. */
#ifndef HF_NET_OPS_HOLD_H
#define HF_NET_OPS_HOLD_H

#include "base/limits.h"

#include <event2/http.h>
#include <event2/listener.h>
#include <stdbool.h>
#include <stdint.h>

struct ops_held {
    struct bufferevent *bev; /* NULL: free */
    uint64_t since_ms;
    bool is_ended; /* shut down by us */
};

struct ops_hold {
    struct evconnlistener *listener; /* the server's */
    struct ops_held held[LIMIT_OPS_CONNECTIONS];
    size_t count;
};

/* Connections of http, accepted by listener, are held from here on. */
void ops_hold_begin(struct ops_hold *h,
                    struct evhttp *http,
                    struct evconnlistener *listener);
/* Often: lets go of those that have ended, ends those that last too long, and accepts
 * again when there is room. */
void ops_hold_tick(struct ops_hold *h, uint64_t now_ms);
/* After evhttp_free(). */
void ops_hold_end(struct ops_hold *h);

uint64_t ops_now_ms(void); /* monotonic */

#endif
