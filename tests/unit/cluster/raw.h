/* Raw: a TLS client that says what it likes to a node of a rig. Non-blocking; it turns
 * the rig's loop while it waits. */
#ifndef HF_TESTS_CLUSTER_RAW_H
#define HF_TESTS_CLUSTER_RAW_H

#include "rig.h"

#include "cluster/frame.h"

#include <openssl/ssl.h>

struct raw {
    struct rig *rig;
    SSL_CTX *context;
    SSL *ssl;
    int fd;
};

/* Connects to node to with the certificate files of node as; 0: without any. True: the
 * handshake is done on our side (TLS 1.3: the other side may still turn us down). */
bool raw_connect(struct raw *raw, struct rig *rig, unsigned to, unsigned as);
void raw_close(struct raw *raw);
void raw_send(struct raw *raw, struct slice bytes);
/* The next frame, its body at most 4 KiB; false: the connection ended. Two seconds. */
bool
raw_read(struct raw *raw, uint8_t *ret_kind, uint8_t body[4096], uint32_t *ret_size);
/* True: the other side ended the connection within two seconds. */
bool raw_is_ended(struct raw *raw);
/* A well formed hello of node id, as a whole frame. */
void raw_put_hello(struct bytes *out, unsigned id);
/* The hello of the rig's cluster, to be changed. */
struct frame_hello raw_hello(unsigned id);
/* Sends its hello and reads the answer; true: it was a hello. */
bool raw_greet(struct raw *raw, unsigned id);

#endif
