/* PROXY protocol version 2 with our own TLV: how a follower hands a client's connection
 * to the leader. Pure; HMAC-SHA-256 by OpenSSL.
 *
 * The address block is the client's (IPv4 or IPv6). TLV 0xE0 (private use):
 *
 *   offset size
 *   0      1    version 1
 *   1      8    node id of the relaying node, big-endian
 *   9      8    counter: grows with each relay of that node's process
 *   17     4    age of the connection in ms, when the header was made
 *   21     32   HMAC-SHA-256 under the leader's relay key over the whole header with
 *               these 32 bytes zero
 */
#ifndef HF_PROTO_PROXY_H
#define HF_PROTO_PROXY_H

#include "base/bytes.h"

#include <sys/socket.h>

#define PROXY_KEY_BYTES  32
#define PROXY_HEADER_MAX 128

struct proxy_header {
    struct sockaddr_storage source; /* the client */
    struct sockaddr_storage destination;
    uint64_t node;
    uint64_t counter;
    uint32_t age_ms;
};

/* Can data be, or begin, a PROXY v2 header? (Its first byte differs from a TLS one.) */
bool proxy_is_header(struct slice data);
/* ST_AGAIN: not whole yet; ST_INVALID: malformed or not ours; ST_DENIED: bad HMAC. */
enum status proxy_decode(struct slice data,
                         const uint8_t key[PROXY_KEY_BYTES],
                         struct proxy_header *ret_header,
                         size_t *ret_used) MUST_USE;
/* At most PROXY_HEADER_MAX bytes; appends. Other families than v4, v6 go as UNSPEC. */
void proxy_encode(const struct proxy_header *header,
                  const uint8_t key[PROXY_KEY_BYTES],
                  struct bytes *out);

#endif
