/* Who is let in: certificates, names, cluster ids, members; and reloading. */
#include "test_cluster.h"

#include "raw.h"

#include <stdio.h>
#include <string.h>

static struct rig rig;

static void
setup(void)
{
    rig_init(&rig);
}

static void
teardown(void)
{
    rig_fini(&rig);
}

/* Runs until the log says why; then neither way between 1 and 2 may be up. */
static void
expect_refused(const char *why)
{
    ck_assert_msg(rig_logs(&rig, why), "not logged: %s", why);
    rig_idle(&rig, 100);
    ck_assert(!rig_is_up(&rig, 1, 2));
    ck_assert(!rig_is_up(&rig, 2, 1));
    ck_assert_uint_eq(rig.nodes[1].ups[2] + rig.nodes[2].ups[1], 0);
}

static void
issue(unsigned id, const struct test_cert *cert)
{
    test_ca_issue(&rig.ca, cert, rig_path(&rig, id, ".crt"),
                  rig_path(&rig, id, ".key"));
}

START_TEST(another_ca_is_refused)
{
    struct test_ca other;
    test_ca_init(&other, "Other CA");
    test_ca_write(&other, rig_path(&rig, 2, ".ca"));
    test_ca_issue_node(&other, 2, rig_path(&rig, 2, ".crt"), rig_path(&rig, 2, ".key"));
    test_ca_fini(&other);
    struct cluster_options options = rig_options(&rig, 2);
    options.ca_file = rig_path(&rig, 2, ".ca");
    rig_start(&rig, 1);
    ck_assert_int_eq(rig_start_with(&rig, &options), ST_OK);
    expect_refused("unable to get local issuer certificate");
}
END_TEST

START_TEST(an_imitated_ca_of_the_same_name_is_refused)
{
    struct test_ca other;
    test_ca_init(&other, "Test CA");
    test_ca_write(&other, rig_path(&rig, 2, ".ca"));
    test_ca_issue_node(&other, 2, rig_path(&rig, 2, ".crt"), rig_path(&rig, 2, ".key"));
    test_ca_fini(&other);
    struct cluster_options options = rig_options(&rig, 2);
    options.ca_file = rig_path(&rig, 2, ".ca");
    rig_start(&rig, 1);
    ck_assert_int_eq(rig_start_with(&rig, &options), ST_OK);
    expect_refused("certificate signature failure");
}
END_TEST

START_TEST(the_address_of_another_node_is_noticed)
{
    /* Node 3 answers where node 2 is expected. */
    struct cluster_options options = rig_options(&rig, 1);
    memcpy(options.members.members[1].address, options.members.members[2].address, 128);
    options.members.count = 2;
    ck_assert_int_eq(rig_start_with(&rig, &options), ST_OK);
    rig_start(&rig, 3);
    expect_refused("its certificate is not that of the node we dialled");
}
END_TEST

START_TEST(a_node_cannot_claim_the_id_of_another)
{
    struct raw raw;
    uint8_t kind = 0;
    uint8_t body[4096];
    uint32_t size;
    struct bytes out = {0};
    rig_start(&rig, 1);
    ck_assert(raw_connect(&raw, &rig, 1, 3));
    raw_put_hello(&out, 2);
    raw_send(&raw, slice_of(out.data, out.size));
    bytes_fini(&out);
    ck_assert(raw_read(&raw, &kind, body, &size));
    ck_assert_uint_eq(kind, FRAME_REFUSAL);
    ck_assert_uint_eq(body[0], FRAME_REFUSE_NAME);
    ck_assert(raw_is_ended(&raw));
    ck_assert(rig_logs(&rig, "refused hello of node 2: certificate is of another"));
    raw_close(&raw);
}
END_TEST

/* Starts node 1 and greets it with hello, as node 3; the code of its refusal. */
static int
greet_changed(const struct frame_hello *hello)
{
    struct raw raw;
    uint8_t kind = 0;
    uint8_t code[4096];
    uint32_t size;
    struct bytes body = {0};
    struct bytes out = {0};
    rig_start(&rig, 1);
    ck_assert(raw_connect(&raw, &rig, 1, 3));
    frame_hello_put(&body, hello);
    frame_put(&out, FRAME_HELLO, slice_of(body.data, body.size));
    raw_send(&raw, slice_of(out.data, out.size));
    bytes_fini(&body);
    bytes_fini(&out);
    ck_assert(raw_read(&raw, &kind, code, &size));
    if (kind == FRAME_REFUSAL)
        ck_assert(raw_is_ended(&raw));
    raw_close(&raw);
    return kind == FRAME_REFUSAL && size == 1 ? code[0] : 0;
}

START_TEST(a_proper_hello_is_answered)
{
    struct frame_hello hello = raw_hello(3);
    ck_assert_int_eq(greet_changed(&hello), 0);
    struct cluster_peer_info info;
    ck_assert_int_eq(cluster_peer(rig.nodes[1].cluster, 3, &info), ST_OK);
    ck_assert_str_eq(info.client_address, "raw:1");
}
END_TEST

START_TEST(an_old_version_is_refused_by_name)
{
    struct frame_hello hello = raw_hello(3);
    hello.version = 0;
    ck_assert_int_eq(greet_changed(&hello), FRAME_REFUSE_VERSION);
    ck_assert(rig_logs(&rig, "node 3: protocol version not spoken"));
}
END_TEST

START_TEST(a_newer_version_is_talked_to)
{
    struct frame_hello hello = raw_hello(3);
    hello.version = 9;
    ck_assert_int_eq(greet_changed(&hello), 0);
}
END_TEST

START_TEST(another_cluster_id_is_refused_by_name_on_both_sides)
{
    struct cluster_options options = rig_options(&rig, 2);
    options.cluster_id[15] ^= 1;
    rig_start(&rig, 1);
    ck_assert_int_eq(rig_start_with(&rig, &options), ST_OK);
    expect_refused("refused hello of node 2: another cluster id");
    ck_assert(rig_logs(&rig, "it refused us: another cluster id"));
    /* Each distinct line once in ten seconds, however often it happens. */
    ck_assert_uint_eq(rig_count_logged(&rig, "refused hello of node 2"), 1);
}
END_TEST

START_TEST(a_node_that_is_no_member_is_refused_by_name)
{
    struct cluster_options options = rig_options(&rig, 1);
    options.members.members[1] = options.members.members[2];
    options.members.count = 2;
    ck_assert_int_eq(rig_start_with(&rig, &options), ST_OK);
    rig_start(&rig, 2);
    expect_refused("refused hello of node 2: not a member");
}
END_TEST

START_TEST(a_voter_that_has_lost_its_data_is_refused_by_name)
{
    struct cluster_options options = rig_options(&rig, 2);
    options.features = CLUSTER_FEATURE_BLANK;
    rig_start(&rig, 1);
    ck_assert_int_eq(rig_start_with(&rig, &options), ST_OK);
    expect_refused("refused hello of node 2: a voter without its data");
}
END_TEST

START_TEST(a_stand_by_that_has_nothing_yet_is_let_in)
{
    struct cluster_options one = rig_options(&rig, 1);
    struct cluster_options two = rig_options(&rig, 2);
    one.members.members[1].is_voter = false;
    two.features = CLUSTER_FEATURE_BLANK | CLUSTER_FEATURE_LEVEL(2);
    ck_assert_int_eq(rig_start_with(&rig, &one), ST_OK);
    ck_assert_int_eq(rig_start_with(&rig, &two), ST_OK);
    struct cluster_peer_info info = {0};
    ck_assert(rig_connect(&rig, 1, 2));
    ck_assert_int_eq(cluster_peer(rig.nodes[1].cluster, 2, &info), ST_OK);
    ck_assert_uint_eq(cluster_feature_level(info.features), 2);
    ck_assert_uint_eq(cluster_feature_level(0), 1);
}
END_TEST

START_TEST(nodes_restored_from_different_backups_refuse_each_other_by_name)
{
    struct cluster_options one = rig_options(&rig, 1);
    struct cluster_options two = rig_options(&rig, 2);
    one.features = CLUSTER_FEATURE_ORIGIN(7u);
    two.features = CLUSTER_FEATURE_ORIGIN(8u);
    ck_assert_int_eq(rig_start_with(&rig, &one), ST_OK);
    ck_assert_int_eq(rig_start_with(&rig, &two), ST_OK);
    expect_refused("refused hello of node 2: restored from another backup");
}
END_TEST

START_TEST(nodes_of_one_backup_and_one_that_joined_later_are_let_in)
{
    struct cluster_options one = rig_options(&rig, 1);
    struct cluster_options two = rig_options(&rig, 2);
    one.features = two.features = CLUSTER_FEATURE_ORIGIN(0xffffffffu);
    ck_assert_int_eq(rig_start_with(&rig, &one), ST_OK);
    ck_assert_int_eq(rig_start_with(&rig, &two), ST_OK);
    rig_start(&rig, 3);
    ck_assert(rig_connect(&rig, 1, 2));
    ck_assert(rig_connect(&rig, 1, 3));
}
END_TEST

/* It may be the leader that has for us the entry in which it stands. */
START_TEST(a_node_that_knows_later_members_is_a_guest_until_we_know_them_too)
{
    struct cluster_options one = rig_options(&rig, 1);
    struct cluster_options two = rig_options(&rig, 2);
    two.cluster_address = two.members.members[1].address;
    one.members.members[1] = one.members.members[2];
    one.members.count = 2;
    ck_assert_int_eq(rig_start_with(&rig, &one), ST_OK);
    ck_assert_int_eq(rig_start_with(&rig, &two), ST_OK);
    cluster_set_members_index(rig.nodes[2].cluster, 9);
    ck_assert(rig_connect(&rig, 1, 2));
    cluster_set_members(rig.nodes[1].cluster, &one.members); /* an old entry */
    ck_assert(rig_is_up(&rig, 1, 2));
    cluster_set_members_index(rig.nodes[1].cluster, 9);
    cluster_set_members(rig.nodes[1].cluster, &one.members); /* it is not among them */
    ck_assert(!rig_is_up(&rig, 1, 2));
    ck_assert(rig_logs(&rig, "refused hello of node 2: not a member"));
}
END_TEST

START_TEST(a_twin_of_ourselves_is_refused_by_name)
{
    struct raw raw;
    rig_start(&rig, 1);
    ck_assert(raw_connect(&raw, &rig, 1, 1));
    ck_assert(!raw_greet(&raw, 1));
    ck_assert(rig_logs(&rig, "node 1: claims the id of this very node"));
    raw_close(&raw);
}
END_TEST

/* Node 2 can only be tested from outside when its own start would refuse the files. */
static void
expect_raw_refused(const struct test_cert *cert, const char *why)
{
    struct raw raw;
    issue(3, cert);
    rig_start(&rig, 1);
    if (raw_connect(&raw, &rig, 1, 3))
        ck_assert(!raw_greet(&raw, 3));
    ck_assert_msg(rig_logs(&rig, why), "not logged: %s", why);
    raw_close(&raw);
}

START_TEST(a_client_without_a_certificate_is_refused)
{
    struct raw raw;
    rig_start(&rig, 1);
    if (raw_connect(&raw, &rig, 1, 0))
        ck_assert(!raw_greet(&raw, 3));
    ck_assert(rig_logs(&rig, "peer did not return a certificate"));
    raw_close(&raw);
}
END_TEST

START_TEST(a_certificate_for_servers_only_cannot_dial)
{
    struct test_cert cert = {"node-3.holdfast.internal", "serverAuth", -3600, 3600};
    expect_raw_refused(&cert, "unsuitable certificate purpose");
}
END_TEST

START_TEST(a_certificate_without_usage_cannot_dial)
{
    struct test_cert cert = {"node-3.holdfast.internal", NULL, -3600, 3600};
    expect_raw_refused(&cert,
                       "refused hello of node 3: certificate is of another node");
}
END_TEST

START_TEST(an_expired_certificate_cannot_dial)
{
    struct test_cert cert = {"node-3.holdfast.internal", TEST_USAGE_BOTH, -3600, -60};
    expect_raw_refused(&cert, "certificate has expired");
}
END_TEST

START_TEST(wildcards_and_common_names_are_not_names)
{
    struct test_cert cert = {"*.holdfast.internal", TEST_USAGE_BOTH, -3600, 3600};
    expect_raw_refused(&cert,
                       "refused hello of node 3: certificate is of another node");
}
END_TEST

START_TEST(a_certificate_that_is_not_yet_valid_is_forgiven)
{
    struct test_cert cert = {"node-2.holdfast.internal", TEST_USAGE_BOTH, 7200, 86400};
    issue(2, &cert);
    rig_start(&rig, 1);
    rig_start(&rig, 2);
    ck_assert(rig_connect(&rig, 1, 2));
}
END_TEST

/* --- our own files --- */

static enum status
start_and_stop(const struct cluster_options *options)
{
    enum status status = rig_start_with(&rig, options);
    if (status == ST_OK)
        rig_stop(&rig, (unsigned)options->id);
    return status;
}

START_TEST(bad_files_of_our_own_are_refused_at_the_start)
{
    struct cluster_options good = rig_options(&rig, 1);
    struct cluster_options bad = good;
    ck_assert_int_eq(start_and_stop(&good), ST_OK);
    bad.cert_file = rig_path(&rig, 2, ".crt");
    ck_assert_int_eq(start_and_stop(&bad), ST_INVALID);
    bad.key_file = rig_path(&rig, 2, ".key");
    ck_assert_int_eq(start_and_stop(&bad), ST_INVALID); /* another node's name */
    bad = good;
    bad.ca_file = "/nonexistent";
    ck_assert_int_eq(start_and_stop(&bad), ST_INVALID);
    bad = good;
    bad.key_file = good.cert_file;
    ck_assert_int_eq(start_and_stop(&bad), ST_INVALID);
    struct test_cert cert = {"node-1.holdfast.internal", "clientAuth", -3600, 3600};
    issue(1, &cert);
    ck_assert_int_eq(start_and_stop(&good), ST_INVALID);
    cert = (struct test_cert){"node-1.holdfast.internal", TEST_USAGE_BOTH, -3600, -1};
    issue(1, &cert);
    ck_assert_int_eq(start_and_stop(&good), ST_INVALID);
}
END_TEST

START_TEST(reloading_takes_good_files_and_keeps_the_old_ones_otherwise)
{
    rig_start(&rig, 1);
    rig_start(&rig, 2);
    ck_assert(rig_connect(&rig, 1, 2));
    int64_t expires_s = cluster_certificate_expires_s(rig.nodes[1].cluster);

    /* A torn file: all stays as it was. */
    FILE *f = fopen(rig_path(&rig, 1, ".crt"), "w");
    fputs("-----BEGIN CERTIFICATE-----\nMIIB", f);
    fclose(f);
    ck_assert_int_eq(cluster_reload_certificates(rig.nodes[1].cluster), ST_INVALID);
    ck_assert_int_eq(cluster_certificate_expires_s(rig.nodes[1].cluster), expires_s);
    rig_stop(&rig, 2);
    rig_start(&rig, 2);
    ck_assert(rig_connect(&rig, 1, 2));

    struct test_cert cert = {"node-1.holdfast.internal", TEST_USAGE_BOTH, -60, 400000};
    issue(1, &cert);
    ck_assert_int_eq(cluster_reload_certificates(rig.nodes[1].cluster), ST_OK);
    ck_assert_int_gt(cluster_certificate_expires_s(rig.nodes[1].cluster),
                     expires_s + 86400);
    ck_assert(rig_is_up(&rig, 1, 2) && rig_is_up(&rig, 2, 1)); /* old links live on */
    rig_stop(&rig, 2);
    rig_start(&rig, 2);
    ck_assert(rig_connect(&rig, 1, 2));
}
END_TEST

START_TEST(a_ca_is_replaced_without_stopping)
{
    struct test_ca other;
    FILE *both = fopen(rig_path(&rig, 0, ".ca"), "a");
    test_ca_init(&other, "New CA");
    for (unsigned id = 1; id <= 2; id++)
        rig_start(&rig, id);
    ck_assert(rig_connect(&rig, 1, 2));
    /* First both trust both, then one has its certificate from the new CA. */
    test_ca_write(&other, rig_path(&rig, 0, ".new"));
    FILE *new = fopen(rig_path(&rig, 0, ".new"), "r");
    for (int c; (c = fgetc(new)) != EOF;)
        fputc(c, both);
    fclose(new);
    fclose(both);
    test_ca_issue_node(&other, 2, rig_path(&rig, 2, ".crt"), rig_path(&rig, 2, ".key"));
    for (unsigned id = 1; id <= 2; id++)
        ck_assert_int_eq(cluster_reload_certificates(rig.nodes[id].cluster), ST_OK);
    rig_stop(&rig, 2);
    rig_start(&rig, 2);
    ck_assert(rig_connect(&rig, 1, 2));
    test_ca_fini(&other);
}
END_TEST

Suite *
trust_suite(void)
{
    Suite *suite = suite_create("trust");
    TCase *tcase = tcase_create("trust");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, another_ca_is_refused);
    tcase_add_test(tcase, an_imitated_ca_of_the_same_name_is_refused);
    tcase_add_test(tcase, the_address_of_another_node_is_noticed);
    tcase_add_test(tcase, a_node_cannot_claim_the_id_of_another);
    tcase_add_test(tcase, a_proper_hello_is_answered);
    tcase_add_test(tcase, an_old_version_is_refused_by_name);
    tcase_add_test(tcase, a_newer_version_is_talked_to);
    tcase_add_test(tcase, another_cluster_id_is_refused_by_name_on_both_sides);
    tcase_add_test(tcase, a_node_that_is_no_member_is_refused_by_name);
    tcase_add_test(tcase, a_voter_that_has_lost_its_data_is_refused_by_name);
    tcase_add_test(tcase, a_stand_by_that_has_nothing_yet_is_let_in);
    tcase_add_test(tcase,
                   nodes_restored_from_different_backups_refuse_each_other_by_name);
    tcase_add_test(tcase, nodes_of_one_backup_and_one_that_joined_later_are_let_in);
    tcase_add_test(tcase,
                   a_node_that_knows_later_members_is_a_guest_until_we_know_them_too);
    tcase_add_test(tcase, a_twin_of_ourselves_is_refused_by_name);
    tcase_add_test(tcase, a_client_without_a_certificate_is_refused);
    tcase_add_test(tcase, a_certificate_for_servers_only_cannot_dial);
    tcase_add_test(tcase, a_certificate_without_usage_cannot_dial);
    tcase_add_test(tcase, an_expired_certificate_cannot_dial);
    tcase_add_test(tcase, wildcards_and_common_names_are_not_names);
    tcase_add_test(tcase, a_certificate_that_is_not_yet_valid_is_forgiven);
    tcase_add_test(tcase, bad_files_of_our_own_are_refused_at_the_start);
    tcase_add_test(tcase, reloading_takes_good_files_and_keeps_the_old_ones_otherwise);
    tcase_add_test(tcase, a_ca_is_replaced_without_stopping);
    suite_add_tcase(suite, tcase);
    return suite;
}
