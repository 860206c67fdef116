/* Fuzz target of proto/proxy: the header of a relay.
 *
 * The first byte: 0, the rest is a header; else the rest is what a header says, which
 * must come back. Bytes behind a header never matter. */
#include "proto/proxy.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static const uint8_t key[PROXY_KEY_BYTES] = {7};

static void
check_raw(struct slice data)
{
    struct proxy_header header;
    size_t used = 0;
    enum status status = proxy_decode(data, key, &header, &used);
    require(status == ST_OK || status == ST_AGAIN || status == ST_INVALID ||
            status == ST_DENIED);
    if (status == ST_AGAIN)
        require(proxy_is_header(data) && data.size < PROXY_HEADER_MAX);
    if (status == ST_OK)
        require(used <= data.size && used <= PROXY_HEADER_MAX);
}

static void
check_made(struct slice data)
{
    struct proxy_header header, back;
    struct bytes out = {NULL, 0, 0};
    size_t used = 0;
    memset(&header, 0, sizeof(header));
    memcpy(&header, data.data, data.size < sizeof(header) ? data.size : sizeof(header));
    proxy_encode(&header, key, &out);
    size_t size = out.size;
    require(size <= PROXY_HEADER_MAX);
    bytes_put_slice(&out, data);
    require(proxy_decode(slice_of(out.data, out.size), key, &back, &used) == ST_OK);
    require(used == size && back.node == header.node);
    require(back.counter == header.counter && back.age_ms == header.age_ms);
    require(proxy_decode(slice_of(out.data, size - 1), key, &back, &used) == ST_AGAIN);
    out.data[data.data[0] % size] ^= 0x40;
    require(proxy_decode(slice_of(out.data, size), key, &back, &used) != ST_OK);
    bytes_fini(&out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    if (data[0] == 0)
        check_raw(slice_of(data + 1, size - 1));
    else
        check_made(slice_of(data + 1, size - 1));
    return 0;
}
