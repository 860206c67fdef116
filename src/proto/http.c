/* HTTP: reading the head of the one request that we take.
 *
 * Not a web server: no other method, path, version, body or connection reuse. The
 * grammar is read strictly (RFC 9112: bare LF, folded lines, blanks before a colon, NUL
 * and other controls are refused), because a proxy in front of us may read a loose text
 * in another way than we do. Names of queues are http_host.c's.
 *
 * What cannot be HTTP is refused as soon as it is seen; what is HTTP but not ours only
 * at the end of its head, so that the 400 meets a client that has said its say. */
#include "proto/http.h"

#include "base/limits.h"
#include "base/text.h"
#include "proto/extensions.h"

#include <openssl/evp.h>
#include <string.h>

#define METHOD_MAX      32
#define KEY_SIZE        24 /* 16 bytes in base64 */
#define KEY_BYTES       16
#define SHA1_BYTES      20
#define ACCEPT_SIZE     28 /* 20 bytes in base64 */
#define HOST_NAME_BYTES 255

/* What the headers said so far. */
struct head {
    struct slice host;
    struct slice key;
    struct slice origin;
    struct deflate_offer deflate;
    unsigned hosts;
    unsigned keys;
    unsigned versions;
    unsigned origins;
    bool has_upgrade;
    bool has_connection;
};

static bool
is_blank(uint8_t c)
{
    return c == ' ' || c == '\t';
}

static struct slice
trim(struct slice s)
{
    while (s.size > 0 && is_blank(s.data[0]))
        s = slice_of(s.data + 1, s.size - 1);
    while (s.size > 0 && is_blank(s.data[s.size - 1]))
        s.size--;
    return s;
}

/* Is word (in lower case) one of the items of a comma-separated list? */
static bool
list_has(struct slice list, const char *word)
{
    while (list.size > 0) {
        const uint8_t *comma = memchr(list.data, ',', list.size);
        size_t size = comma == NULL ? list.size : (size_t)(comma - list.data);
        if (http_is_same_word(trim(slice_of(list.data, size)), word))
            return true;
        size_t step = comma == NULL ? size : size + 1;
        list = slice_of(list.data + step, list.size - step);
    }
    return false;
}

static bool
is_host_char(uint8_t c)
{
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))
        return true;
    return c != 0 && strchr("-._~%!$&'()*+,;=", c) != NULL;
}

static bool
is_port(struct slice s)
{
    for (size_t i = 0; i < s.size; i++)
        if (s.data[i] < '0' || s.data[i] > '9')
            return false;
    return s.size <= 5;
}

/* Host = name [ ":" port ] or "[" IPv6 "]" [ ":" port ]; the name goes out. */
static bool
split_host(struct slice value, struct slice *ret_name)
{
    size_t size = 0;
    if (value.size > 0 && value.data[0] == '[') {
        const uint8_t *close = memchr(value.data, ']', value.size);
        if (close == NULL)
            return false;
        size = (size_t)(close - value.data) + 1;
        for (size_t i = 1; i + 1 < size; i++)
            if (value.data[i] != ':' && !is_host_char(value.data[i]))
                return false;
    } else {
        while (size < value.size && is_host_char(value.data[size]))
            size++;
    }
    if (size == 0 || size > HOST_NAME_BYTES)
        return false;
    if (size < value.size &&
        (value.data[size] != ':' ||
         !is_port(slice_of(value.data + size + 1, value.size - size - 1))))
        return false;
    *ret_name = slice_of(value.data, size);
    return true;
}

static bool
is_good_key(struct slice key)
{
    return key.size == KEY_SIZE && key.data[KEY_SIZE - 1] == '=' &&
           key.data[KEY_SIZE - 2] == '=' && base64_is_valid(key);
}

/* False: the request is refused. */
static bool
use_header(struct head *h, struct slice name, struct slice value)
{
    if (http_is_same_word(name, "host"))
        return ++h->hosts == 1 && split_host(value, &h->host);
    if (http_is_same_word(name, "upgrade")) {
        h->has_upgrade = h->has_upgrade || list_has(value, "websocket");
        return true;
    }
    if (http_is_same_word(name, "connection")) {
        h->has_connection = h->has_connection || list_has(value, "upgrade");
        return true;
    }
    if (http_is_same_word(name, "sec-websocket-version"))
        return ++h->versions == 1 && slice_equal(value, slice_of("13", 2));
    if (http_is_same_word(name, "sec-websocket-key")) {
        h->key = value;
        return ++h->keys == 1 && is_good_key(value);
    }
    if (http_is_same_word(name, "origin")) {
        h->origin = value;
        return ++h->origins == 1;
    }
    if (http_is_same_word(name, "sec-websocket-extensions")) {
        extensions_read(value, &h->deflate);
        return true;
    }
    if (http_is_same_word(name, "content-length"))
        return slice_equal(value, slice_of("0", 1));
    return !http_is_same_word(name, "transfer-encoding");
}

/* Visible characters, blanks and bytes above ASCII: no control characters. */
static bool
is_field_value(struct slice s)
{
    for (size_t i = 0; i < s.size; i++)
        if ((s.data[i] < 0x20 && s.data[i] != '\t') || s.data[i] == 0x7f)
            return false;
    return true;
}

/* One line without its end. A folded line begins with a blank, which is no name. */
static bool
read_header(struct head *h, struct slice line)
{
    size_t size = 0;
    while (size < line.size && http_is_token_char(line.data[size]))
        size++;
    if (size == 0 || size == line.size || line.data[size] != ':')
        return false;
    struct slice value = trim(slice_of(line.data + size + 1, line.size - size - 1));
    return is_field_value(value) && use_header(h, slice_of(line.data, size), value);
}

/* Takes the next line, without CR LF; text ends with one. */
static struct slice
next_line(struct slice *text)
{
    const uint8_t *end = memmem(text->data, text->size, "\r\n", 2);
    struct slice line = slice_of(text->data, (size_t)(end - text->data));
    *text = slice_of(end + 2, text->size - line.size - 2);
    return line;
}

/* head: from the request line to the CR LF of the last header. */
static bool
read_head(struct slice head, struct head *h)
{
    if (!slice_equal(next_line(&head), slice_from_text("GET / HTTP/1.1")))
        return false;
    for (unsigned count = 0; head.size > 0; count++)
        if (count == LIMIT_HTTP_HEADERS || !read_header(h, next_line(&head)))
            return false;
    return h->hosts == 1 && h->keys == 1 && h->versions == 1 && h->has_upgrade &&
           h->has_connection;
}

/* Can it not be the begin of any HTTP request? A method, then a blank; no NUL, and LF
 * only behind CR. */
static bool
is_hopeless(struct slice data)
{
    size_t method = 0;
    while (method < data.size && http_is_token_char(data.data[method]))
        method++;
    if (method > METHOD_MAX ||
        (method < data.size && (method == 0 || data.data[method] != ' ')))
        return true;
    for (size_t i = 0; i < data.size; i++)
        if (data.data[i] == 0 ||
            (data.data[i] == '\n' && (i == 0 || data.data[i - 1] != '\r')))
            return true;
    return false;
}

enum http_outcome
http_parse(struct slice data, struct http_upgrade *ret_upgrade, size_t *ret_used)
{
    size_t seen = data.size < LIMIT_HTTP_HEAD_BYTES ? data.size : LIMIT_HTTP_HEAD_BYTES;
    const uint8_t *end = seen == 0 ? NULL : memmem(data.data, seen, "\r\n\r\n", 4);
    struct slice head =
        slice_of(data.data, end == NULL ? seen : (size_t)(end - data.data) + 2);
    if (is_hopeless(head))
        return HTTP_REFUSE;
    if (end == NULL)
        return seen == LIMIT_HTTP_HEAD_BYTES ? HTTP_REFUSE : HTTP_NEED_MORE;
    struct head h = {0};
    if (!read_head(head, &h))
        return HTTP_REFUSE;
    *ret_upgrade = (struct http_upgrade){
        .host = h.host,
        .key = h.key,
        .origin = h.origin,
        .has_deflate = h.deflate.is_taken,
        .server_max_window_bits = h.deflate.is_taken ? h.deflate.server_bits : 15,
        .reply_window_bits = h.deflate.has_server_bits,
    };
    *ret_used = head.size + 2;
    return HTTP_UPGRADE;
}

/* RFC 6455 section 4.2.2, 5.4. False: the library failed. */
static bool
accept_value(struct slice key, uint8_t out[ACCEPT_SIZE])
{
    static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    uint8_t text[KEY_SIZE + sizeof(guid) - 1];
    uint8_t hash[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    if (key.size != KEY_SIZE)
        return false;
    memcpy(text, key.data, KEY_SIZE);
    memcpy(text + KEY_SIZE, guid, sizeof(guid) - 1);
    if (EVP_Digest(text, sizeof(text), hash, &size, EVP_sha1(), NULL) != 1 ||
        size != SHA1_BYTES)
        return false;
    base64_encode(slice_of(hash, SHA1_BYTES), out);
    return true;
}

void
http_accept(const struct http_upgrade *upgrade, struct bytes *out)
{
    uint8_t accept[ACCEPT_SIZE];
    if (!accept_value(upgrade->key, accept)) {
        http_refusal(out);
        return;
    }
    bytes_put_text(out, "HTTP/1.1 101 Switching Protocols\r\n"
                        "Upgrade: websocket\r\n"
                        "Connection: Upgrade\r\n"
                        "Sec-WebSocket-Accept: ");
    bytes_put(out, accept, sizeof(accept));
    if (upgrade->has_deflate)
        bytes_put_text(out, "\r\nSec-WebSocket-Extensions: permessage-deflate; "
                            "server_no_context_takeover; client_no_context_takeover");
    if (upgrade->has_deflate && upgrade->reply_window_bits) {
        bytes_put_text(out, "; server_max_window_bits=");
        bytes_put_decimal(out, upgrade->server_max_window_bits);
    }
    bytes_put_text(out, "\r\n\r\n");
}

void
http_refusal(struct bytes *out)
{
    bytes_put_text(out, "HTTP/1.1 400 Bad Request\r\n"
                        "Content-Type: text/plain\r\n"
                        "Content-Length: 12\r\n"
                        "Connection: close\r\n"
                        "Sec-WebSocket-Version: 13\r\n" /* RFC 6455 section 4.4 */
                        "\r\n"
                        "Bad request\n");
}
