/* The control socket's client: see control_client.h. */
#include "ctl/control_client.h"

#include "base/json.h"
#include "base/text.h"

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
send_request(int fd, const struct bytes *request)
{
    size_t sent = 0;
    while (sent < request->size) { /* bound: the request */
        ssize_t n = send(fd, request->data + sent, request->size - sent, MSG_NOSIGNAL);
        if (n <= 0)
            return ST_CLOSED;
        sent += (size_t)n;
    }
    return ST_OK;
}

static enum status
receive_reply(int fd, uint64_t timeout_secs, struct bytes *reply)
{
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

void
control_answer_fini(struct control_answer *a)
{
    bytes_fini(&a->json);
    bytes_fini(&a->text);
}

/* {"exit":N,"json":{...},"text":"..."} taken apart. */
enum status
control_read_answer(struct slice line, struct control_answer *a)
{
    struct json_object parsed;
    int64_t code = CTL_FAILED;
    enum status st = ST_INVALID;
    json_object_init(&parsed);
    if (utf8_is_valid(line) && json_parse(&parsed, line) == JSON_IS_OBJECT) {
        const struct json_member *exit = json_find(&parsed, "exit");
        const struct json_member *json = json_find(&parsed, "json");
        const struct json_member *words = json_find(&parsed, "text");
        if (exit != NULL && json_whole(exit->value, &code) == ST_OK && words != NULL &&
            json_unescape(words->value, &a->text) == ST_OK) {
            a->exit = (enum ctl_exit)code;
            if (json != NULL)
                bytes_put_slice(&a->json, json->value);
            const struct json_member *stream = json_find(&parsed, "stream");
            int64_t bytes = 0;
            a->has_stream =
                stream != NULL && json_whole(stream->value, &bytes) == ST_OK;
            a->stream_bytes = (uint64_t)bytes;
            st = ST_OK;
        }
    }
    json_object_fini(&parsed);
    return st;
}

/* The options given that are for the node, as words. */
static void
put_options(const struct options *o, struct json_writer *w)
{
    char text[64];
    for (int i = 0; i < OPTION_IDS; i++) {
        const struct option_info *info = option_info((enum option_id)i);
        const void *field = (const char *)o + info->offset;
        if (!info->is_for_node || (o->given & UINT64_C(1) << i) == 0)
            continue;
        (void)snprintf(text, sizeof text, "--%s", info->name);
        json_put_string(w, NULL, text);
        if (info->type == OPTION_TYPE_NUMBER) {
            (void)snprintf(text, sizeof text, "%llu",
                           (unsigned long long)*(const uint64_t *)field);
            json_put_string(w, NULL, text);
        } else if (info->type != OPTION_TYPE_FLAG) {
            json_put_string(w, NULL, *(const char *const *)field);
        }
    }
}

static void
put_request(const struct options *o,
            int argc,
            const char *const *argv,
            struct bytes *out)
{
    struct json_writer w;
    json_write_begin(&w, out);
    json_object_begin(&w, NULL);
    json_array_begin(&w, "argv");
    for (int i = 0; i < argc; i++)
        json_put_string(&w, NULL, argv[i]);
    put_options(o, &w);
    json_array_end(&w);
    json_object_end(&w);
    bytes_put_u8(out, '\n');
}

static const char *
socket_path(const struct options *o)
{
    return o->socket != NULL ? o->socket : "/run/holdfast/control.sock";
}

enum ctl_exit
control_begin(const struct options *o, int argc, const char *const *argv, int *ret_fd)
{
    struct bytes request = {0};
    const char *path = socket_path(o);
    for (int i = 0; i < argc; i++)
        if (!utf8_is_valid(slice_from_text(argv[i])))
            return ctl_fail(o, CTL_USAGE, "the argument %d is not UTF-8 text", i + 1);
    int fd = dial(path);
    if (fd < 0)
        return ctl_fail(
            o, errno == EACCES || errno == EPERM ? CTL_DENIED : CTL_UNREACHABLE,
            "%s: %s", path, strerror(errno));
    put_request(o, argc, argv, &request);
    enum status st = send_request(fd, &request);
    bytes_fini(&request);
    if (st != ST_OK) {
        (void)close(fd);
        return ctl_fail(o, CTL_UNREACHABLE, "%s: the node hung up", path);
    }
    *ret_fd = fd;
    return CTL_DONE;
}

enum ctl_exit
control_ask(const struct options *o,
            int argc,
            const char *const *argv,
            struct control_answer *ret_answer)
{
    int fd = -1;
    struct bytes reply = {0};
    struct control_answer answer = {.exit = CTL_FAILED};
    enum ctl_exit code = control_begin(o, argc, argv, &fd);
    if (code != CTL_DONE)
        return code;
    enum status st = receive_reply(fd, o->timeout_secs + 1, &reply);
    if (st == ST_TIMEOUT)
        code = ctl_fail(o, CTL_TIMEOUT, "%s: the node does not answer", socket_path(o));
    else if (st != ST_OK)
        code = ctl_fail(o, CTL_UNREACHABLE, "%s: the node hung up", socket_path(o));
    else if (control_read_answer(slice_of(reply.data, reply.size), &answer) != ST_OK)
        code = ctl_fail(o, CTL_FAILED, "the node's answer cannot be read");
    bytes_fini(&reply);
    (void)close(fd);
    if (code == CTL_DONE)
        *ret_answer = answer;
    else
        control_answer_fini(&answer);
    return code;
}

enum ctl_exit
control_print(const struct options *o, const struct control_answer *a)
{
    if (a->exit != CTL_DONE)
        (void)ctl_fail(o, a->exit, "%.*s", (int)a->text.size,
                       (const char *)a->text.data);
    if (a->exit == CTL_DONE || (o->is_json && a->json.size > 0))
        ctl_answer(o, slice_of(a->json.data, a->json.size),
                   slice_of(a->text.data, a->text.size));
    return a->exit;
}

enum ctl_exit
ctl_control(const struct options *o, int argc, const char *const *argv)
{
    struct control_answer answer;
    enum ctl_exit code = control_ask(o, argc, argv, &answer);
    if (code != CTL_DONE)
        return code;
    code = control_print(o, &answer);
    control_answer_fini(&answer);
    return code;
}
