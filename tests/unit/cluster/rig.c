/* Rig: see rig.h. */
#include "rig.h"

#include "base/log.h"

#include <arpa/inet.h>
#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static struct sockaddr_in
loopback(uint16_t port)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(port)};
    addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return addr;
}

/* Binding to port 0 picks one that is free. */
static uint16_t
free_port(void)
{
    struct sockaddr_in addr = loopback(0);
    socklen_t size = sizeof addr;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int error = bind(fd, (struct sockaddr *)&addr, size) ||
                getsockname(fd, (struct sockaddr *)&addr, &size);
    assert(fd >= 0 && error == 0);
    close(fd);
    return ntohs(addr.sin_port);
}

const char *
rig_path(const struct rig *r, unsigned id, const char *suffix)
{
    static char paths[8][128];
    static unsigned turn;
    char *path = paths[turn++ % 8];
    snprintf(path, sizeof paths[0], "%s/%u%s", r->dir, id, suffix);
    return path;
}

void
rig_init(struct rig *r)
{
    memset(r, 0, sizeof *r);
    uv_loop_init(&r->loop);
    uv_timer_init(&r->loop, &r->deadline);
    r->deadline.data = r;
    snprintf(r->dir, sizeof r->dir, "/tmp/test-cluster-XXXXXX");
    const char *dir = mkdtemp(r->dir);
    assert(dir != NULL);
    r->log_fd =
        open(rig_path(r, 0, ".log"), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    assert(r->log_fd >= 0);
    log_init(getenv("RIG_LOG") != NULL ? STDERR_FILENO : r->log_fd, 0, LOG_DEBUG);
    test_ca_init(&r->ca, "Test CA");
    test_ca_write(&r->ca, rig_path(r, 0, ".ca"));
    for (unsigned id = 1; id <= RIG_NODES; id++) {
        r->nodes[id] = (struct rig_node){.rig = r, .id = id, .port = free_port()};
        test_ca_issue_node(&r->ca, id, rig_path(r, id, ".crt"),
                           rig_path(r, id, ".key"));
    }
}

static void
remove_files(const struct rig *r)
{
    DIR *dir = opendir(r->dir);
    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;)
        (void)unlinkat(dirfd(dir), e->d_name, 0);
    closedir(dir);
    rmdir(r->dir);
}

void
rig_fini(struct rig *r)
{
    for (unsigned id = 1; id <= RIG_NODES; id++) {
        if (r->nodes[id].cluster != NULL)
            rig_stop(r, id);
    }
    uv_close((uv_handle_t *)&r->deadline, NULL);
    uv_run(&r->loop, UV_RUN_DEFAULT);
    int error = uv_loop_close(&r->loop);
    assert(error == 0);
    test_ca_fini(&r->ca);
    log_init(STDERR_FILENO, 0, LOG_ERROR);
    close(r->log_fd);
    remove_files(r);
}

static enum status
on_frame(void *ctx, uint64_t peer, uint8_t kind, struct blob *body)
{
    struct rig_node *n = ctx;
    n->frames++;
    n->bytes += body->size;
    if (n->frame_cb != NULL)
        n->frame_cb(n, peer, kind, body);
    return n->answer;
}

static void
on_up(void *ctx, uint64_t peer)
{
    struct rig_node *n = ctx;
    n->ups[peer]++;
    assert(n->ups[peer] == n->downs[peer] + 1);
}

static void
on_down(void *ctx, uint64_t peer, bool was_refused)
{
    struct rig_node *n = ctx;
    n->downs[peer]++;
    n->was_refused[peer] = was_refused;
    assert(n->ups[peer] == n->downs[peer]);
}

struct cluster_options
rig_options(struct rig *r, unsigned id)
{
    static char listen_address[RIG_NODES + 1][64];
    static char client_address[RIG_NODES + 1][64];
    struct cluster_options options = {.id = id};

    snprintf(listen_address[id], 64, "127.0.0.1:%u", r->nodes[id].port);
    snprintf(client_address[id], 64, "client-%u:443", id);
    memset(options.cluster_id, 0xc1, sizeof options.cluster_id);
    options.listen_address = listen_address[id];
    options.client_address = client_address[id];
    options.ca_file = rig_path(r, 0, ".ca");
    options.cert_file = rig_path(r, id, ".crt");
    options.key_file = rig_path(r, id, ".key");
    options.members.count = RIG_NODES;
    for (unsigned i = 0; i < RIG_NODES; i++) {
        struct rlog_member *m = &options.members.members[i];
        m->id = i + 1;
        m->is_voter = true;
        snprintf(m->address, sizeof m->address, "127.0.0.1:%u", r->nodes[i + 1].port);
    }
    return options;
}

enum status
rig_start_with(struct rig *r, const struct cluster_options *options)
{
    struct rig_node *n = &r->nodes[options->id];
    struct cluster_callbacks callbacks = {
        .frame_cb = on_frame, .up_cb = on_up, .down_cb = on_down, .ctx = n};
    assert(n->cluster == NULL);
    memset(n->ups, 0, sizeof n->ups);
    memset(n->downs, 0, sizeof n->downs);
    return cluster_open(&r->loop, options, &callbacks, &n->cluster);
}

void
rig_start(struct rig *r, unsigned id)
{
    struct cluster_options options = rig_options(r, id);
    enum status status = rig_start_with(r, &options);
    assert(status == ST_OK);
}

static void
on_closed(void *ctx)
{
    struct rig_node *n = ctx;
    n->cluster = NULL;
}

static bool
is_stopped(void *ctx)
{
    const struct rig_node *n = ctx;
    return n->cluster == NULL;
}

void
rig_stop(struct rig *r, unsigned id)
{
    cluster_close(r->nodes[id].cluster, on_closed, &r->nodes[id]);
    bool is_done = rig_run(r, 2000, is_stopped, &r->nodes[id]);
    assert(is_done);
}

static void
on_deadline(uv_timer_t *timer)
{
    struct rig *r = timer->data;
    r->is_late = true;
}

bool
rig_run(struct rig *r, uint64_t ms, rig_cond *cond, void *ctx)
{
    r->is_late = false;
    uv_update_time(&r->loop);
    uv_timer_start(&r->deadline, on_deadline, ms, 0);
    while (!cond(ctx) && !r->is_late)
        uv_run(&r->loop, UV_RUN_ONCE);
    uv_timer_stop(&r->deadline);
    return cond(ctx);
}

static bool
never(void *ctx)
{
    (void)ctx;
    return false;
}

void
rig_idle(struct rig *r, uint64_t ms)
{
    (void)rig_run(r, ms, never, NULL);
}

bool
rig_is_up(const struct rig *r, unsigned from, unsigned to)
{
    struct cluster_peer_info info;
    return r->nodes[from].cluster != NULL &&
           cluster_peer(r->nodes[from].cluster, to, &info) == ST_OK &&
           info.is_connected;
}

struct pair {
    struct rig *rig;
    unsigned a;
    unsigned b;
};

static bool
are_connected(void *ctx)
{
    const struct pair *p = ctx;
    return rig_is_up(p->rig, p->a, p->b) && rig_is_up(p->rig, p->b, p->a);
}

bool
rig_connect(struct rig *r, unsigned a, unsigned b)
{
    struct pair pair = {r, a, b};
    return rig_run(r, 2000, are_connected, &pair);
}

uint64_t
rig_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

unsigned
rig_count_logged(const struct rig *r, const char *text)
{
    static char log[1 << 20];
    unsigned count = 0;
    ssize_t size = pread(r->log_fd, log, sizeof log - 1, 0);
    log[size < 0 ? 0 : size] = '\0';
    for (const char *at = log; (at = strstr(at, text)) != NULL; at++)
        count++;
    return count;
}

bool
rig_has_logged(const struct rig *r, const char *text)
{
    return rig_count_logged(r, text) > 0;
}

struct sought {
    struct rig *rig;
    const char *text;
};

static bool
is_logged(void *ctx)
{
    const struct sought *s = ctx;
    return rig_has_logged(s->rig, s->text);
}

bool
rig_logs(struct rig *r, const char *text)
{
    struct sought sought = {r, text};
    return rig_run(r, 1000, is_logged, &sought);
}

int
rig_socket(struct rig *r, unsigned id)
{
    struct sockaddr_in addr = loopback(r->nodes[id].port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert(fd >= 0);
    (void)connect(fd, (struct sockaddr *)&addr, sizeof addr);
    uint64_t end = rig_now_ns() + 5000000000u;
    struct pollfd wait = {.fd = fd, .events = POLLOUT};
    while (poll(&wait, 1, 0) == 0 && rig_now_ns() < end)
        uv_run(&r->loop, UV_RUN_NOWAIT);
    assert((wait.revents & POLLOUT) != 0);
    return fd;
}

size_t
rig_resident_bytes(void)
{
    size_t total;
    size_t resident;
    FILE *f = fopen("/proc/self/statm", "r");
    int count = fscanf(f, "%zu %zu", &total, &resident);
    assert(count == 2);
    fclose(f);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

int
rig_open_fds(void)
{
    int count = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count;
}
