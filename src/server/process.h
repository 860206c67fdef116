/* Process: what the kernel knows of this process. */
#ifndef HF_SERVER_PROCESS_H
#define HF_SERVER_PROCESS_H

#include <stdint.h>

/* What could not be read is 0. */
struct process_status {
    uint64_t resident_bytes;
    uint64_t virtual_bytes;
    uint64_t cpu_us; /* user and system */
    uint64_t open_fds;
    uint64_t max_fds;
    uint64_t threads;
    uint64_t start_ms; /* UNIX time */
};

/* Any thread; reads files under /proc. */
void process_read(struct process_status *ret_status);

#endif
