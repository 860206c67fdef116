/* Daemon: see daemon.h. */
#include "ctl/daemon.h"

#include "base/json.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUT_BYTES_MAX   (16u << 20)
#define PIECE_BYTES     65536
#define ERROR_BYTES_MAX 4096

/* "…/bin/holdfastctl" -> the first of "…/bin/holdfastd", "…/sbin/holdfastd" and (build
 * tree) "…/../server/holdfastd" that is there. */
static bool
find_daemon(char *out, size_t size)
{
    static const char *const places[] = {"holdfastd", "../sbin/holdfastd",
                                         "../server/holdfastd"};
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0)
        return false;
    self[n] = '\0';
    char *slash = strrchr(self, '/');
    if (slash == NULL)
        return false;
    slash[1] = '\0';
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        int length = snprintf(out, size, "%s%s", self, places[i]);
        if (length > 0 && (size_t)length < size && access(out, X_OK) == 0)
            return true;
    }
    return false;
}

/* Comes back only with a failure, in errno. */
static void
execute(const char *const *arguments)
{
    char path[PATH_MAX];
    if (find_daemon(path, sizeof path))
        (void)execv(path, (char *const *)(uintptr_t)arguments);
    else
        (void)execvp("holdfastd", (char *const *)(uintptr_t)arguments);
}

enum ctl_exit
daemon_become(const struct options *o, const char *const *arguments)
{
    execute(arguments);
    return ctl_fail(o, CTL_FAILED, "holdfastd cannot be run: %s", strerror(errno));
}

struct run {
    pid_t child;
    int out; /* what it writes to; -1: it has ended */
    int errors;
    struct bytes *text; /* from out */
    struct bytes said;  /* from errors: the begin of it */
};

/* -1 when that end is over. */
static int
read_piece(int fd, struct bytes *to)
{
    bytes_reserve(to, PIECE_BYTES);
    ssize_t n = read(fd, to->data + to->size, PIECE_BYTES);
    if (n < 0 && errno == EINTR)
        return fd;
    if (n > 0) {
        to->size += (size_t)n;
        return fd;
    }
    (void)close(fd);
    return -1;
}

/* What it says to people goes where it would have gone, at once. */
static int
pass_errors(struct run *r)
{
    size_t begin = r->said.size;
    int fd = read_piece(r->errors, &r->said);
    if (r->said.size > begin)
        (void)fwrite(r->said.data + begin, 1, r->said.size - begin, stderr);
    (void)fflush(stderr);
    if (r->said.size > ERROR_BYTES_MAX)
        r->said.size = ERROR_BYTES_MAX;
    return fd;
}

static void
collect(struct run *r)
{
    while ((r->out >= 0 || r->errors >= 0) && r->text->size < OUT_BYTES_MAX) {
        struct pollfd p[2] = {{.fd = r->out, .events = POLLIN},
                              {.fd = r->errors, .events = POLLIN}};
        if (poll(p, 2, -1) < 0 && errno != EINTR)
            break;
        if (p[0].revents != 0)
            r->out = read_piece(r->out, r->text);
        if (p[1].revents != 0)
            r->errors = pass_errors(r);
    }
    if (r->out >= 0)
        (void)close(r->out);
    if (r->errors >= 0)
        (void)close(r->errors);
}

/* The first line of what it said is the error, for --json. */
static void
note_error(const struct options *o, struct slice said)
{
    static const char begin[] = "holdfastd: ";
    const uint8_t *end = said.size > 0 ? memchr(said.data, '\n', said.size) : NULL;
    if (end != NULL)
        said.size = (size_t)(end - said.data);
    if (said.size >= sizeof begin - 1 &&
        memcmp(said.data, begin, sizeof begin - 1) == 0)
        said = slice_of(said.data + sizeof begin - 1, said.size - (sizeof begin - 1));
    if (o->state->error[0] == '\0' && said.size > 0)
        (void)snprintf(o->state->error, sizeof o->state->error, "%.*s", (int)said.size,
                       (const char *)said.data);
}

static enum ctl_exit
end_run(const struct options *o, struct run *r)
{
    int how = 0;
    while (waitpid(r->child, &how, 0) < 0)
        if (errno != EINTR)
            return ctl_fail(o, CTL_FAILED, "holdfastd: %s", strerror(errno));
    if (!WIFEXITED(how))
        return ctl_fail(o, CTL_FAILED, "holdfastd was ended by signal %d",
                        WIFSIGNALED(how) ? WTERMSIG(how) : 0);
    if (WEXITSTATUS(how) == 127)
        return ctl_fail(o, CTL_FAILED, "holdfastd cannot be run");
    if (WEXITSTATUS(how) != 0)
        note_error(o, slice_of(r->said.data, r->said.size));
    return (enum ctl_exit)WEXITSTATUS(how);
}

enum ctl_exit
daemon_run(const struct options *o, const char *const *arguments, struct bytes *out)
{
    int ends[2];
    int errors[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return ctl_fail(o, CTL_FAILED, "pipe: %s", strerror(errno));
    if (pipe2(errors, O_CLOEXEC) != 0) {
        (void)close(ends[0]);
        (void)close(ends[1]);
        return ctl_fail(o, CTL_FAILED, "pipe: %s", strerror(errno));
    }
    struct run r = {.out = ends[0], .errors = errors[0], .text = out};
    r.child = fork();
    if (r.child == 0) {
        if (dup2(ends[1], STDOUT_FILENO) >= 0 && dup2(errors[1], STDERR_FILENO) >= 0)
            execute(arguments);
        _exit(127);
    }
    int error = errno;
    (void)close(ends[1]);
    (void)close(errors[1]);
    if (r.child < 0) {
        (void)close(ends[0]);
        (void)close(errors[0]);
        return ctl_fail(o, CTL_FAILED, "fork: %s", strerror(error));
    }
    collect(&r);
    enum ctl_exit code = end_run(o, &r);
    bytes_fini(&r.said);
    return code;
}

/* What holdfastd said neither as a document nor on standard error. */
static void
note_failure(const struct options *o, enum ctl_exit code)
{
    static const char *const words[] = {
        [CTL_FAILED] = "it failed",
        [CTL_USAGE] = "wrong usage, or not confirmed: nothing was done",
        [CTL_NOT_FOUND] = "there is no data",
        [CTL_EXISTS] = "there is data already, or a node has it open",
    };
    if (o->state->error[0] != '\0')
        return;
    bool is_known = code < sizeof words / sizeof words[0] && words[code] != NULL;
    (void)snprintf(o->state->error, sizeof o->state->error, "%s",
                   is_known ? words[code] : "holdfastd failed");
}

enum ctl_exit
daemon_command(const struct options *o, const char *const *arguments)
{
    struct bytes out = {0};
    struct json_object parsed;
    if (!o->is_json)
        return daemon_become(o, arguments);
    enum ctl_exit code = daemon_run(o, arguments, &out);
    struct slice text = slice_of(out.data, out.size);
    while (text.size > 0 && text.data[text.size - 1] == '\n') /* bound: its size */
        text.size--;
    json_object_init(&parsed);
    if (text.size > 0 && utf8_is_valid(text) &&
        json_parse(&parsed, text) == JSON_IS_OBJECT)
        ctl_answer(o, text, text);
    else if (code != CTL_DONE)
        note_failure(o, code);
    json_object_fini(&parsed);
    bytes_fini(&out);
    return code;
}
