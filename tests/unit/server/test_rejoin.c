/* Rejoin: who may set its data aside, and what it leaves. */
#include "server/rejoin.h"

#include "suites.h"

#include "base/log.h"
#include "base/mem.h"
#include "raft/members.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char dir[64];
static struct config config;
static struct trouble trouble;

static struct rlog_members
members(uint32_t voters, uint32_t standbys)
{
    struct rlog_members m = {.count = voters + standbys};
    for (uint32_t i = 0; i < m.count; i++) {
        m.members[i].id = i + 1;
        m.members[i].is_voter = i < voters;
        (void)snprintf(m.members[i].address, sizeof m.members[i].address, "n%u:1", i);
    }
    return m;
}

static const struct {
    uint32_t voters;
    uint32_t standbys;
    uint64_t self;
    bool is_possible;
} CASES[] = {
    {1, 0, 1, false}, {2, 0, 1, false}, {3, 0, 2, true},  {4, 0, 1, true},
    {5, 0, 5, true},  {1, 1, 2, true},  {1, 1, 1, false}, {2, 1, 3, true},
    {2, 1, 1, false}, {0, 0, 1, false},
};

START_TEST(the_others_must_be_a_majority_without_it)
{
    struct rlog_members m = members(CASES[_i].voters, CASES[_i].standbys);
    ck_assert(rlog_members_can_spare(&m, CASES[_i].self) == CASES[_i].is_possible);
}
END_TEST

static int
remove_one(const char *path, const struct stat *stat, int flag, struct FTW *walk)
{
    (void)stat;
    (void)flag;
    (void)walk;
    return remove(path);
}

/* A node of so many, closed; its log says so, too. What is logged goes to dir/said. */
static void
make(uint32_t voters)
{
    uint8_t cluster_id[DISK_CLUSTER_ID_BYTES];
    char data[80];
    struct disk_error error;
    memcpy(dir, "/tmp/holdfast-rejoin-XXXXXX", 28);
    ck_assert_ptr_nonnull(mkdtemp(dir));
    (void)snprintf(data, sizeof data, "%s/said", dir);
    log_init(open(data, O_RDWR | O_CREAT | O_CLOEXEC, 0600), 1, LOG_INFO);
    (void)snprintf(data, sizeof data, "%s/data", dir);
    memset(&config, 0, sizeof config);
    memset(&trouble, 0, sizeof trouble);
    config.node_id = 1;
    config.data_dir = strdup(data);
    config.cluster_token = strdup("token");
    config.file = strdup("/etc/holdfast.conf");
    config.initial_cluster = members(voters, 0);
    config_cluster_id(&config, cluster_id);
    ck_assert_int_eq(disk_init(data, 1, cluster_id, &config.initial_cluster, &error),
                     ST_OK);
    trouble.why = ST_CORRUPT;
    (void)snprintf(trouble.error.text, sizeof trouble.error.text,
                   "%s/log/1.seg: at 64: damaged record", data);
    (void)snprintf(trouble.error.file, sizeof trouble.error.file, "log/1.seg");
    trouble.error.offset = 64;
}

static void
end(void)
{
    log_init(STDERR_FILENO, 0, LOG_INFO);
    free(config.data_dir);
    free(config.cluster_token);
    free(config.file);
    (void)nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Exactly one line, with all of these in it. */
static void
said(const char *const *words)
{
    char path[80];
    char text[4096];
    (void)snprintf(path, sizeof path, "%s/said", dir);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = read(fd, text, sizeof text - 1);
    (void)close(fd);
    ck_assert_int_gt(n, 0);
    text[n] = '\0';
    ck_assert_ptr_eq(strchr(text, '\n'), text + n - 1);
    for (; *words != NULL; words++)
        ck_assert_msg(strstr(text, *words) != NULL, "'%s' is not in '%s'", *words,
                      text);
}

static bool
is_rejoining(void)
{
    struct disk *disk;
    struct disk_error error;
    struct disk_options options = {
        .dir = config.data_dir, .node_id = 1, .boot_id = "boot"};
    config_cluster_id(&config, options.cluster_id);
    ck_assert_int_eq(disk_open(&options, &disk, &error), ST_OK);
    bool is = disk_is_rejoining(disk);
    (void)disk_close(disk, false);
    return is;
}

START_TEST(damage_of_one_of_three_is_set_aside_with_one_line)
{
    make(3);
    ck_assert_int_eq(rejoin_try(&config, &trouble), ST_OK);
    said((const char *const[]){"level=error", "event=disk.damaged", "file=log/1.seg",
                               "offset=64", "aside=aside-2", "rejoining", NULL});
    ck_assert(is_rejoining());
    end();
}
END_TEST

START_TEST(a_conflict_of_one_of_three_is_too)
{
    make(3);
    trouble.why = ST_CONFLICT;
    (void)snprintf(trouble.error.text, sizeof trouble.error.text,
                   "a committed entry conflicts with the leader's log");
    ck_assert_int_eq(rejoin_try(&config, &trouble), ST_OK);
    said((const char *const[]){"event=log.conflict", "a committed entry conflicts",
                               "aside=aside-2", "rejoining", NULL});
    ck_assert(is_rejoining());
    end();
}
END_TEST

START_TEST(a_lone_node_refuses_with_the_commands_to_run)
{
    char command[200];
    make(1);
    ck_assert_int_eq(rejoin_try(&config, &trouble), ST_DENIED);
    (void)snprintf(command, sizeof command,
                   "run: holdfastctl data check %s, then: holdfastctl data repair %s "
                   "--config /etc/holdfast.conf",
                   config.data_dir, config.data_dir);
    said((const char *const[]){"event=disk.damaged", "aside=none", command, NULL});
    ck_assert(!is_rejoining());
    end();
}
END_TEST

START_TEST(what_the_log_says_of_the_members_goes_before_the_configuration)
{
    make(3);
    trouble.error.members = members(2, 0);
    ck_assert_int_eq(rejoin_try(&config, &trouble), ST_DENIED);
    ck_assert(!is_rejoining());
    end();
}
END_TEST

START_TEST(lost_metadata_is_refused_in_any_case)
{
    make(3);
    trouble.error.is_final = true;
    ck_assert_int_eq(rejoin_try(&config, &trouble), ST_DENIED);
    said((const char *const[]){"term and vote are lost", "holdfastctl data check",
                               NULL});
    ck_assert(!is_rejoining());
    end();
}
END_TEST

START_TEST(a_disk_that_is_damaged_again_and_again_ends_it)
{
    make(3);
    for (int i = 0; i < DISK_ASIDES_PER_HOUR; i++)
        ck_assert_int_eq(rejoin_try(&config, &trouble), ST_OK);
    ck_assert_int_eq(rejoin_try(&config, &trouble), ST_AGAIN);
    end();
}
END_TEST

Suite *
rejoin_suite(void)
{
    Suite *s = suite_create("rejoin");
    TCase *t = tcase_create("rejoin");
    tcase_add_loop_test(t, the_others_must_be_a_majority_without_it, 0,
                        (int)(sizeof CASES / sizeof CASES[0]));
    tcase_add_test(t, damage_of_one_of_three_is_set_aside_with_one_line);
    tcase_add_test(t, a_conflict_of_one_of_three_is_too);
    tcase_add_test(t, a_lone_node_refuses_with_the_commands_to_run);
    tcase_add_test(t, what_the_log_says_of_the_members_goes_before_the_configuration);
    tcase_add_test(t, lost_metadata_is_refused_in_any_case);
    tcase_add_test(t, a_disk_that_is_damaged_again_and_again_ends_it);
    suite_add_tcase(s, t);
    return s;
}
