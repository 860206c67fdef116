/* Fuzz target of proto/http: the handshake.
 *
 * Besides not crashing: what is taken is taken at its exact size, no part of it is, and
 * the answer is a response. */
#include "base/limits.h"
#include "proto/http.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static void
check_upgrade(const struct http_upgrade *upgrade)
{
    static const char *const domains[] = {NULL, "", "q.localhost", "localhost"};
    struct bytes out = {NULL, 0, 0};
    http_accept(upgrade, &out);
    require(out.size > 12 && memcmp(out.data, "HTTP/1.1 101", 12) == 0);
    bytes_fini(&out);
    for (size_t i = 0; i < sizeof(domains) / sizeof(domains[0]); i++) {
        char name[64];
        size_t name_size = 0;
        if (http_queue_name(upgrade->host, domains[i], name, &name_size) == ST_OK)
            require(name_size <= LIMIT_QUEUE_NAME_BYTES);
    }
    require(upgrade->server_max_window_bits >= 9 &&
            upgrade->server_max_window_bits <= 15);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct http_upgrade upgrade;
    size_t used = 0;
    size_t again = 0;
    if (http_parse(slice_of(data, size), &upgrade, &used) != HTTP_UPGRADE)
        return 0;
    require(used >= 4 && used <= size && used <= LIMIT_HTTP_HEAD_BYTES);
    check_upgrade(&upgrade);
    require(http_parse(slice_of(data, used), &upgrade, &again) == HTTP_UPGRADE);
    require(again == used);
    require(http_parse(slice_of(data, used - 1), &upgrade, &again) == HTTP_NEED_MORE);
    require(http_parse(slice_of(data, used / 2), &upgrade, &again) == HTTP_NEED_MORE);
    return 0;
}
