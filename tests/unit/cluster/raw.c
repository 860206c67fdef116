/* Raw: see raw.h. */
#include "raw.h"

#include <assert.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_NS 2000000000u

/* Turns the loop until the call may be worth trying again; false: patience is over. */
static bool
turn(struct raw *raw, int result, uint64_t began_ns)
{
    int error = SSL_get_error(raw->ssl, result);
    if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE)
        return false;
    uv_run(&raw->rig->loop, UV_RUN_NOWAIT);
    return rig_now_ns() - began_ns < PATIENCE_NS;
}

bool
raw_connect(struct raw *raw, struct rig *rig, unsigned to, unsigned as)
{
    raw->rig = rig;
    raw->context = SSL_CTX_new(TLS_client_method());
    assert(raw->context != NULL);
    if (as != 0) {
        int is_good =
            SSL_CTX_use_certificate_file(raw->context, rig_path(rig, as, ".crt"),
                                         SSL_FILETYPE_PEM) == 1 &&
            SSL_CTX_use_PrivateKey_file(raw->context, rig_path(rig, as, ".key"),
                                        SSL_FILETYPE_PEM) == 1;
        assert(is_good);
    }
    raw->fd = rig_socket(rig, to);
    raw->ssl = SSL_new(raw->context);
    SSL_set_fd(raw->ssl, raw->fd);
    uint64_t began_ns = rig_now_ns();
    int result;
    while ((result = SSL_connect(raw->ssl)) != 1) {
        if (!turn(raw, result, began_ns))
            return false;
    }
    return true;
}

void
raw_close(struct raw *raw)
{
    SSL_free(raw->ssl);
    SSL_CTX_free(raw->context);
    close(raw->fd);
}

void
raw_send(struct raw *raw, struct slice bytes)
{
    uint64_t began_ns = rig_now_ns();
    while (bytes.size > 0) {
        int count = SSL_write(raw->ssl, bytes.data, (int)bytes.size);
        if (count > 0)
            bytes = slice_of(bytes.data + count, bytes.size - (size_t)count);
        else if (!turn(raw, count, began_ns))
            return;
    }
}

static bool
read_exactly(struct raw *raw, uint8_t *out, uint32_t size)
{
    uint64_t began_ns = rig_now_ns();
    for (uint32_t done = 0; done < size;) {
        int count = SSL_read(raw->ssl, out + done, (int)(size - done));
        if (count > 0)
            done += (uint32_t)count;
        else if (!turn(raw, count, began_ns))
            return false;
    }
    return true;
}

bool
raw_read(struct raw *raw, uint8_t *ret_kind, uint8_t body[4096], uint32_t *ret_size)
{
    uint8_t head[FRAME_HEAD_BYTES];
    struct frame_head parsed;
    if (!read_exactly(raw, head, sizeof head) ||
        frame_head_read(head, 4096, &parsed) != ST_OK ||
        !read_exactly(raw, body, parsed.size) ||
        frame_check(head, slice_of(body, parsed.size)) != ST_OK)
        return false;
    *ret_kind = parsed.kind;
    *ret_size = parsed.size;
    return true;
}

bool
raw_is_ended(struct raw *raw)
{
    uint8_t byte;
    uint64_t began_ns = rig_now_ns();
    for (;;) {
        int count = SSL_read(raw->ssl, &byte, 1);
        if (count > 0)
            continue;
        int error = SSL_get_error(raw->ssl, count);
        if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE)
            return true;
        uv_run(&raw->rig->loop, UV_RUN_NOWAIT);
        if (rig_now_ns() - began_ns > PATIENCE_NS)
            return false;
    }
}

struct frame_hello
raw_hello(unsigned id)
{
    struct frame_hello hello = {.version = FRAME_VERSION, .node = id};
    memset(hello.cluster_id, 0xc1, sizeof hello.cluster_id);
    memset(hello.relay_key, 0x11, sizeof hello.relay_key);
    strcpy(hello.client_address, "raw:1");
    return hello;
}

void
raw_put_hello(struct bytes *out, unsigned id)
{
    struct bytes body = {0};
    struct frame_hello hello = raw_hello(id);
    frame_hello_put(&body, &hello);
    frame_put(out, FRAME_HELLO, slice_of(body.data, body.size));
    bytes_fini(&body);
}

bool
raw_greet(struct raw *raw, unsigned id)
{
    struct bytes out = {0};
    uint8_t kind = 0;
    uint8_t body[4096];
    uint32_t size;
    raw_put_hello(&out, id);
    raw_send(raw, slice_of(out.data, out.size));
    bytes_fini(&out);
    return raw_read(raw, &kind, body, &size) && kind == FRAME_HELLO;
}
