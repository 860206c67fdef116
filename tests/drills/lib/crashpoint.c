/* Runs a program and kills it at the n-th of its system calls that have to do with one
 * directory, counted over all of its threads.
 *
 *   crashpoint --dir DIR --out FILE [--calls write,change,read,send] [--path TEXT]
 *              [--at N] [--half] PROGRAM [ARGUMENT...]
 *
 * write    pwrite, pwritev and the like on a file below DIR
 * change   opening, syncing, allocating, cutting, renaming, removing, locking, closing
 * read     reading
 * send     what goes into a socket, wherever it leads to
 *
 * Counted are write and change unless said otherwise, and of those only what has TEXT
 * in its path. Without --at nothing is killed. The call at which it is killed does not
 * happen; with --half the first half of its bytes is written, as when a process dies
 * inside of it.
 *
 * FILE gets a line "pid N", then one for each counted call: number, thread, its name,
 * call, path and, for a rename, the new path. The last line is "signal N" or "code N".
 *
 * Why not strace: it counts the calls of each thread by itself, so that whatever a
 * thread with few calls does is never reached. The kernel stops the program only at
 * the calls in the table below, so it runs at almost its own speed. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define IOV_COUNT_MAX 1024
#define NOT_POSSIBLE  77 /* tracing is not allowed here */

enum set {
    WRITE = 1,
    CHANGE = 2,
    READ = 4,
    SEND = 8,
};

/* Where its path is: a descriptor, a directory and a name, two of those, a name. */
enum shape {
    BY_FD,
    AT,
    AT_TWICE,
    BY_NAME,
    BY_NAME_TWICE,
};

struct call {
    long number;
    const char *name;
    enum set set; /* on a socket, WRITE is SEND */
    enum shape shape;
};

static const struct call CALLS[] = {
    {__NR_write, "write", WRITE, BY_FD},
    {__NR_writev, "writev", WRITE, BY_FD},
    {__NR_pwrite64, "pwrite64", WRITE, BY_FD},
    {__NR_pwritev, "pwritev", WRITE, BY_FD},
    {__NR_pwritev2, "pwritev2", WRITE, BY_FD},
    {__NR_fsync, "fsync", CHANGE, BY_FD},
    {__NR_fdatasync, "fdatasync", CHANGE, BY_FD},
    {__NR_sync_file_range, "sync_file_range", CHANGE, BY_FD},
    {__NR_fallocate, "fallocate", CHANGE, BY_FD},
    {__NR_ftruncate, "ftruncate", CHANGE, BY_FD},
    {__NR_flock, "flock", CHANGE, BY_FD},
    {__NR_close, "close", CHANGE, BY_FD},
    {__NR_openat, "openat", CHANGE, AT},
    {__NR_unlinkat, "unlinkat", CHANGE, AT},
    {__NR_mkdirat, "mkdirat", CHANGE, AT},
    {__NR_renameat, "renameat", CHANGE, AT_TWICE},
    {__NR_renameat2, "renameat2", CHANGE, AT_TWICE},
#ifdef __NR_mkdir /* old machines have these as well */
    {__NR_mkdir, "mkdir", CHANGE, BY_NAME},
    {__NR_unlink, "unlink", CHANGE, BY_NAME},
    {__NR_rename, "rename", CHANGE, BY_NAME_TWICE},
#endif
    {__NR_read, "read", READ, BY_FD},
    {__NR_pread64, "pread64", READ, BY_FD},
    {__NR_getdents64, "getdents64", READ, BY_FD},
    {__NR_sendto, "sendto", SEND, BY_FD},
    {__NR_sendmsg, "sendmsg", SEND, BY_FD},
};
#define CALL_COUNT (sizeof CALLS / sizeof CALLS[0])

struct run {
    const char *dir;
    const char *out;
    const char *part; /* of a path; "" for all */
    unsigned sets;
    uint64_t at; /* 0: never */
    bool is_half;
    char **argv;
    int out_fd;
    pid_t pid;
    uint64_t count;
    bool is_killed;
};

static void
die(const char *what, int code)
{
    (void)fprintf(stderr, "crashpoint: %s: %s\n", what, strerror(errno));
    exit(code);
}

/* --- the traced program --- */

/* Only the calls of the table stop it. */
static void
install_filter(void)
{
    struct sock_filter program[CALL_COUNT * 2 + 2];
    size_t n = 0;
    program[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                                offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < CALL_COUNT; i++) {
        program[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                                                    (uint32_t)CALLS[i].number, 0, 1);
        program[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE);
    }
    program[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog all = {.len = (unsigned short)n, .filter = program};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all) != 0)
        die("a filter of system calls", NOT_POSSIBLE);
}

static void
run_program(const struct run *r, int go_fd)
{
    char byte;
    if (read(go_fd, &byte, 1) != 1)
        _exit(NOT_POSSIBLE);
    (void)close(go_fd);
    install_filter();
    (void)execv(r->argv[0], r->argv);
    die(r->argv[0], 127);
}

static void
start(struct run *r)
{
    int go[2];
    if (pipe2(go, O_CLOEXEC) != 0)
        die("pipe", 1);
    r->pid = fork();
    if (r->pid < 0)
        die("fork", 1);
    if (r->pid == 0) {
        (void)close(go[1]);
        run_program(r, go[0]);
    }
    (void)close(go[0]);
    long options = PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                   PTRACE_O_TRACESECCOMP | PTRACE_O_EXITKILL;
    if (ptrace(PTRACE_SEIZE, r->pid, NULL, options) != 0)
        die("tracing", NOT_POSSIBLE);
    (void)dprintf(r->out_fd, "pid %d\n", (int)r->pid);
    if (write(go[1], "", 1) != 1)
        die("pipe", 1);
    (void)close(go[1]);
}

/* --- one call --- */

struct stop {
    pid_t thread;
    const struct call *call;
    uint64_t args[6];
    char path[PATH_MAX];
    char to[PATH_MAX];
};

/* How many bytes of the traced program's memory could be read; they end in a zero. */
static size_t
read_memory(pid_t thread, uint64_t at, char *out, size_t size)
{
    char name[40];
    (void)snprintf(name, sizeof name, "/proc/%d/mem", (int)thread);
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : pread(fd, out, size - 1, (off_t)at);
    if (fd >= 0)
        (void)close(fd);
    out[n > 0 ? n : 0] = '\0';
    return n > 0 ? (size_t)n : 0;
}

static void
path_of_fd(pid_t thread, uint64_t fd, char out[PATH_MAX])
{
    char name[60];
    if ((int)fd == AT_FDCWD)
        (void)snprintf(name, sizeof name, "/proc/%d/cwd", (int)thread);
    else
        (void)snprintf(name, sizeof name, "/proc/%d/fd/%d", (int)thread, (int)fd);
    ssize_t n = readlink(name, out, PATH_MAX - 1);
    out[n > 0 ? n : 0] = '\0';
}

static void
path_at(pid_t thread, uint64_t dir_fd, uint64_t name_at, char out[PATH_MAX])
{
    char name[PATH_MAX];
    char dir[PATH_MAX];
    (void)read_memory(thread, name_at, name, sizeof name);
    path_of_fd(thread, dir_fd, dir);
    int n = name[0] == '/' ? snprintf(out, PATH_MAX, "%s", name)
                           : snprintf(out, PATH_MAX, "%s/%s", dir, name);
    if (n < 0 || n >= PATH_MAX)
        out[0] = '\0';
}

static void
find_paths(struct stop *s)
{
    uint64_t here = (uint64_t)AT_FDCWD;
    s->to[0] = '\0';
    switch (s->call->shape) {
    case BY_FD:
        path_of_fd(s->thread, s->args[0], s->path);
        break;
    case AT:
    case AT_TWICE:
        path_at(s->thread, s->args[0], s->args[1], s->path);
        if (s->call->shape == AT_TWICE)
            path_at(s->thread, s->args[2], s->args[3], s->to);
        break;
    case BY_NAME:
    case BY_NAME_TWICE:
        path_at(s->thread, here, s->args[0], s->path);
        if (s->call->shape == BY_NAME_TWICE)
            path_at(s->thread, here, s->args[1], s->to);
        break;
    }
}

static bool
is_below(const char *dir, const char *path)
{
    size_t size = strlen(dir);
    return strncmp(path, dir, size) == 0 && (path[size] == '/' || path[size] == '\0');
}

static bool
is_counted(const struct run *r, const struct stop *s)
{
    bool is_socket = strncmp(s->path, "socket:", 7) == 0;
    unsigned set = is_socket && s->call->set == WRITE ? SEND : s->call->set;
    if ((r->sets & set) == 0 || (set == SEND) != is_socket)
        return false;
    return (is_socket || is_below(r->dir, s->path)) && strstr(s->path, r->part) != NULL;
}

/* The first size bytes of what it was about to write at an offset. */
static void
write_beginning(const struct stop *s, const struct iovec *iov, size_t size)
{
    char name[60];
    char bytes[65537];
    off_t at = (off_t)s->args[3];
    (void)snprintf(name, sizeof name, "/proc/%d/fd/%d", (int)s->thread,
                   (int)s->args[0]);
    int fd = open(name, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        die(name, 1);
    for (size_t from = 0; size > 0; from = 0, iov++)
        for (; size > 0 && from < iov->iov_len;) {
            size_t left = iov->iov_len - from;
            size_t want = left < sizeof bytes - 1 ? left : sizeof bytes - 1;
            want = want < size ? want : size;
            size_t n = read_memory(s->thread, (uint64_t)(uintptr_t)iov->iov_base + from,
                                   bytes, want + 1);
            if (n == 0 || pwrite(fd, bytes, n, at) != (ssize_t)n)
                die("writing half", 1);
            from += n;
            at += (off_t)n;
            size -= n;
        }
    (void)close(fd);
}

static void
write_half(const struct stop *s)
{
    struct iovec iov[IOV_COUNT_MAX + 1] = {{(void *)(uintptr_t)s->args[1], s->args[2]}};
    size_t count = 1;
    size_t size = 0;
    if (s->call->number == __NR_pwritev) {
        count = s->args[2] < IOV_COUNT_MAX ? s->args[2] : IOV_COUNT_MAX;
        (void)read_memory(s->thread, s->args[1], (char *)iov, count * sizeof *iov + 1);
    } else if (s->call->number != __NR_pwrite64) {
        return;
    }
    for (size_t i = 0; i < count; i++)
        size += iov[i].iov_len;
    write_beginning(s, iov, size / 2);
}

static void
tell(const struct run *r, const struct stop *s)
{
    char comm[32] = "?";
    char name[60];
    (void)snprintf(name, sizeof name, "/proc/%d/comm", (int)s->thread);
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, comm, sizeof comm - 1);
    if (fd >= 0)
        (void)close(fd);
    if (n > 0)
        comm[n - 1] = '\0';
    (void)dprintf(r->out_fd, "%llu %d %s %s %s%s%s\n", (unsigned long long)r->count,
                  (int)s->thread, comm, s->call->name, s->path,
                  s->to[0] != '\0' ? " " : "", s->to);
}

static void
at_call(struct run *r, pid_t thread)
{
    struct __ptrace_syscall_info info;
    struct stop s = {.thread = thread};
    if (r->is_killed || ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof info, &info) < 0)
        return;
    for (size_t i = 0; i < CALL_COUNT; i++)
        if (info.op == PTRACE_SYSCALL_INFO_SECCOMP &&
            (long)info.seccomp.nr == CALLS[i].number)
            s.call = &CALLS[i];
    if (s.call == NULL)
        return;
    memcpy(s.args, info.seccomp.args, sizeof s.args);
    find_paths(&s);
    if (!is_counted(r, &s))
        return;
    r->count++;
    tell(r, &s);
    if (r->at == 0 || r->count < r->at)
        return;
    if (r->is_half)
        write_half(&s);
    r->is_killed = true;
    (void)kill(r->pid, SIGKILL);
}

/* --- all of it --- */

/* A stop that is not the end of anything: goes on. */
static void
go_on(pid_t thread, int status)
{
    int signal = WSTOPSIG(status);
    int event = status >> 16;
    bool is_group_stop = event == PTRACE_EVENT_STOP && signal != SIGTRAP;
    if (is_group_stop)
        (void)ptrace(PTRACE_LISTEN, thread, NULL, NULL);
    else
        (void)ptrace(PTRACE_CONT, thread, NULL, event != 0 ? 0L : (long)signal);
}

static int
watch(struct run *r)
{
    for (;;) { /* until it ends */
        int status;
        pid_t thread = waitpid(-1, &status, __WALL);
        if (thread < 0 && errno == EINTR)
            continue;
        if (thread < 0)
            die("waiting", 1);
        if (WIFSTOPPED(status)) {
            if (status >> 16 == PTRACE_EVENT_SECCOMP)
                at_call(r, thread);
            go_on(thread, status);
        } else if (thread == r->pid) {
            bool is_signal = WIFSIGNALED(status);
            int what = is_signal ? WTERMSIG(status) : WEXITSTATUS(status);
            (void)dprintf(r->out_fd, "%s %d\n", is_signal ? "signal" : "code", what);
            return is_signal ? 128 + what : what;
        }
    }
}

static unsigned
parse_sets(const char *text)
{
    static const char *const names[] = {"write", "change", "read", "send"};
    unsigned sets = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strstr(text, names[i]) != NULL)
            sets |= 1u << i;
    return sets;
}

static bool
parse(struct run *r, int argc, char **argv)
{
    int i = 1;
    for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
        const char *name = argv[i] + 2;
        if (strcmp(name, "half") == 0) {
            r->is_half = true;
            continue;
        }
        if (++i >= argc)
            return false;
        if (strcmp(name, "dir") == 0)
            r->dir = argv[i];
        else if (strcmp(name, "out") == 0)
            r->out = argv[i];
        else if (strcmp(name, "path") == 0)
            r->part = argv[i];
        else if (strcmp(name, "calls") == 0)
            r->sets = parse_sets(argv[i]);
        else if (strcmp(name, "at") == 0)
            r->at = strtoull(argv[i], NULL, 10);
        else
            return false;
    }
    r->argv = argv + i;
    return i < argc && r->dir != NULL && r->out != NULL && r->sets != 0;
}

int
main(int argc, char **argv)
{
    struct run r = {.part = "", .sets = WRITE | CHANGE};
    if (!parse(&r, argc, argv)) {
        (void)fputs("usage: crashpoint --dir DIR --out FILE [--calls SETS] [--path "
                    "TEXT] [--at N] [--half] PROGRAM [ARGUMENT...]\n",
                    stderr);
        return 2;
    }
    r.out_fd = open(r.out, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    if (r.out_fd < 0)
        die(r.out, 1);
    start(&r);
    return watch(&r);
}
