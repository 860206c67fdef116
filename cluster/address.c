/* Addresses: see address.h. */
#include "cluster/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The port must be one to five digits, at most 65535. */
static bool
is_port(const char *text)
{
    size_t length = strspn(text, "0123456789");
    return length > 0 && length <= 5 && text[length] == '\0' &&
           strtol(text, NULL, 10) <= 65535;
}

enum status
address_parse(const char *text, struct address *ret_address)
{
    struct address address = {0};
    const char *colon = strrchr(text, ':');
    const char *host = text;
    const char *end = colon;

    if (colon == NULL || !is_port(colon + 1))
        return ST_INVALID;
    if (text[0] == '[') {
        host = text + 1;
        end = strchr(host, ']');
        if (end == NULL || end + 1 != colon)
            return ST_INVALID;
    } else if (memchr(text, ':', (size_t)(colon - text)) != NULL) {
        return ST_INVALID; /* a bare v6 address is ambiguous */
    }
    size_t length = (size_t)(end - host);
    if (length >= sizeof address.host)
        return ST_INVALID;
    memcpy(address.host, host, length);
    if (strcmp(address.host, "*") == 0)
        address.host[0] = '\0';
    memcpy(address.port, colon + 1, strlen(colon + 1) + 1);
    *ret_address = address;
    return ST_OK;
}

enum status
address_numeric(const struct address *address, struct sockaddr_storage *ret_addr)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    in_port_t port = htons((uint16_t)strtol(address->port, NULL, 10));

    if (inet_pton(AF_INET, address->host, &v4.sin_addr) == 1) {
        v4.sin_port = port;
        memset(ret_addr, 0, sizeof *ret_addr);
        memcpy(ret_addr, &v4, sizeof v4);
        return ST_OK;
    }
    if (inet_pton(AF_INET6, address->host, &v6.sin6_addr) == 1) {
        v6.sin6_port = port;
        memset(ret_addr, 0, sizeof *ret_addr);
        memcpy(ret_addr, &v6, sizeof v6);
        return ST_OK;
    }
    return ST_NOTFOUND;
}

socklen_t
address_size(const struct sockaddr_storage *addr)
{
    return addr->ss_family == AF_INET ? sizeof(struct sockaddr_in)
                                      : sizeof(struct sockaddr_in6);
}

bool
address_equal(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
    return a->ss_family == b->ss_family && memcmp(a, b, address_size(a)) == 0;
}

void
address_format_ip(const struct sockaddr_storage *addr, char out[64])
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;

    snprintf(out, 64, "unknown");
    if (addr->ss_family == AF_INET) {
        memcpy(&v4, addr, sizeof v4);
        inet_ntop(AF_INET, &v4.sin_addr, out, 64);
    } else if (addr->ss_family == AF_INET6) {
        memcpy(&v6, addr, sizeof v6);
        inet_ntop(AF_INET6, &v6.sin6_addr, out, 64);
    }
}
