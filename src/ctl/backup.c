/* backup, backup verify, restore. The node streams a backup over its control socket; it
 * is written beside FILE, made durable and examined, and only then gets its name. The
 * formats are holdfastd's to know. */
#include "base/json.h"
#include "ctl/commands.h"
#include "ctl/control_client.h"
#include "ctl/daemon.h"
#include "ctl/failure.h"
#include "ctl/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

#define BUFFER_BYTES   (256u << 10)
#define LINE_MAX_BYTES (1u << 20)

struct download {
    const struct options *o;
    const char *file;
    char partial[PATH_MAX];
    char cut[PATH_MAX]; /* one queue of it */
    int socket;
    int fd;              /* partial */
    struct bytes buffer; /* read, not yet used */
    struct control_answer answer;
    struct progress progress;
};

/* --- reading from the node --- */

static enum ctl_exit
read_more(struct download *d)
{
    struct pollfd p = {.fd = d->socket, .events = POLLIN};
    int ready = poll(&p, 1, (int)(d->o->timeout_secs + 1) * 1000);
    if (ready <= 0)
        return ctl_fail(d->o, CTL_TIMEOUT, "the node does not answer");
    bytes_reserve(&d->buffer, BUFFER_BYTES);
    ssize_t n = recv(d->socket, d->buffer.data + d->buffer.size, BUFFER_BYTES, 0);
    if (n <= 0)
        return ctl_fail(d->o, CTL_UNREACHABLE,
                        "the node hung up: the backup is not whole");
    d->buffer.size += (size_t)n;
    return CTL_DONE;
}

static void
drop(struct bytes *b, size_t size)
{
    memmove(b->data, b->data + size, b->size - size);
    b->size -= size;
}

/* The next line of the node; ret_size is without its end. */
static enum ctl_exit
read_line(struct download *d, size_t *ret_size)
{
    for (;;) { /* bound: LINE_MAX_BYTES */
        const uint8_t *end =
            d->buffer.size == 0 ? NULL : memchr(d->buffer.data, '\n', d->buffer.size);
        if (end != NULL) {
            *ret_size = (size_t)(end - d->buffer.data);
            return CTL_DONE;
        }
        if (d->buffer.size > LINE_MAX_BYTES)
            return ctl_fail(d->o, CTL_FAILED, "the node's answer cannot be read");
        enum ctl_exit code = read_more(d);
        if (code != CTL_DONE)
            return code;
    }
}

static bool
is_progress(const struct bytes *b)
{
    static const char begin[] = "{\"progress\":";
    return b->size >= sizeof begin - 1 && memcmp(b->data, begin, sizeof begin - 1) == 0;
}

static enum ctl_exit
read_answer(struct download *d)
{
    for (;;) { /* bound: each line within the time */
        size_t size = 0;
        enum ctl_exit code = read_line(d, &size);
        if (code != CTL_DONE)
            return code;
        bool is_answer = !is_progress(&d->buffer);
        control_answer_fini(&d->answer);
        d->answer = (struct control_answer){.exit = CTL_FAILED};
        if (is_answer &&
            control_read_answer(slice_of(d->buffer.data, size), &d->answer) != ST_OK)
            return ctl_fail(d->o, CTL_FAILED, "the node's answer cannot be read");
        drop(&d->buffer, size + 1);
        if (is_answer)
            return CTL_DONE;
        ctl_progress_update(&d->progress, 0, 0);
    }
}

/* --- the file --- */

static enum ctl_exit
fail_file(const struct download *d, const char *path)
{
    return ctl_fail_file(d->o, path);
}

static enum ctl_exit
open_partial(struct download *d)
{
    d->fd = open(d->partial, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (d->fd < 0)
        return fail_file(d, d->partial);
    if (flock(d->fd, LOCK_EX | LOCK_NB) != 0)
        return ctl_fail(d->o, CTL_EXISTS, "%s: another backup writes to it",
                        d->partial);
    if (ftruncate(d->fd, 0) != 0)
        return fail_file(d, d->partial);
    return CTL_DONE;
}

static enum ctl_exit
write_out(struct download *d, size_t size)
{
    size_t done = 0;
    while (done < size) { /* bound: size */
        ssize_t n = write(d->fd, d->buffer.data + done, size - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_file(d, d->partial);
        done += (size_t)n;
    }
    drop(&d->buffer, size);
    return CTL_DONE;
}

static enum ctl_exit
receive(struct download *d)
{
    uint64_t total = d->answer.stream_bytes;
    uint64_t left = total;
    while (left > 0) { /* bound: what was announced */
        size_t part = d->buffer.size < left ? d->buffer.size : (size_t)left;
        enum ctl_exit code = part > 0 ? write_out(d, part) : read_more(d);
        if (code != CTL_DONE)
            return code;
        left -= part;
        ctl_progress_update(&d->progress, total - left, total);
    }
    return CTL_DONE;
}

/* The last line: without it the node had not read all of it. */
static enum ctl_exit
receive_end(struct download *d)
{
    static const char whole[] = "{\"whole\":true}";
    enum ctl_exit code = read_answer(d);
    if (code != CTL_DONE)
        return code;
    if (!slice_equal(slice_of(d->answer.json.data, d->answer.json.size),
                     slice_from_text(whole)))
        return ctl_fail(d->o, CTL_FAILED, "the node did not say that it was whole");
    if (fsync(d->fd) != 0)
        return fail_file(d, d->partial);
    return CTL_DONE;
}

static enum ctl_exit
download(struct download *d)
{
    static const char *const words[] = {"backup", "stream"};
    struct options plain = *d->o;
    plain.given &= ~OPT(QUEUE); /* the node gives all of it */
    enum ctl_exit code = control_begin(&plain, 2, words, &d->socket);
    if (code == CTL_DONE)
        code = read_answer(d);
    if (code != CTL_DONE)
        return code;
    if (d->answer.exit != CTL_DONE)
        return control_print(d->o, &d->answer);
    if (!d->answer.has_stream)
        return ctl_fail(d->o, CTL_FAILED, "the node's answer cannot be read");
    code = receive(d);
    return code == CTL_DONE ? receive_end(d) : code;
}

/* --- examining and naming --- */

static enum ctl_exit
cut(struct download *d)
{
    struct bytes out = {0};
    const char *arguments[] = {"holdfastd", "--backup-cut", d->partial, d->cut,
                               "--queue",   d->o->queue,    NULL};
    (void)unlink(d->cut);
    enum ctl_exit code = daemon_run(d->o, arguments, &out);
    bytes_fini(&out);
    if (code == CTL_DONE && rename(d->cut, d->partial) != 0)
        code = fail_file(d, d->cut);
    if (code == CTL_NOT_FOUND)
        return ctl_fail(d->o, code, "there is no queue '%s'", d->o->queue);
    return code;
}

/* Never over what is there, unless --yes was given. */
static enum ctl_exit
give_name(struct download *d)
{
    char folder[PATH_MAX];
    unsigned flags = d->o->is_sure ? 0 : RENAME_NOREPLACE;
    if (renameat2(AT_FDCWD, d->partial, AT_FDCWD, d->file, flags) != 0) {
        if (errno == EEXIST)
            return ctl_fail(d->o, CTL_EXISTS, "%s exists: --yes replaces it", d->file);
        return fail_file(d, d->file);
    }
    (void)snprintf(folder, sizeof folder, "%s", d->file);
    int fd = open(dirname(folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fsync(fd) != 0)
        return fail_file(d, d->file);
    (void)close(fd);
    return CTL_DONE;
}

static void
print(const struct options *o, const struct bytes *out)
{
    size_t size = out->size;
    if (size > 0 && out->data[size - 1] == '\n')
        size--; /* ctl_answer puts it */
    if (size > 0)
        ctl_answer(o, slice_of(out->data, size), slice_of(out->data, size));
}

static enum ctl_exit
finish(struct download *d)
{
    struct bytes out = {0};
    const char *arguments[] = {"holdfastd", "--backup-check",
                               d->partial,  "--name",
                               d->file,     d->o->is_json ? "--json" : NULL,
                               NULL};
    enum ctl_exit code = d->o->queue != NULL ? cut(d) : CTL_DONE;
    if (code != CTL_DONE)
        return code;
    code = daemon_run(d->o, arguments, &out);
    if (code == CTL_DONE)
        code = give_name(d);
    if (code == CTL_DONE)
        print(d->o, &out);
    else if (d->o->state->error[0] == '\0')
        code = ctl_fail(d->o, code, "%s was not made: what came is not good", d->file);
    bytes_fini(&out);
    return code;
}

enum ctl_exit
ctl_backup(const struct options *o, int argc, char **argv)
{
    struct download d = {.o = o, .file = argv[0], .socket = -1, .fd = -1};
    (void)argc;
    if (snprintf(d.partial, sizeof d.partial, "%s.partial", d.file) >=
            (int)sizeof d.partial ||
        snprintf(d.cut, sizeof d.cut, "%s.part", d.file) >= (int)sizeof d.cut)
        return ctl_fail(o, CTL_USAGE, "the file's name is too long");
    if (!o->is_sure && access(d.file, F_OK) == 0)
        return ctl_fail(o, CTL_EXISTS, "%s exists: --yes replaces it", d.file);
    enum ctl_exit code = open_partial(&d);
    bool is_ours = code == CTL_DONE;
    ctl_progress_begin(&d.progress, "backup", PROGRESS_BYTES);
    if (code == CTL_DONE)
        code = download(&d);
    ctl_progress_end(&d.progress);
    if (code == CTL_DONE)
        code = finish(&d);
    if (is_ours && code != CTL_DONE) {
        (void)unlink(d.partial);
        (void)unlink(d.cut);
    }
    if (d.socket >= 0)
        (void)close(d.socket);
    if (d.fd >= 0)
        (void)close(d.fd);
    bytes_fini(&d.buffer);
    control_answer_fini(&d.answer);
    return code;
}

enum ctl_exit
ctl_backup_verify(const struct options *o, int argc, char **argv)
{
    const char *arguments[] = {"holdfastd", "--backup-check", argv[0],
                               o->is_json ? "--json" : NULL, NULL};
    (void)argc;
    enum ctl_exit code = ctl_check_file(o, argv[0]);
    return code == CTL_DONE ? daemon_command(o, arguments) : code;
}

enum ctl_exit
ctl_restore(const struct options *o, int argc, char **argv)
{
    const char *arguments[DAEMON_ARGUMENTS_MAX] = {"holdfastd", "--restore", argv[0],
                                                   "--config", o->config};
    int count = 5;
    (void)argc;
    if (o->config == NULL)
        return ctl_fail(o, CTL_USAGE,
                        "usage: holdfastctl restore FILE --config FILE [--queue NAME]");
    if (o->queue != NULL) {
        arguments[count++] = "--queue";
        arguments[count++] = o->queue;
    }
    if (o->is_json)
        arguments[count++] = "--json";
    enum ctl_exit code = ctl_check_file(o, argv[0]);
    if (code == CTL_DONE)
        code = ctl_check_file(o, o->config);
    return code == CTL_DONE ? daemon_command(o, arguments) : code;
}
