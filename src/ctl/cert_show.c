/* See cert_show.h. */
#include "ctl/cert_show.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define CHAIN_MAX  32
#define TEXT_BYTES 512
#define DAY_SECS   86400

static int
no_password(char *out, int size, int is_write, void *ctx)
{
    (void)out, (void)size, (void)is_write, (void)ctx;
    return -1;
}

static void
name_text(const X509_NAME *name, char out[TEXT_BYTES])
{
    BIO *bio = BIO_new(BIO_s_mem());
    int n = 0;
    if (bio != NULL && X509_NAME_print_ex(bio, name, 0, XN_FLAG_RFC2253) >= 0)
        n = BIO_read(bio, out, TEXT_BYTES - 1);
    out[n > 0 ? n : 0] = '\0';
    BIO_free(bio);
}

/* "2026-11-30T12:00:00Z", and how many days from now; false: it cannot be read. */
static bool
time_text(const ASN1_TIME *t, char out[32], int64_t *ret_days)
{
    struct tm tm = {0};
    if (ASN1_TIME_to_tm(t, &tm) != 1)
        return false;
    (void)strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &tm);
    *ret_days = ((int64_t)timegm(&tm) - (int64_t)time(NULL)) / DAY_SECS;
    return true;
}

static void
put_name(const GENERAL_NAME *name, struct json_writer *w, struct bytes *text)
{
    char shown[TEXT_BYTES] = "";
    if (name->type == GEN_DNS) {
        (void)snprintf(shown, sizeof shown, "%.*s", ASN1_STRING_length(name->d.dNSName),
                       (const char *)ASN1_STRING_get0_data(name->d.dNSName));
    } else if (name->type == GEN_IPADD) {
        int size = ASN1_STRING_length(name->d.iPAddress);
        (void)inet_ntop(size == 4 ? AF_INET : AF_INET6,
                        ASN1_STRING_get0_data(name->d.iPAddress), shown, sizeof shown);
    }
    if (shown[0] == '\0')
        return;
    json_put_string(w, NULL, shown);
    bytes_printf(text, " %s", shown);
}

static void
put_names(X509 *cert, struct json_writer *w, struct bytes *text)
{
    GENERAL_NAMES *names = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
    json_array_begin(w, "names");
    bytes_put_text(text, "\n  names     ");
    for (int i = 0; i < sk_GENERAL_NAME_num(names); i++)
        put_name(sk_GENERAL_NAME_value(names, i), w, text);
    if (sk_GENERAL_NAME_num(names) <= 0)
        bytes_put_text(text, " none");
    json_array_end(w);
    GENERAL_NAMES_free(names);
}

static void
put_uses(X509 *cert, struct json_writer *w, struct bytes *text)
{
    uint32_t uses = X509_get_extended_key_usage(cert);
    bool is_ca = X509_check_ca(cert) == 1;
    bool is_server = !is_ca && uses != UINT32_MAX && (uses & XKU_SSL_SERVER) != 0;
    bool is_client = !is_ca && uses != UINT32_MAX && (uses & XKU_SSL_CLIENT) != 0;
    json_put_bool(w, "authority", is_ca);
    json_put_bool(w, "server", is_server);
    json_put_bool(w, "client", is_client);
    bytes_printf(text, "\n  for        %s%s%s%s", is_ca ? "signing" : "",
                 is_server ? "servers" : "", is_server && is_client ? " and " : "",
                 is_client ? "clients" : "");
}

static void
put_times(const X509 *cert, struct json_writer *w, struct bytes *text)
{
    char from[32] = "";
    char to[32] = "";
    int64_t days = 0;
    int64_t before = 0;
    bool is_good = time_text(X509_get0_notBefore(cert), from, &before) &&
                   time_text(X509_get0_notAfter(cert), to, &days);
    bool is_over = !is_good || X509_cmp_current_time(X509_get0_notAfter(cert)) < 0;
    json_put_string(w, "not_before", from);
    json_put_string(w, "not_after", to);
    json_put_i64(w, "days_left", days);
    json_put_bool(w, "expired", is_over);
    bytes_printf(text, "\n  valid      %s to %s", from, to);
    if (is_over)
        bytes_printf(text, "\n             EXPIRED %lld day%s ago", (long long)-days,
                     days == -1 ? "" : "s");
    else
        bytes_printf(text, "\n             %lld day%s left", (long long)days,
                     days == 1 ? "" : "s");
}

static void
put_fingerprint(const X509 *cert, struct json_writer *w, struct bytes *text)
{
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    char shown[2 * EVP_MAX_MD_SIZE + 1] = "";
    if (X509_digest(cert, EVP_sha256(), digest, &size) != 1)
        size = 0;
    for (unsigned i = 0; i < size; i++)
        (void)snprintf(shown + (size_t)2 * i, 3, "%02x", digest[i]);
    json_put_string(w, "sha256", shown);
    bytes_printf(text, "\n  sha256     %s", shown);
}

static void
describe(X509 *cert, struct json_writer *w, struct bytes *text)
{
    char subject[TEXT_BYTES];
    char issuer[TEXT_BYTES];
    name_text(X509_get_subject_name(cert), subject);
    name_text(X509_get_issuer_name(cert), issuer);
    json_object_begin(w, NULL);
    json_put_string(w, "subject", subject);
    json_put_string(w, "issuer", issuer);
    bytes_printf(text, "%s%s\n  issued by  %s", text->size > 0 ? "\n" : "", subject,
                 issuer);
    put_names(cert, w, text);
    put_uses(cert, w, text);
    put_times(cert, w, text);
    put_fingerprint(cert, w, text);
    json_object_end(w);
}

size_t
cert_describe(const char *pem,
              const char *key,
              struct json_writer *w,
              struct bytes *text)
{
    BIO *bio = BIO_new_mem_buf(pem, -1);
    X509 *cert;
    size_t count = 0;
    json_array_begin(w, key);
    while (count < CHAIN_MAX &&
           (cert = PEM_read_bio_X509(bio, NULL, no_password, NULL)) != NULL) {
        describe(cert, w, text);
        X509_free(cert);
        count++;
    }
    json_array_end(w);
    BIO_free(bio);
    ERR_clear_error();
    return count;
}
