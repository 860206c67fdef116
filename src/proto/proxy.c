/* PROXY: making and reading the relay's header.
 *
 * Not a general PROXY reader: the header must be one that proxy_encode() could have
 * made, byte for byte, and its HMAC good; anything else is not ours. */
#include "proto/proxy.h"

#include <assert.h>
#include <netinet/in.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>

#define SIGNATURE    "\r\n\r\n\0\r\nQUIT\n"
#define PREFIX_BYTES 16 /* signature, version and command, family, length */
#define COMMAND      0x21
#define FAMILY_NONE  0x00
#define FAMILY_V4    0x11
#define FAMILY_V6    0x21
#define ADDRESS_V4   12
#define ADDRESS_V6   36
#define TLV_TYPE     0xe0
#define TLV_VERSION  1
#define HMAC_BYTES   32
#define VALUE_BYTES  (1 + 8 + 8 + 4 + HMAC_BYTES)
#define TLV_BYTES    (3 + VALUE_BYTES)

#define SIGNATURE_BYTES 12

_Static_assert(PREFIX_BYTES + ADDRESS_V6 + TLV_BYTES <= PROXY_HEADER_MAX,
               "the longest header fits");

bool
proxy_is_header(struct slice data)
{
    size_t size = data.size < SIGNATURE_BYTES ? data.size : SIGNATURE_BYTES;
    return size == 0 || memcmp(data.data, SIGNATURE, size) == 0;
}

/* Bytes of the address block; SIZE_MAX for a family that is not ours. */
static size_t
address_size(uint8_t family)
{
    switch (family) {
    case FAMILY_NONE:
        return 0;
    case FAMILY_V4:
        return ADDRESS_V4;
    case FAMILY_V6:
        return ADDRESS_V6;
    default:
        return SIZE_MAX;
    }
}

/* The whole header's size, once the prefix is there; 0 when it is not ours. */
static size_t
header_size(const uint8_t *prefix)
{
    size_t address = address_size(prefix[13]);
    size_t rest = (size_t)prefix[14] << 8 | prefix[15];
    if (prefix[12] != COMMAND || address == SIZE_MAX || rest != address + TLV_BYTES)
        return 0;
    return PREFIX_BYTES + rest;
}

/* Over size bytes whose last HMAC_BYTES count as zero. */
static bool
compute_hmac(const uint8_t *header,
             size_t size,
             const uint8_t *key,
             uint8_t out[HMAC_BYTES])
{
    uint8_t copy[PROXY_HEADER_MAX];
    unsigned out_size = 0;
    assert(size <= sizeof(copy) && size > HMAC_BYTES);
    memcpy(copy, header, size);
    memset(copy + size - HMAC_BYTES, 0, HMAC_BYTES);
    return HMAC(EVP_sha256(), key, PROXY_KEY_BYTES, copy, size, out, &out_size) !=
               NULL &&
           out_size == HMAC_BYTES;
}

static uint64_t
read_be(const uint8_t *at, unsigned size)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < size; i++)
        v = v << 8 | at[i];
    return v;
}

static void
read_v4(const uint8_t *address, const uint8_t *port, struct sockaddr_storage *out)
{
    struct sockaddr_in in = {.sin_family = AF_INET};
    memcpy(&in.sin_addr, address, 4);
    memcpy(&in.sin_port, port, 2);
    memcpy(out, &in, sizeof(in));
}

static void
read_v6(const uint8_t *address, const uint8_t *port, struct sockaddr_storage *out)
{
    struct sockaddr_in6 in = {.sin6_family = AF_INET6};
    memcpy(&in.sin6_addr, address, 16);
    memcpy(&in.sin6_port, port, 2);
    memcpy(out, &in, sizeof(in));
}

static void
read_addresses(const uint8_t *prefix, struct proxy_header *out)
{
    const uint8_t *at = prefix + PREFIX_BYTES;
    if (prefix[13] == FAMILY_V4) {
        read_v4(at, at + 8, &out->source);
        read_v4(at + 4, at + 10, &out->destination);
    } else if (prefix[13] == FAMILY_V6) {
        read_v6(at, at + 32, &out->source);
        read_v6(at + 16, at + 34, &out->destination);
    }
}

enum status
proxy_decode(struct slice data,
             const uint8_t key[PROXY_KEY_BYTES],
             struct proxy_header *ret_header,
             size_t *ret_used)
{
    if (!proxy_is_header(data))
        return ST_INVALID;
    if (data.size < PREFIX_BYTES)
        return ST_AGAIN;
    size_t size = header_size(data.data);
    if (size == 0)
        return ST_INVALID;
    if (data.size < size)
        return ST_AGAIN;
    const uint8_t *tlv = data.data + size - TLV_BYTES;
    if (tlv[0] != TLV_TYPE || read_be(tlv + 1, 2) != VALUE_BYTES ||
        tlv[3] != TLV_VERSION)
        return ST_INVALID;
    uint8_t hmac[HMAC_BYTES];
    if (!compute_hmac(data.data, size, key, hmac) ||
        CRYPTO_memcmp(hmac, tlv + TLV_BYTES - HMAC_BYTES, HMAC_BYTES) != 0)
        return ST_DENIED;
    struct proxy_header header = {.node = read_be(tlv + 4, 8),
                                  .counter = read_be(tlv + 12, 8),
                                  .age_ms = (uint32_t)read_be(tlv + 20, 4)};
    read_addresses(data.data, &header);
    *ret_header = header;
    *ret_used = size;
    return ST_OK;
}

static void
put_v4(struct bytes *out, const struct proxy_header *header)
{
    struct sockaddr_in from, to;
    memcpy(&from, &header->source, sizeof(from));
    memcpy(&to, &header->destination, sizeof(to));
    bytes_put(out, &from.sin_addr, 4);
    bytes_put(out, &to.sin_addr, 4);
    bytes_put(out, &from.sin_port, 2);
    bytes_put(out, &to.sin_port, 2);
}

static void
put_v6(struct bytes *out, const struct proxy_header *header)
{
    struct sockaddr_in6 from, to;
    memcpy(&from, &header->source, sizeof(from));
    memcpy(&to, &header->destination, sizeof(to));
    bytes_put(out, &from.sin6_addr, 16);
    bytes_put(out, &to.sin6_addr, 16);
    bytes_put(out, &from.sin6_port, 2);
    bytes_put(out, &to.sin6_port, 2);
}

void
proxy_encode(const struct proxy_header *header,
             const uint8_t key[PROXY_KEY_BYTES],
             struct bytes *out)
{
    uint8_t family = FAMILY_NONE;
    if (header->source.ss_family == header->destination.ss_family) {
        if (header->source.ss_family == AF_INET)
            family = FAMILY_V4;
        else if (header->source.ss_family == AF_INET6)
            family = FAMILY_V6;
    }
    size_t begin = out->size;
    bytes_put(out, SIGNATURE, SIGNATURE_BYTES);
    bytes_put_u8(out, COMMAND);
    bytes_put_u8(out, family);
    bytes_put_u16be(out, (uint16_t)(address_size(family) + TLV_BYTES));
    if (family == FAMILY_V4)
        put_v4(out, header);
    else if (family == FAMILY_V6)
        put_v6(out, header);
    bytes_put_u8(out, TLV_TYPE);
    bytes_put_u16be(out, VALUE_BYTES);
    bytes_put_u8(out, TLV_VERSION);
    bytes_put_u64be(out, header->node);
    bytes_put_u64be(out, header->counter);
    bytes_put_u32be(out, header->age_ms);
    uint8_t *hmac = bytes_extend(out, HMAC_BYTES);
    /* If it cannot be computed the header goes out with zeros, and is refused. */
    if (!compute_hmac(out->data + begin, out->size - begin, key, hmac))
        memset(hmac, 0, HMAC_BYTES);
}
