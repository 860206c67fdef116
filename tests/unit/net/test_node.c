/* Tests of what the node does with its net: routes, certificates, ports, drain,
 * traffic, and having no descriptors left. */
#include "certificate.h"
#include "client.h"
#include "rig.h"
#include "suites.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static struct rig rig;
static struct client client;

static void
set_up(void)
{
    struct rig_options options = {.threads = 2};
    rig_open(&rig, &options);
}

static void
tear_down(void)
{
    client_free(&client);
    AWAIT(rig_counts(&rig).open_clients == 0);
    AWAIT(rig_counts(&rig).pending_logins == 0);
    rig_close(&rig);
}

START_TEST(clients_are_closed_without_a_reply_when_this_node_no_longer_leads)
{
    client_login(&client, rig.port, "publisher");
    rig_hold(&rig);
    ck_assert(client_send_text(&client, PUBLISH));
    rig_await_held(&rig, 1);
    rig_no_route(&rig);
    rig_release(&rig);
    ck_assert_int_eq(client_read(&client).opcode, -1);
    rig_await_closed(&rig, 1);
    client_free(&client);
    rig_serve(&rig);
    client_login(&client, rig.port, "publisher");
}
END_TEST

START_TEST(clients_of_all_threads_are_served)
{
    struct client others[4];
    for (int i = 0; i < 4; i++)
        client_login(&others[i], rig.port, "publisher");
    for (int i = 0; i < 4; i++) {
        ck_assert(client_send_text(&others[i], PUBLISH));
        client_expect(&others[i], LOGIN_OK);
        client_free(&others[i]);
    }
    rig_await_closed(&rig, 4);
}
END_TEST

START_TEST(a_port_in_use_is_told)
{
    static const char *addresses[1];
    char address[64];
    char cert[96];
    char key_file[96];
    uint8_t key[32] = {0};
    snprintf(address, sizeof(address), "127.0.0.1:%u", rig.port);
    snprintf(cert, sizeof(cert), "%s/cert.pem", rig.dir);
    snprintf(key_file, sizeof(key_file), "%s/key.pem", rig.dir);
    addresses[0] = address;
    struct net_options options = {
        .node = 2,
        .listen_addresses = addresses,
        .listen_count = 1,
        .cert_file = cert,
        .key_file = key_file,
        .default_queue = "",
        .queue_domain = "",
        .allowed_origins = "",
        .threads = 1,
        .relay_key = key,
        .names = {"", ""},
        .core_box = &rig.core_box,
    };
    struct net *n = NULL;
    ck_assert_int_eq(net_open(&options, &n), ST_EXISTS);
    addresses[0] = "nonsense";
    ck_assert_int_eq(net_open(&options, &n), ST_INVALID);
    addresses[0] = address;
    options.cert_file = "/nowhere/cert.pem";
    ck_assert_int_eq(net_open(&options, &n), ST_INVALID);
    ck_assert_ptr_null(n);
}
END_TEST

/* The serial of the certificate's key, to tell two apart. */
static unsigned long
fingerprint(void)
{
    client_connect(&client, rig.port);
    client_tls(&client);
    X509 *cert = SSL_get1_peer_certificate(client.ssl);
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    ck_assert_int_eq(X509_digest(cert, EVP_sha256(), digest, &size), 1);
    X509_free(cert);
    client_free(&client);
    unsigned long out;
    memcpy(&out, digest, sizeof(out));
    return out;
}

START_TEST(certificates_are_swapped_whole_or_not_at_all)
{
    struct client before;
    client_login(&before, rig.port, "publisher");
    unsigned long first = fingerprint();
    certificate_make(rig.dir, -10, -1); /* expired */
    ck_assert_int_eq(net_reload_certificates(rig.net), ST_INVALID);
    ck_assert_uint_eq(fingerprint(), first);
    certificate_make(rig.dir, 1, 30); /* not yet */
    ck_assert_int_eq(net_reload_certificates(rig.net), ST_INVALID);
    char path[96];
    snprintf(path, sizeof(path), "%s/key.pem", rig.dir);
    certificate_make(rig.dir, -1, 60);
    FILE *out = fopen(path, "w"); /* no key in it */
    fclose(out);
    ck_assert_int_eq(net_reload_certificates(rig.net), ST_INVALID);
    ck_assert_uint_eq(fingerprint(), first);
    certificate_make(rig.dir, -1, 60);
    ck_assert_int_eq(net_reload_certificates(rig.net), ST_OK);
    ck_assert_uint_ne(fingerprint(), first);
    uint64_t expires = net_certificate_expires_secs(rig.net);
    ck_assert_uint_gt(expires, (uint64_t)time(NULL) + 59 * 86400);
    /* Who was connected goes on. */
    ck_assert(client_send_text(&before, PUBLISH));
    client_expect(&before, LOGIN_OK);
    client_free(&before);
}
END_TEST

START_TEST(old_tls_and_weak_ciphers_are_refused)
{
    client_connect(&client, rig.port);
    client.context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_max_proto_version(client.context, TLS1_1_VERSION);
    SSL_CTX_set_cipher_list(client.context, "ALL:@SECLEVEL=0");
    client.ssl = SSL_new(client.context);
    SSL_set_fd(client.ssl, client.fd);
    ck_assert_int_ne(SSL_connect(client.ssl), 1);
    client_free(&client);
    client_connect(&client, rig.port);
    client.context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_max_proto_version(client.context, TLS1_2_VERSION);
    SSL_CTX_set_cipher_list(client.context, "ECDHE-ECDSA-AES128-SHA256:AES128-SHA");
    client.ssl = SSL_new(client.context);
    SSL_set_fd(client.ssl, client.fd);
    ck_assert_int_ne(SSL_connect(client.ssl), 1);
}
END_TEST

START_TEST(tls_1_2_is_served)
{
    client_connect(&client, rig.port);
    client.context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_max_proto_version(client.context, TLS1_2_VERSION);
    client.ssl = SSL_new(client.context);
    SSL_set_fd(client.ssl, client.fd);
    ck_assert_int_eq(SSL_connect(client.ssl), 1);
    ck_assert_int_ne(SSL_renegotiate(client.ssl), 0);
    (void)SSL_do_handshake(client.ssl); /* is not answered with a new handshake */
    ck_assert_int_eq(SSL_get_secure_renegotiation_support(client.ssl), 1);
}
END_TEST

START_TEST(a_drain_closes_all_within_its_time)
{
    struct client many[20];
    for (int i = 0; i < 20; i++)
        client_login(&many[i], rig.port, "publisher");
    uint64_t start = test_now_ms();
    net_drain(rig.net, 1000);
    rig_await_closed(&rig, 1); /* the first goes early */
    ck_assert_uint_lt(test_now_ms() - start, 700);
    for (int i = 0; i < 20; i++) {
        client_expect_end(&many[i]);
        client_free(&many[i]);
    }
    ck_assert_uint_ge(test_now_ms() - start, 500);
    ck_assert_uint_lt(test_now_ms() - start, 2500);
    rig_await_closed(&rig, 20);
}
END_TEST

START_TEST(traffic_of_a_queue_is_counted_with_tls)
{
    uint64_t sent = 0;
    uint64_t received = 0;
    client_login(&client, rig.port, "publisher");
    ck_assert_int_eq(net_get_traffic(rig.net, RIG_QUEUE, &sent, &received), ST_OK);
    ck_assert_uint_gt(sent, 500); /* the handshake too */
    ck_assert_uint_gt(received, 300);
    uint64_t before = received;
    static char body[10000];
    memset(body, 'x', sizeof(body));
    ck_assert(client_send_frame(&client, FRAME_TEXT, body, sizeof(body)));
    client_expect(&client, LOGIN_OK);
    ck_assert_int_eq(net_get_traffic(rig.net, RIG_QUEUE, &sent, &received), ST_OK);
    ck_assert_uint_ge(received - before, sizeof(body));
    ck_assert_uint_lt(received - before, sizeof(body) + 300);
    ck_assert_int_eq(net_get_traffic(rig.net, 99, &sent, &received), ST_NOTFOUND);
    /* What the sockets of the node passed is the same: there is one client. */
    AWAIT(rig_counts(&rig).received_bytes_total == received);
}
END_TEST

START_TEST(without_descriptors_accepting_pauses_and_goes_on)
{
    struct rlimit old;
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
    client_login(&client, rig.port, "publisher");
    /* Clients of this process need descriptors as well: take all but a few. */
    struct rlimit low = {.rlim_cur = 128, .rlim_max = old.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
    struct client waiting;
    client_connect(&waiting, rig.port); /* accepted before the rest is taken */
    AWAIT(rig_counts(&rig).pending_logins == 1);
    int sockets[128];
    int count = 0;
    int last = socket(AF_INET, SOCK_STREAM, 0);
    while ((sockets[count] = dup(STDERR_FILENO)) >= 0)
        count++;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(rig.port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ck_assert_int_eq(connect(last, (struct sockaddr *)&to, sizeof(to)), 0);
    char byte;
    ck_assert_int_le(recv(last, &byte, 1, 0), 0);  /* closed by the reserve */
    ck_assert(client_send_text(&client, PUBLISH)); /* others are served */
    client_expect(&client, LOGIN_OK);
    close(last);
    for (int i = 0; i < count; i++)
        close(sockets[i]);
    client_free(&waiting);
    struct client later;
    client_login(&later, rig.port, "publisher");
    client_free(&later);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
}
END_TEST

START_TEST(a_net_can_be_closed_with_everything_open)
{
    struct client many[10];
    for (int i = 0; i < 10; i++) {
        if (i % 2 == 0)
            client_login(&many[i], rig.port, "subscriber");
        else
            client_connect(&many[i], rig.port);
    }
    rig_close(&rig);
    for (int i = 0; i < 10; i++)
        client_free(&many[i]);
    set_up();
}
END_TEST

Suite *
suite_node(void)
{
    Suite *s = suite_create("node");
    TCase *t = tcase_create("node");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t,
                   clients_are_closed_without_a_reply_when_this_node_no_longer_leads);
    tcase_add_test(t, clients_of_all_threads_are_served);
    tcase_add_test(t, a_port_in_use_is_told);
    tcase_add_test(t, certificates_are_swapped_whole_or_not_at_all);
    tcase_add_test(t, old_tls_and_weak_ciphers_are_refused);
    tcase_add_test(t, tls_1_2_is_served);
    tcase_add_test(t, a_drain_closes_all_within_its_time);
    tcase_add_test(t, traffic_of_a_queue_is_counted_with_tls);
    tcase_add_test(t, without_descriptors_accepting_pauses_and_goes_on);
    tcase_add_test(t, a_net_can_be_closed_with_everything_open);
    suite_add_tcase(s, t);
    return s;
}
