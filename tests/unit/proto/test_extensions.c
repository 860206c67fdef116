/* Tests of proto/extensions: which offers of compression are taken. */
#include "proto/extensions.h"

#include "suites.h"

#define D "permessage-deflate"

static struct deflate_offer
read_value(const char *value)
{
    struct deflate_offer offer = {.is_taken = false};
    extensions_read(slice_from_text(value), &offer);
    return offer;
}

START_TEST(good_offers_are_taken)
{
    static const struct {
        const char *value;
        uint8_t bits;
        bool has_bits;
    } cases[] = {
        {D, 15, false},
        {"Permessage-Deflate", 15, false},
        {"  " D "  ", 15, false},
        {D "; client_max_window_bits", 15, false},
        {D "; client_max_window_bits=8", 15, false},
        {D ";client_max_window_bits=\"15\"", 15, false},
        {D "; server_max_window_bits=9", 9, true},
        {D "; server_max_window_bits=15", 15, true},
        {D " ; server_max_window_bits = \"12\" ", 12, true},
        {D "; server_max_window_bits=\"1\\1\"", 11, true},
        {D "; server_no_context_takeover; client_no_context_takeover; "
           "server_max_window_bits=10; client_max_window_bits=10",
         10, true},
        {"x-webkit-deflate-frame, " D, 15, false},
        {"foo; bar=baz; qux, " D "; server_max_window_bits=13", 13, true},
        /* the first that can be taken */
        {D "; server_max_window_bits=8, " D "; server_max_window_bits=9, " D, 9, true},
        {D "; unknown, " D, 15, false},
        {D ", " D "; server_max_window_bits=9", 15, false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct deflate_offer offer = read_value(cases[i].value);
        ck_assert_msg(offer.is_taken, "declined: %s", cases[i].value);
        ck_assert_uint_eq(offer.server_bits, cases[i].bits);
        ck_assert(offer.has_server_bits == cases[i].has_bits);
    }
}
END_TEST

START_TEST(bad_offers_are_declined)
{
    static const char *const cases[] = {
        "",
        "foo",
        D "x",
        D "; unknown",
        D "; server_no_context_takeover=1",
        D "; client_no_context_takeover=true",
        D "; server_no_context_takeover; server_no_context_takeover",
        D "; client_max_window_bits; client_max_window_bits",
        D "; server_max_window_bits=10; server_max_window_bits=10",
        D "; server_max_window_bits",
        D "; server_max_window_bits=8",
        D "; server_max_window_bits=7",
        D "; server_max_window_bits=16",
        D "; server_max_window_bits=010",
        D "; server_max_window_bits=1a",
        D "; server_max_window_bits=1000000000000000000000",
        D "; client_max_window_bits=7",
        D "; client_max_window_bits=16",
        D "; client_max_window_bits=x",
        /* not the grammar */
        D ";",
        D ";;",
        D ",",
        "," D,
        D "; =1",
        D "; server_max_window_bits=",
        D "; server_max_window_bits=\"",
        D "; server_max_window_bits=\"12",
        D "; server_max_window_bits=\"12\\",
        D "; server_max_window_bits=\"\"",
        "foo; bar=\"b,az\", " D, /* no token in the quotes */
        D " extra",
        D "/1",
        "=",
        ";",
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        ck_assert_msg(!read_value(cases[i]).is_taken, "taken: %s", cases[i]);
}
END_TEST

START_TEST(the_first_header_with_a_good_offer_counts)
{
    struct deflate_offer offer = {.is_taken = false};
    extensions_read(LITERAL(D "; unknown"), &offer);
    ck_assert(!offer.is_taken);
    extensions_read(LITERAL(D "; server_max_window_bits=11"), &offer);
    extensions_read(LITERAL(D), &offer);
    extensions_read(LITERAL(D ";"), &offer);
    ck_assert(offer.is_taken && offer.has_server_bits);
    ck_assert_uint_eq(offer.server_bits, 11);
}
END_TEST

Suite *
suite_extensions(void)
{
    const TTest *const tests[] = {
        good_offers_are_taken,
        bad_offers_are_declined,
        the_first_header_with_a_good_offer_counts,
    };
    return suite_of("extensions", tests, COUNT_OF(tests));
}
