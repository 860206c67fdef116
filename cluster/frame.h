/* Frames between nodes: the codec of the head, its checksum, the hello and the refusal.
 * Pure: no socket, no clock, no log; every byte may come from an enemy.
 *
 *   offset size
 *   0      4    size of the body in bytes
 *   4      1    kind: 1..31 raft, 32..63 cluster's own (enum frame_kind), 64.. the
 * user's 5      3    zero 8      4    CRC-32C of bytes 0..7 and the body 12     ...
 * body
 *
 * TLS already guards the bytes on the way; the checksum is for what happens in memory
 * before and after, on machines that run for years.
 *
 * Hello (kind 33), the first frame in each direction:
 *
 *   offset size
 *   0      4    "HFcl"
 *   4      4    protocol version
 *   8      8    feature bits: 0: it has nothing yet (it was made to join);
 *               1: it has only what data init made; 2: it takes known logins;
 *               3: it takes what others say they have applied (agreement);
 *               8 to 15: the highest level of records that it reads, 0 = 1;
 *               32 to 63: what its data were restored from, 0 = they were not
 *   16     16   cluster id
 *   32     8    node id
 *   40     32   relay key
 *   72     2    n: bytes of the client address, at most 127
 *   74     n    client address, host:port, no NUL inside
 *   74+n   8    index of the entry that holds the members that it knows as committed
 *   82+n   2    m: bytes of the address of its cluster listener, at most 127
 *   84+n   m    that address
 *   ...    ...  what later versions add; ignored
 *
 * A hello of the first version ends at 74+n.
 *
 * Refusal (kind 34), instead of the answering hello: one byte, enum frame_refusal. */
#ifndef HF_CLUSTER_FRAME_H
#define HF_CLUSTER_FRAME_H

#include "base/bytes.h"

#define FRAME_HEAD_BYTES      12
#define FRAME_HELLO_BYTES_MAX 1024 /* limit of a body until both hellos are there */
#define FRAME_HELLO_BYTES_MIN 74
#define FRAME_VERSION         1 /* ours */
#define FRAME_VERSION_OLDEST  1 /* that we still speak */
#define FRAME_CLUSTER_ID      16
#define FRAME_RELAY_KEY       32
#define FRAME_ADDRESS_MAX     128 /* with the final NUL */

#define FRAME_FEATURE_BLANK        1u
#define FRAME_FEATURE_NEW          2u
#define FRAME_FEATURE_LEVEL_SHIFT  8
#define FRAME_FEATURE_LEVEL_MASK   0xffu
#define FRAME_FEATURE_ORIGIN_SHIFT 32

enum frame_kind {
    FRAME_RAFT_FIRST = 1,
    FRAME_RAFT_LAST = 31,
    FRAME_KEEPALIVE = 32, /* empty; the accepting side answers with the same */
    FRAME_HELLO = 33,
    FRAME_REFUSAL = 34,
    FRAME_USER_FIRST = 64,
};

/* Why a hello was turned down; also on the wire, so numbers never change. */
enum frame_refusal {
    FRAME_REFUSE_NONE = 0,
    FRAME_REFUSE_VERSION = 1,
    FRAME_REFUSE_CLUSTER = 2, /* another cluster id */
    FRAME_REFUSE_OWN_ID = 3,  /* claims the id of whom it talks to */
    FRAME_REFUSE_UNKNOWN = 4, /* not a member */
    FRAME_REFUSE_NAME = 5,    /* the certificate belongs to another node */
    FRAME_REFUSE_HELLO = 6,   /* malformed */
    FRAME_REFUSE_BLANK = 7,   /* a voter that has lost its data and does not know it */
    FRAME_REFUSE_ORIGIN = 8,  /* restored from another backup */
};

struct frame_head {
    uint32_t size;
    uint8_t kind;
    uint32_t crc;
};

struct frame_hello {
    uint32_t version;
    uint64_t features;
    uint8_t cluster_id[FRAME_CLUSTER_ID];
    uint64_t node;
    uint8_t relay_key[FRAME_RELAY_KEY];
    char client_address[FRAME_ADDRESS_MAX];
    uint64_t members_index;
    char cluster_address[FRAME_ADDRESS_MAX]; /* "": not told */
};

/* True for kinds that are handed on to the frame callback. */
bool frame_is_passed_on(uint8_t kind);

/* Writes the head of a body that consists of several parts: begin gives the checksum
 * of the first eight bytes, the caller runs crc32c() over the parts, end stores it. */
uint32_t frame_head_begin(uint8_t out[FRAME_HEAD_BYTES], uint8_t kind, uint32_t size);
void frame_head_end(uint8_t out[FRAME_HEAD_BYTES], uint32_t crc);

/* ST_INVALID: kind 0 or a reserved byte is set. ST_RANGE: the body is above max_bytes.
 */
enum status frame_head_read(const uint8_t in[FRAME_HEAD_BYTES],
                            uint32_t max_bytes,
                            struct frame_head *ret_head) MUST_USE;
/* The body against the head that came with it. ST_CORRUPT: the checksum differs. */
enum status frame_check(const uint8_t head[FRAME_HEAD_BYTES],
                        struct slice body) MUST_USE;

/* Appends a whole frame, head and body. */
void frame_put(struct bytes *out, uint8_t kind, struct slice body);

/* Appends the body of a hello. client_address is cut at 127 bytes by its type. */
void frame_hello_put(struct bytes *out, const struct frame_hello *hello);
/* Other values in the body of a hello that was put. */
void frame_hello_set_features(uint8_t *hello, uint64_t features);
void frame_hello_set_members_index(uint8_t *hello, uint64_t index);
/* ST_INVALID: not a hello. ST_VERSION: of a version that we do not speak (version and
 * node are then set all the same, for the log line). */
enum status frame_hello_read(struct slice body, struct frame_hello *ret_hello) MUST_USE;

/* Unknown numbers become FRAME_REFUSE_HELLO. */
enum frame_refusal frame_refusal_read(struct slice body);
const char *frame_refusal_name(enum frame_refusal refusal);

#endif
