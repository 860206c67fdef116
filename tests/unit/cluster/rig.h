/* Rig: up to three clusters in one process on one loop, on free ports of 127.0.0.1. */
#ifndef HF_TESTS_CLUSTER_RIG_H
#define HF_TESTS_CLUSTER_RIG_H

#include "certs.h"
#include "cluster/cluster.h"

#define RIG_NODES 3

/* The address sanitizer holds freed memory back, so resident memory says nothing. */
#if defined(__SANITIZE_ADDRESS__)
#define RIG_KEEPS_FREED 1
#elif defined(__has_feature)
#define RIG_KEEPS_FREED __has_feature(address_sanitizer)
#else
#define RIG_KEEPS_FREED 0
#endif

struct rig_node {
    struct rig *rig;
    unsigned id;
    uint16_t port;
    struct cluster *cluster; /* NULL: not running */
    bool is_closing;
    uint32_t ups[RIG_NODES + 1]; /* by peer id */
    uint32_t downs[RIG_NODES + 1];
    bool was_refused[RIG_NODES + 1]; /* of the last loss */
    /* Frames that came, from any peer. */
    uint64_t frames;
    uint64_t bytes;
    enum status answer; /* of frame_cb */
    void (*frame_cb)(struct rig_node *n,
                     uint64_t peer,
                     uint8_t kind,
                     struct blob *body);
    void *ctx; /* the test's */
};

struct rig {
    uv_loop_t loop;
    uv_timer_t deadline;
    bool is_late;
    char dir[64];
    int log_fd;
    struct test_ca ca;
    struct rig_node nodes[RIG_NODES + 1]; /* 1.. */
};

/* A directory, a CA, certificates and ports for all; nothing runs yet. */
void rig_init(struct rig *r);
/* Closes what runs; the loop must come to its end: nothing may be left. */
void rig_fini(struct rig *r);

/* Paths of node id's files: valid until the next call. */
const char *rig_path(const struct rig *r, unsigned id, const char *suffix);
/* The options of node id; the test may change them before rig_start_with(). */
struct cluster_options rig_options(struct rig *r, unsigned id);
void rig_start(struct rig *r, unsigned id);
enum status rig_start_with(struct rig *r, const struct cluster_options *options);
void rig_stop(struct rig *r, unsigned id); /* waits until it is closed */

/* Runs the loop until cond is true; false: ms milliseconds passed before. */
typedef bool rig_cond(void *ctx);
bool rig_run(struct rig *r, uint64_t ms, rig_cond *cond, void *ctx);
/* The whole time. */
void rig_idle(struct rig *r, uint64_t ms);
/* True when both ways between a and b are up within two seconds. */
bool rig_connect(struct rig *r, unsigned a, unsigned b);
bool rig_is_up(const struct rig *r, unsigned from, unsigned to);
uint64_t rig_now_ns(void);
/* Whether a line of the log so far has text; to stderr instead with RIG_LOG set. */
bool rig_has_logged(const struct rig *r, const char *text);
unsigned rig_count_logged(const struct rig *r, const char *text);
/* Runs until it is logged, a second at most. */
bool rig_logs(struct rig *r, const char *text);
/* A non-blocking socket connected to the port of node id; turns the loop meanwhile. */
int rig_socket(struct rig *r, unsigned id);
/* Resident memory of this process. */
size_t rig_resident_bytes(void);
int rig_open_fds(void);

#endif
