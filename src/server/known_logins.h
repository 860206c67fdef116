/* Known logins: what the other nodes have verified, so that a client that comes back
 * after a change of leaders waits for no scrypt.
 *
 * Each node remembers a verified login as an HMAC under a key of its process (auth.h).
 * It tells the others that key and those HMACs over the links between nodes, and they
 * keep them by node. Never a password; a login that was changed does not fit any more,
 * since its stored hash is part of what is signed. A frame, KNOWN_LOGINS_FRAME:
 *
 *   offset size
 *   0      32   key
 *   32     4    n, at most KNOWN_LOGINS_MAX
 *   36     32n  HMACs
 *
 * Core thread. */
#ifndef HF_SERVER_KNOWN_LOGINS_H
#define HF_SERVER_KNOWN_LOGINS_H

#include "base/bytes.h"
#include "base/limits.h"
#include "cluster/cluster.h"

#define KNOWN_LOGINS_FRAME (CLUSTER_FRAME_USER + 3)
#define KNOWN_LOGINS_MAX   1024
#define KNOWN_LOGIN_BYTES  32

struct known_logins; /* of all other nodes; bounded by LIMIT_PEERS */

struct known_logins *known_logins_new(void);
void known_logins_free(struct known_logins *k); /* NULL is fine */

void known_logins_put(struct bytes *out,
                      const uint8_t key[KNOWN_LOGIN_BYTES],
                      const uint8_t (*hmacs)[KNOWN_LOGIN_BYTES],
                      uint32_t count);
/* A frame of a peer. A key that it did not have before: it was started anew. */
enum status
known_logins_learn(struct known_logins *k, uint64_t peer, struct slice body) MUST_USE;
/* Did one of the others verify it? text: what the HMAC is of. */
bool known_logins_have(const struct known_logins *k, struct slice text);

#endif
