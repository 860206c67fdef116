/* Daemon: see daemon.h. */
#include "ctl/daemon.h"

#include "base/json.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUT_BYTES_MAX (16u << 20)

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

static enum ctl_exit
collect(const struct options *o, pid_t child, int fd, struct bytes *out)
{
    int how = 0;
    ssize_t n = 1;
    while (n != 0 && out->size < OUT_BYTES_MAX) { /* bound: OUT_BYTES_MAX */
        bytes_reserve(out, 65536);
        n = read(fd, out->data + out->size, 65536);
        if (n < 0 && errno != EINTR)
            break;
        if (n > 0)
            out->size += (size_t)n;
    }
    (void)close(fd);
    while (waitpid(child, &how, 0) < 0)
        if (errno != EINTR)
            return ctl_fail(o, CTL_FAILED, "holdfastd: %s", strerror(errno));
    if (!WIFEXITED(how))
        return ctl_fail(o, CTL_FAILED, "holdfastd was ended by signal %d",
                        WIFSIGNALED(how) ? WTERMSIG(how) : 0);
    if (WEXITSTATUS(how) == 127)
        return ctl_fail(o, CTL_FAILED, "holdfastd cannot be run");
    return (enum ctl_exit)WEXITSTATUS(how);
}

enum ctl_exit
daemon_run(const struct options *o, const char *const *arguments, struct bytes *out)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return ctl_fail(o, CTL_FAILED, "pipe: %s", strerror(errno));
    pid_t child = fork();
    if (child == 0) {
        if (dup2(ends[1], STDOUT_FILENO) >= 0)
            execute(arguments);
        _exit(127);
    }
    int error = errno;
    (void)close(ends[1]);
    if (child < 0) {
        (void)close(ends[0]);
        return ctl_fail(o, CTL_FAILED, "fork: %s", strerror(error));
    }
    return collect(o, child, ends[0], out);
}

/* What holdfastd did not say as a document: it said more on standard error. */
static void
note_failure(const struct options *o, enum ctl_exit code)
{
    static const char *const words[] = {
        [CTL_FAILED] = "it failed",
        [CTL_USAGE] = "wrong usage, or not confirmed: nothing was done",
        [CTL_NOT_FOUND] = "there is no data",
        [CTL_EXISTS] = "there is data already, or a node has it open",
    };
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
