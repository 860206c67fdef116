/* The control socket's client: one line out, one line back. */
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "ctl/commands.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define REPLY_MAX (16u << 20)

static int
dial(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        int error = errno;
        (void)close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

static enum status
exchange(int fd,
         const struct bytes *request,
         uint64_t timeout_secs,
         struct bytes *reply)
{
    size_t sent = 0;
    while (sent < request->size) { /* bound: the request */
        ssize_t n = send(fd, request->data + sent, request->size - sent, MSG_NOSIGNAL);
        if (n <= 0)
            return ST_CLOSED;
        sent += (size_t)n;
    }
    while (reply->size == 0 || reply->data[reply->size - 1] != '\n') {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (poll(&p, 1, (int)(timeout_secs * 1000)) <= 0)
            return ST_TIMEOUT;
        bytes_reserve(reply, 65536);
        ssize_t n = recv(fd, reply->data + reply->size, 65536, 0);
        if (n <= 0 || reply->size + (size_t)n > REPLY_MAX)
            return ST_CLOSED;
        reply->size += (size_t)n;
    }
    return ST_OK;
}

static enum ctl_exit
print_reply(const struct options *o, const struct bytes *reply)
{
    struct json_object parsed;
    int64_t code = CTL_FAILED;
    struct bytes text = {0};
    json_object_init(&parsed);
    if (json_parse(&parsed, slice_of(reply->data, reply->size)) != JSON_IS_OBJECT) {
        (void)fprintf(stderr, "holdfastctl: the node's answer cannot be read\n");
    } else {
        const struct json_member *exit = json_find(&parsed, "exit");
        const struct json_member *json = json_find(&parsed, "json");
        const struct json_member *words = json_find(&parsed, "text");
        if (exit == NULL || json_whole(exit->value, &code) != ST_OK || words == NULL ||
            json_unescape(words->value, &text) != ST_OK)
            code = CTL_FAILED;
        if (o->is_json && json != NULL)
            (void)printf("%.*s\n", (int)json->value.size,
                         (const char *)json->value.data);
        if (code != 0)
            (void)fprintf(stderr, "holdfastctl: %.*s\n", (int)text.size,
                          (const char *)text.data);
        else if (!o->is_json && text.size > 0)
            (void)printf("%.*s\n", (int)text.size, (const char *)text.data);
    }
    bytes_fini(&text);
    json_object_fini(&parsed);
    return (enum ctl_exit)code;
}

static enum ctl_exit
fail(const struct options *o, const char *path, const char *what)
{
    (void)fprintf(stderr, "holdfastctl: %s: %s\n", path, what);
    if (o->is_json) {
        struct bytes out = {0};
        struct json_writer w;
        json_write_begin(&w, &out);
        json_object_begin(&w, NULL);
        json_put_string(&w, "error", what);
        json_put_u64(&w, "exit", CTL_UNREACHABLE);
        json_object_end(&w);
        (void)printf("%.*s\n", (int)out.size, (const char *)out.data);
        bytes_fini(&out);
    }
    return CTL_UNREACHABLE;
}

static void
put_option(struct json_writer *w, const char *name, const char *value)
{
    if (value == NULL)
        return;
    json_put_string(w, NULL, name);
    json_put_string(w, NULL, value);
}

enum ctl_exit
ctl_control(const struct options *o, int argc, char **argv)
{
    struct bytes request = {0};
    struct bytes reply = {0};
    struct json_writer w;
    const char *path = o->socket != NULL ? o->socket : "/run/holdfast/control.sock";
    int fd = dial(path);
    if (fd < 0)
        return fail(o, path, strerror(errno));
    json_write_begin(&w, &request);
    json_object_begin(&w, NULL);
    json_array_begin(&w, "argv");
    for (int i = 0; i < argc; i++)
        json_put_string(&w, NULL, argv[i]);
    put_option(&w, "--to", o->to);
    put_option(&w, "--tier", o->tier);
    json_array_end(&w);
    json_object_end(&w);
    bytes_put_u8(&request, '\n');
    enum status st = exchange(fd, &request, o->timeout_secs + 1, &reply);
    enum ctl_exit code;
    if (st == ST_OK)
        code = print_reply(o, &reply);
    else
        code = fail(o, path,
                    st == ST_TIMEOUT ? "the node does not answer" : "the node hung up");
    bytes_fini(&request);
    bytes_fini(&reply);
    (void)close(fd);
    return code;
}
