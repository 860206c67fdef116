/* Addresses in text: "host:port" and "[v6]:port". Pure but for the numeric parser. */
#ifndef HF_CLUSTER_ADDRESS_H
#define HF_CLUSTER_ADDRESS_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define ADDRESS_TEXT_MAX 128

struct address {
    char host[ADDRESS_TEXT_MAX]; /* without brackets; "" when there was none or "*" */
    char port[6];                /* decimal, 0..65535 */
};

/* ST_INVALID: no port, an empty or impossible one, or brackets that do not match. */
enum status address_parse(const char *text, struct address *ret_address) MUST_USE;

/* When the host is an IP literal, its socket address. ST_NOTFOUND: it is a name. */
enum status address_numeric(const struct address *address,
                            struct sockaddr_storage *ret_addr) MUST_USE;

bool address_equal(const struct sockaddr_storage *a, const struct sockaddr_storage *b);
/* The IP of a socket address for a log line, without the port. out: 64 bytes. */
void address_format_ip(const struct sockaddr_storage *addr, char out[64]);
socklen_t address_size(const struct sockaddr_storage *addr);

#endif
