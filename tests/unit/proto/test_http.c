/* Tests of proto/http: the handshake. */
#include "proto/http.h"

#include "suites.h"

#define HOST    "Host: demo.q.localhost:9443\r\n"
#define UPGRADE "Upgrade: websocket\r\nConnection: Upgrade\r\n"
#define KEY     "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
#undef VERSION /* the build's own */
#define VERSION "Sec-WebSocket-Version: 13\r\n"
#define GOOD    "GET / HTTP/1.1\r\n" HOST UPGRADE KEY VERSION

static enum http_outcome
outcome_of(struct slice request)
{
    struct http_upgrade upgrade;
    size_t used;
    /* A copy of its own, so that the sanitizer sees a read behind its end. */
    uint8_t *copy = mem_alloc(request.size);
    if (request.size > 0)
        memcpy(copy, request.data, request.size);
    enum http_outcome outcome =
        http_parse(slice_of(copy, request.size), &upgrade, &used);
    mem_free(copy);
    return outcome;
}

START_TEST(an_upgrade_is_taken_with_its_parts)
{
    struct http_upgrade upgrade;
    size_t used = 0;
    struct slice request = LITERAL(GOOD "Origin: https://example.com\r\n\r\nrest");
    ck_assert_int_eq(http_parse(request, &upgrade, &used), HTTP_UPGRADE);
    ck_assert_uint_eq(used, request.size - 4);
    ck_assert_slice_eq(upgrade.host, LITERAL("demo.q.localhost"));
    ck_assert_slice_eq(upgrade.key, LITERAL("dGhlIHNhbXBsZSBub25jZQ=="));
    ck_assert_slice_eq(upgrade.origin, LITERAL("https://example.com"));
    ck_assert(!upgrade.has_deflate && !upgrade.reply_window_bits);
}
END_TEST

START_TEST(letter_case_lists_and_blanks_do_not_matter)
{
    ck_assert_int_eq(outcome_of(LITERAL("GET / HTTP/1.1\r\nhost:a.b\r\n"
                                        "UPGRADE: h2c, WebSocket\r\n"
                                        "connection: keep-alive,\t Upgrade \r\n"
                                        "sec-websocket-key:  \t "
                                        "dGhlIHNhbXBsZSBub25jZQ==  \r\n"
                                        "SEC-WEBSOCKET-VERSION: 13\r\n\r\n")),
                     HTTP_UPGRADE);
    ck_assert_int_eq(outcome_of(LITERAL("GET / HTTP/1.1\r\n" HOST KEY VERSION
                                        "Upgrade: h2c\r\nUpgrade: websocket\r\n"
                                        "Connection: close\r\nConnection: upgrade\r\n"
                                        "\r\n")),
                     HTTP_UPGRADE);
}
END_TEST

START_TEST(each_part_of_a_head_needs_the_next)
{
    static const char request[] = GOOD "\r\n";
    for (size_t size = 0; size < sizeof(request) - 1; size++)
        ck_assert_int_eq(outcome_of(slice_of(request, size)), HTTP_NEED_MORE);
    ck_assert_int_eq(outcome_of(slice_of(request, sizeof(request) - 1)), HTTP_UPGRADE);
}
END_TEST

#define REQUEST(text)                                                                  \
    {                                                                                  \
        (const uint8_t *)(text), sizeof(text) - 1                                      \
    }

static const struct slice refused[] = {
    REQUEST("GET / HTTP/1.1\r\n" HOST "\r\n"),
    REQUEST("GET / HTTP/1.0\r\n" HOST UPGRADE KEY VERSION "\r\n"),
    REQUEST("GET / HTTP/2\r\n" HOST UPGRADE KEY VERSION "\r\n"),
    REQUEST("GET  / HTTP/1.1\r\n" HOST UPGRADE KEY VERSION "\r\n"),
    REQUEST("GET / HTTP/1.1 \r\n" HOST UPGRADE KEY VERSION "\r\n"),
    REQUEST("get / HTTP/1.1\r\n" HOST UPGRADE KEY VERSION "\r\n"),
    REQUEST("POST / HTTP/1.1\r\n" HOST UPGRADE KEY VERSION "\r\n"),
    REQUEST("HEAD / HTTP/1.1\r\n" HOST UPGRADE KEY VERSION "\r\n"),
    REQUEST("GET /a HTTP/1.1\r\n" HOST UPGRADE KEY VERSION "\r\n"),
    REQUEST("GET /?a=b HTTP/1.1\r\n" HOST UPGRADE KEY VERSION "\r\n"),
    REQUEST("GET http://demo/ HTTP/1.1\r\n" HOST UPGRADE KEY VERSION "\r\n"),
    REQUEST("GET * HTTP/1.1\r\n" HOST UPGRADE KEY VERSION "\r\n"),
    /* hosts */
    REQUEST("GET / HTTP/1.1\r\n" UPGRADE KEY VERSION "\r\n"),
    REQUEST(GOOD HOST "\r\n"),
    REQUEST("GET / HTTP/1.1\r\nHost:\r\n" UPGRADE KEY VERSION "\r\n"),
    REQUEST("GET / HTTP/1.1\r\nHost: a b\r\n" UPGRADE KEY VERSION "\r\n"),
    REQUEST("GET / HTTP/1.1\r\nHost: a/b\r\n" UPGRADE KEY VERSION "\r\n"),
    REQUEST("GET / HTTP/1.1\r\nHost: u@a\r\n" UPGRADE KEY VERSION "\r\n"),
    REQUEST("GET / HTTP/1.1\r\nHost: a:b\r\n" UPGRADE KEY VERSION "\r\n"),
    REQUEST("GET / HTTP/1.1\r\nHost: a:123456\r\n" UPGRADE KEY VERSION "\r\n"),
    REQUEST("GET / HTTP/1.1\r\nHost: [::1\r\n" UPGRADE KEY VERSION "\r\n"),
    REQUEST("GET / HTTP/1.1\r\nHost: [:/1]\r\n" UPGRADE KEY VERSION "\r\n"),
    REQUEST("GET / HTTP/1.1\r\nHost: [::1]x\r\n" UPGRADE KEY VERSION "\r\n"),
    /* upgrade, connection */
    REQUEST("GET / HTTP/1.1\r\n" HOST "Connection: upgrade\r\n" KEY VERSION "\r\n"),
    REQUEST("GET / HTTP/1.1\r\n" HOST "Upgrade: websocket\r\n" KEY VERSION "\r\n"),
    REQUEST("GET / HTTP/1.1\r\n" HOST "Upgrade: websockets\r\n"
            "Connection: upgrade\r\n" KEY VERSION "\r\n"),
    REQUEST("GET / HTTP/1.1\r\n" HOST "Upgrade: websocket\r\n"
            "Connection: close\r\n" KEY VERSION "\r\n"),
    /* versions, keys */
    REQUEST("GET / HTTP/1.1\r\n" HOST UPGRADE KEY "\r\n"),
    REQUEST("GET / HTTP/1.1\r\n" HOST UPGRADE KEY "Sec-WebSocket-Version: 12\r\n\r\n"),
    REQUEST("GET / HTTP/1.1\r\n" HOST UPGRADE KEY "Sec-WebSocket-Version: 013\r\n\r\n"),
    REQUEST("GET / HTTP/1.1\r\n" HOST UPGRADE KEY
            "Sec-WebSocket-Version: 13, 8\r\n\r\n"),
    REQUEST("GET / HTTP/1.1\r\n" HOST UPGRADE KEY "Sec-WebSocket-Version:\r\n\r\n"),
    REQUEST(GOOD VERSION "\r\n"),
    REQUEST(GOOD KEY "\r\n"),
    REQUEST("GET / HTTP/1.1\r\n" HOST UPGRADE VERSION "\r\n"),
    REQUEST("GET / HTTP/1.1\r\n" HOST UPGRADE VERSION
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ\r\n\r\n"),
    REQUEST("GET / HTTP/1.1\r\n" HOST UPGRADE VERSION
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=a\r\n\r\n"),
    REQUEST("GET / HTTP/1.1\r\n" HOST UPGRADE VERSION
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZTA=\r\n\r\n"),
    REQUEST("GET / HTTP/1.1\r\n" HOST UPGRADE VERSION
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==dGhl\r\n\r\n"),
    REQUEST("GET / HTTP/1.1\r\n" HOST UPGRADE VERSION
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25*ZQ==\r\n\r\n"),
    /* bodies */
    REQUEST(GOOD "Content-Length: 2\r\n\r\n"),
    REQUEST(GOOD "Content-Length: 0, 0\r\n\r\n"),
    REQUEST(GOOD "Content-Length: 00\r\n\r\n"),
    REQUEST(GOOD "Transfer-Encoding: chunked\r\n\r\n"),
    /* grammar */
    REQUEST(GOOD "Folded: a\r\n b\r\n\r\n"),
    REQUEST(GOOD " Folded: a\r\n\r\n"),
    REQUEST(GOOD "Blank : a\r\n\r\n"),
    REQUEST(GOOD ": a\r\n\r\n"),
    REQUEST(GOOD "NoColon\r\n\r\n"),
    REQUEST(GOOD "Na(me: a\r\n\r\n"),
    REQUEST(GOOD "Name: a\x01\r\n\r\n"),
    REQUEST(GOOD "Name: a\x7f\r\n\r\n"),
    REQUEST(GOOD "Name: a\rb\r\n\r\n"),
    REQUEST(GOOD "Name: a\0b\r\n\r\n"),
    REQUEST(GOOD "Name: a\nb: c\r\n\r\n"),
    REQUEST(GOOD "Origin: a\r\nOrigin: a\r\n\r\n"),
};

START_TEST(every_other_request_is_refused)
{
    for (size_t i = 0; i < COUNT_OF(refused); i++)
        ck_assert_msg(outcome_of(refused[i]) == HTTP_REFUSE, "taken: %.*s",
                      (int)refused[i].size, (const char *)refused[i].data);
}
END_TEST

START_TEST(what_is_harmless_is_taken)
{
    ck_assert_int_eq(outcome_of(LITERAL(GOOD "Content-Length: 0\r\n\r\n")),
                     HTTP_UPGRADE);
    ck_assert_int_eq(outcome_of(LITERAL(GOOD "Empty:\r\nTab:\ta\tb\r\n"
                                             "Latin: \xe9\r\n\r\n")),
                     HTTP_UPGRADE);
    ck_assert_int_eq(outcome_of(LITERAL(GOOD "Sec-WebSocket-Protocol: mqtt\r\n\r\n")),
                     HTTP_UPGRADE);
    ck_assert_int_eq(
        outcome_of(LITERAL("GET / HTTP/1.1\r\nHost: [::1]:443\r\n" UPGRADE KEY VERSION
                           "\r\n")),
        HTTP_UPGRADE);
    ck_assert_int_eq(outcome_of(LITERAL(
                         "GET / HTTP/1.1\r\nHost: a:\r\n" UPGRADE KEY VERSION "\r\n")),
                     HTTP_UPGRADE);
}
END_TEST

START_TEST(what_cannot_be_http_is_refused_at_once)
{
    ck_assert_int_eq(outcome_of(LITERAL("\x16\x03\x01")), HTTP_REFUSE);
    ck_assert_int_eq(outcome_of(LITERAL("\r\n")), HTTP_REFUSE);
    ck_assert_int_eq(outcome_of(LITERAL(" GET")), HTTP_REFUSE);
    ck_assert_int_eq(outcome_of(LITERAL("GET\t")), HTTP_REFUSE);
    ck_assert_int_eq(outcome_of(LITERAL("{\"username\"")), HTTP_REFUSE);
    ck_assert_int_eq(outcome_of(LITERAL("GET / HTTP/1.1\n")), HTTP_REFUSE);
    ck_assert_int_eq(outcome_of(LITERAL("GET / HTTP/1.1\r\nA: \0")), HTTP_REFUSE);
    char *long_method = repeat("A", 33);
    ck_assert_int_eq(outcome_of(slice_of(long_method, 33)), HTTP_REFUSE);
    ck_assert_int_eq(outcome_of(slice_of(long_method, 32)), HTTP_NEED_MORE);
    mem_free(long_method);
}
END_TEST

/* GOOD with count headers in all, or padded to size bytes. */
static void
put_request(struct bytes *b, unsigned headers, size_t size)
{
    bytes_put_text(b, GOOD);
    for (unsigned i = 5; i < headers; i++)
        bytes_printf(b, "H%u: x\r\n", i);
    if (size > 0) {
        bytes_put_text(b, "Pad: ");
        while (b->size < size - 4)
            bytes_put_u8(b, 'x');
        bytes_put_text(b, "\r\n");
    }
    bytes_put_text(b, "\r\n");
}

START_TEST(heads_and_headers_are_limited)
{
    struct bytes b = {NULL, 0, 0};
    put_request(&b, LIMIT_HTTP_HEADERS, 0);
    ck_assert_int_eq(outcome_of(slice_of(b.data, b.size)), HTTP_UPGRADE);
    bytes_clear(&b);
    put_request(&b, LIMIT_HTTP_HEADERS + 1, 0);
    ck_assert_int_eq(outcome_of(slice_of(b.data, b.size)), HTTP_REFUSE);
    bytes_clear(&b);
    put_request(&b, 0, LIMIT_HTTP_HEAD_BYTES);
    ck_assert_uint_eq(b.size, LIMIT_HTTP_HEAD_BYTES);
    ck_assert_int_eq(outcome_of(slice_of(b.data, b.size)), HTTP_UPGRADE);
    ck_assert_int_eq(outcome_of(slice_of(b.data, b.size - 1)), HTTP_NEED_MORE);
    bytes_clear(&b);
    put_request(&b, 0, LIMIT_HTTP_HEAD_BYTES + 1);
    ck_assert_int_eq(outcome_of(slice_of(b.data, b.size)), HTTP_REFUSE);
    ck_assert_int_eq(outcome_of(slice_of(b.data, LIMIT_HTTP_HEAD_BYTES)), HTTP_REFUSE);
    bytes_clear(&b);
    put_request(&b, 2000, 0);
    ck_assert_int_eq(outcome_of(slice_of(b.data, b.size)), HTTP_REFUSE);
    bytes_fini(&b);
}
END_TEST

static void
accept_text(const char *extensions, struct bytes *out)
{
    struct bytes request = {NULL, 0, 0};
    struct http_upgrade upgrade;
    size_t used;
    bytes_put_text(&request, GOOD);
    bytes_put_text(&request, extensions);
    bytes_put_text(&request, "\r\n");
    ck_assert_int_eq(http_parse(slice_of(request.data, request.size), &upgrade, &used),
                     HTTP_UPGRADE);
    http_accept(&upgrade, out);
    bytes_fini(&request);
}

START_TEST(the_answer_has_the_accept_value_of_the_rfc)
{
    struct bytes out = {NULL, 0, 0};
    accept_text("", &out);
    ck_assert_str_eq(text_of(&out),
                     "HTTP/1.1 101 Switching Protocols\r\n"
                     "Upgrade: websocket\r\n"
                     "Connection: Upgrade\r\n"
                     "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"
                     "\r\n");
    bytes_fini(&out);
}
END_TEST

START_TEST(the_answer_agrees_to_deflate_without_context)
{
    struct bytes out = {NULL, 0, 0};
    accept_text("Sec-WebSocket-Extensions: permessage-deflate; "
                "client_max_window_bits\r\n",
                &out);
    ck_assert_ptr_nonnull(strstr(text_of(&out),
                                 "\r\nSec-WebSocket-Extensions: permessage-deflate; "
                                 "server_no_context_takeover; "
                                 "client_no_context_takeover\r\n\r\n"));
    bytes_clear(&out);
    accept_text("Sec-WebSocket-Extensions: foo\r\n"
                "Sec-WebSocket-Extensions: permessage-deflate; "
                "server_max_window_bits=10\r\n",
                &out);
    ck_assert_ptr_nonnull(strstr(text_of(&out), "; client_no_context_takeover; "
                                                "server_max_window_bits=10\r\n\r\n"));
    bytes_fini(&out);
}
END_TEST

START_TEST(a_refusal_is_a_whole_response)
{
    struct bytes out = {NULL, 0, 0};
    http_refusal(&out);
    const char *text = text_of(&out);
    ck_assert_int_eq(strncmp(text, "HTTP/1.1 400 ", 13), 0);
    ck_assert_ptr_nonnull(strstr(text, "\r\nConnection: close\r\n"));
    const char *body = strstr(text, "\r\n\r\n");
    const char *length = strstr(text, "\r\nContent-Length: ");
    ck_assert(body != NULL && length != NULL);
    ck_assert_uint_eq(strlen(body + 4), strtoul(length + 18, NULL, 10));
    bytes_fini(&out);
}
END_TEST

Suite *
suite_http(void)
{
    const TTest *const tests[] = {
        an_upgrade_is_taken_with_its_parts,
        letter_case_lists_and_blanks_do_not_matter,
        each_part_of_a_head_needs_the_next,
        every_other_request_is_refused,
        what_is_harmless_is_taken,
        what_cannot_be_http_is_refused_at_once,
        heads_and_headers_are_limited,
        the_answer_has_the_accept_value_of_the_rfc,
        the_answer_agrees_to_deflate_without_context,
        a_refusal_is_a_whole_response,
    };
    return suite_of("http", tests, COUNT_OF(tests));
}
