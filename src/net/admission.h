/* Admission: how many connections that have not logged in there may be, on the whole
 * node and from one address (IPv6: one /64).
 *
 * A connection enters when it is accepted and leaves when it has logged in, is relayed,
 * or ends. Any thread. */
#ifndef HF_NET_ADMISSION_H
#define HF_NET_ADMISSION_H

#include "base/map.h"
#include "broker/parcel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>

struct admission {
    pthread_mutex_t lock; /* by_address and its entries */
    struct map by_address;
    _Atomic uint64_t count;
    uint64_t max_count;
    uint32_t max_per_address;
};

struct admission_entry;

void admission_init(struct admission *a);
void admission_fini(struct admission *a); /* everybody has left */
/* NULL: no room. Else to be given to admission_leave() once. */
struct admission_entry *admission_enter(struct admission *a,
                                        const struct sockaddr_storage *from);
/* What an address is known by, for others who count by address. entry must not be NULL.
 */
void admission_copy_key(const struct admission_entry *entry,
                        uint8_t out[LOGIN_SOURCE_BYTES]);
/* entry NULL is fine. */
void admission_leave(struct admission *a, struct admission_entry *entry);

#endif
