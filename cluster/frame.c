/* The codec of frames; the formats are in frame.h. */
#include "cluster/frame.h"

#include "base/crc32c.h"

#include <assert.h>
#include <string.h>

static const uint8_t hello_magic[4] = {'H', 'F', 'c', 'l'};

bool
frame_is_passed_on(uint8_t kind)
{
    return (kind >= FRAME_RAFT_FIRST && kind <= FRAME_RAFT_LAST) ||
           kind >= FRAME_USER_FIRST;
}

uint32_t
frame_head_begin(uint8_t out[FRAME_HEAD_BYTES], uint8_t kind, uint32_t size)
{
    assert(kind != 0);
    put_u32(out, size);
    out[4] = kind;
    out[5] = out[6] = out[7] = 0;
    return crc32c(0, out, 8);
}

void
frame_head_end(uint8_t out[FRAME_HEAD_BYTES], uint32_t crc)
{
    put_u32(out + 8, crc);
}

enum status
frame_head_read(const uint8_t in[FRAME_HEAD_BYTES],
                uint32_t max_bytes,
                struct frame_head *ret_head)
{
    struct frame_head head = {get_u32(in), in[4], get_u32(in + 8)};
    if (head.kind == 0 || (in[5] | in[6] | in[7]) != 0)
        return ST_INVALID;
    if (head.size > max_bytes)
        return ST_RANGE;
    *ret_head = head;
    return ST_OK;
}

enum status
frame_check(const uint8_t head[FRAME_HEAD_BYTES], struct slice body)
{
    uint32_t crc = crc32c(0, head, 8);
    crc = crc32c(crc, body.data, body.size);
    return crc == get_u32(head + 8) ? ST_OK : ST_CORRUPT;
}

void
frame_put(struct bytes *out, uint8_t kind, struct slice body)
{
    uint8_t head[FRAME_HEAD_BYTES];
    uint32_t crc = frame_head_begin(head, kind, (uint32_t)body.size);
    frame_head_end(head, crc32c(crc, body.data, body.size));
    bytes_put(out, head, sizeof head);
    bytes_put_slice(out, body);
}

#define HELLO_FEATURES 8 /* offset */

void
frame_hello_put(struct bytes *out, const struct frame_hello *hello)
{
    size_t length = strnlen(hello->client_address, FRAME_ADDRESS_MAX - 1);
    bytes_put(out, hello_magic, sizeof hello_magic);
    bytes_put_u32(out, hello->version);
    bytes_put_u64(out, hello->features);
    bytes_put(out, hello->cluster_id, sizeof hello->cluster_id);
    bytes_put_u64(out, hello->node);
    bytes_put(out, hello->relay_key, sizeof hello->relay_key);
    bytes_put_u16(out, (uint16_t)length);
    bytes_put(out, hello->client_address, length);
    bytes_put_u64(out, hello->members_index);
    length = strnlen(hello->cluster_address, FRAME_ADDRESS_MAX - 1);
    bytes_put_u16(out, (uint16_t)length);
    bytes_put(out, hello->cluster_address, length);
}

void
frame_hello_set_features(uint8_t *hello, uint64_t features)
{
    put_u64(hello + HELLO_FEATURES, features);
}

void
frame_hello_set_members_index(uint8_t *hello, uint64_t index)
{
    put_u64(hello + FRAME_HELLO_BYTES_MIN + get_u16(hello + FRAME_HELLO_BYTES_MIN - 2),
            index);
}

/* An address goes into log lines and relays: printable ASCII only. */
static bool
is_printable(struct slice text)
{
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] <= 0x20 || text.data[i] >= 0x7f)
            return false;
    }
    return true;
}

static bool
read_address(struct reader *r, char out[FRAME_ADDRESS_MAX])
{
    uint16_t length = read_u16(r);
    if (r->bad || length >= FRAME_ADDRESS_MAX)
        return false;
    struct slice address = read_slice(r, length);
    if (r->bad || !is_printable(address))
        return false;
    if (length > 0)
        memcpy(out, address.data, length);
    return true;
}

enum status
frame_hello_read(struct slice body, struct frame_hello *ret_hello)
{
    struct frame_hello hello = {0};
    struct reader r = reader_of(body);
    uint8_t magic[sizeof hello_magic];

    read_copy(&r, magic, sizeof magic);
    hello.version = read_u32(&r);
    hello.features = read_u64(&r);
    read_copy(&r, hello.cluster_id, sizeof hello.cluster_id);
    hello.node = read_u64(&r);
    if (r.bad || memcmp(magic, hello_magic, sizeof magic) != 0 || hello.node == 0)
        return ST_INVALID;
    if (hello.version < FRAME_VERSION_OLDEST) {
        ret_hello->version = hello.version;
        ret_hello->node = hello.node;
        return ST_VERSION;
    }
    read_copy(&r, hello.relay_key, sizeof hello.relay_key);
    if (!read_address(&r, hello.client_address))
        return ST_INVALID;
    if (reader_left(&r) >= sizeof hello.members_index + 2) {
        hello.members_index = read_u64(&r);
        if (!read_address(&r, hello.cluster_address))
            return ST_INVALID;
    }
    *ret_hello = hello;
    return ST_OK;
}

enum frame_refusal
frame_refusal_read(struct slice body)
{
    if (body.size != 1 || body.data[0] < FRAME_REFUSE_VERSION ||
        body.data[0] > FRAME_REFUSE_ORIGIN)
        return FRAME_REFUSE_HELLO;
    return (enum frame_refusal)body.data[0];
}

const char *
frame_refusal_name(enum frame_refusal refusal)
{
    switch (refusal) {
    case FRAME_REFUSE_NONE:
        return "none";
    case FRAME_REFUSE_VERSION:
        return "protocol version not spoken";
    case FRAME_REFUSE_CLUSTER:
        return "another cluster id";
    case FRAME_REFUSE_OWN_ID:
        return "claims the id of this very node";
    case FRAME_REFUSE_UNKNOWN:
        return "not a member of this cluster";
    case FRAME_REFUSE_NAME:
        return "certificate is of another node";
    case FRAME_REFUSE_HELLO:
        return "malformed hello";
    case FRAME_REFUSE_BLANK:
        return "a voter without its data: remove it from the cluster, then add it "
               "again";
    case FRAME_REFUSE_ORIGIN:
        return "restored from another backup: all nodes must be restored from the "
               "same file";
    }
    return "unknown";
}
