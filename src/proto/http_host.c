/* Host: from a client's Host header to the name of a queue. */
#include "base/limits.h"
#include "proto/http.h"

#include <string.h>

static uint8_t
lower(uint8_t c)
{
    return c >= 'A' && c <= 'Z' ? (uint8_t)(c + ('a' - 'A')) : c;
}

/* The same but for the case of letters. */
static bool
is_same_name(struct slice a, struct slice b)
{
    if (a.size != b.size)
        return false;
    for (size_t i = 0; i < a.size; i++)
        if (lower(a.data[i]) != lower(b.data[i]))
            return false;
    return true;
}

/* In brackets, or a last label of digits only: no name of the DNS ends so. */
static bool
is_address(struct slice host)
{
    if (host.size == 0 || host.data[0] == '[')
        return true;
    for (size_t i = host.size; i > 0 && host.data[i - 1] != '.'; i--)
        if (host.data[i - 1] < '0' || host.data[i - 1] > '9')
            return false;
    return true;
}

static unsigned
count_dots(struct slice host)
{
    unsigned dots = 0;
    for (size_t i = 0; i < host.size; i++)
        dots += host.data[i] == '.';
    return dots;
}

/* Does the first label, label_size long, name a queue? */
static bool
names_queue(struct slice host, size_t label_size, struct slice domain)
{
    if (is_same_name(host, domain))
        return false;
    if (count_dots(host) >= 2)
        return true;
    return domain.size > 0 && label_size < host.size &&
           is_same_name(
               slice_of(host.data + label_size + 1, host.size - label_size - 1),
               domain);
}

/* A queue's name: a-z, 0-9, and - but not at the ends. */
static bool
is_queue_char(uint8_t c, bool is_inner)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c == '-' && is_inner);
}

enum status
http_queue_name(struct slice host, const char *domain, char out[64], size_t *ret_size)
{
    if (host.size > 0 && host.data[host.size - 1] == '.')
        host.size--; /* a rooted name */
    const uint8_t *dot = host.size == 0 ? NULL : memchr(host.data, '.', host.size);
    size_t size = dot == NULL ? host.size : (size_t)(dot - host.data);
    struct slice under = slice_from_text(domain == NULL ? "" : domain);
    if (is_address(host) || !names_queue(host, size, under)) {
        *ret_size = 0;
        return ST_OK;
    }
    if (size == 0 || size > LIMIT_QUEUE_NAME_BYTES)
        return ST_INVALID;
    char name[LIMIT_QUEUE_NAME_BYTES];
    for (size_t i = 0; i < size; i++) {
        uint8_t c = lower(host.data[i]);
        if (!is_queue_char(c, i > 0 && i + 1 < size))
            return ST_INVALID;
        name[i] = (char)c;
    }
    memcpy(out, name, size);
    *ret_size = size;
    return ST_OK;
}
