/* holdfastd: the server. Reads its arguments and its config, then a node runs.
 *
 *   holdfastd --config FILE               run
 *   holdfastd --config FILE --check-config
 *   holdfastd --config FILE --init        make the data directory
 *   holdfastd --config FILE --join        make that of a node that joins
 *   holdfastd --config FILE --recover     go on alone with it
 *   holdfastd --data-check DIR            examine one of a stopped node
 *   holdfastd --data-repair DIR           mend one that no other node can help
 *   holdfastd --backup-check FILE         examine a backup
 *   holdfastd --backup-cut FILE TO --queue NAME    one queue of it
 *   holdfastd --restore FILE --config FILE         make a data directory of it
 *
 * All but the first two are holdfastctl's data and cluster commands, and
 * backup and restore.
 */
#include "base/log.h"
#include "base/map.h"
#include "server/backup.h"
#include "server/config_check.h"
#include "server/crash.h"
#include "server/data.h"
#include "server/init.h"
#include "server/join.h"
#include "server/node.h"
#include "server/recover.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/rand.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char USAGE[] =
    "usage: holdfastd --config FILE [--check-config | --init [--json]]\n"
    "       holdfastd --config FILE --join [--invite FILE] [--json]\n"
    "       holdfastd --config FILE --recover [--yes] [--json]\n"
    "       holdfastd --data-check DIR [--json] [--config FILE]\n"
    "       holdfastd --data-repair DIR [--yes] [--json] [--config FILE]\n"
    "       holdfastd --backup-check FILE [--name NAME] [--json]\n"
    "       holdfastd --backup-cut FILE TO --queue NAME\n"
    "       holdfastd --restore FILE --config FILE [--queue NAME] [--json]\n"
    "       holdfastd --version\n";

struct arguments {
    const char *config;
    bool is_check;
    bool is_init;
    bool is_join;
    bool is_recovery;
    const char *invite;       /* of a join; NULL: none */
    bool is_repair;           /* of data.dir; else it is examined */
    struct data_options data; /* dir NULL: run, or one of the two above */
    bool is_restore;
    struct backup_options backup; /* file NULL: nothing with a backup */
};

/* What goes with a backup: true when it was that, and how many words it took. */
static bool
parse_backup(int left, char **argv, struct arguments *a, int *ret_used)
{
    *ret_used = 2;
    if (strcmp(argv[0], "--queue") == 0 && left > 1) {
        a->backup.queue = argv[1];
    } else if (strcmp(argv[0], "--backup-cut") == 0 && left > 2) {
        a->backup.file = argv[1];
        a->backup.to = argv[2];
        *ret_used = 3;
    } else if (strcmp(argv[0], "--name") == 0 && left > 1) {
        a->backup.name = argv[1];
    } else if ((strcmp(argv[0], "--backup-check") == 0 ||
                strcmp(argv[0], "--restore") == 0) &&
               left > 1) {
        a->backup.file = argv[1];
        a->is_restore = strcmp(argv[0], "--restore") == 0;
    } else {
        return false;
    }
    return true;
}

static bool
backup_is_asked_well(const struct arguments *a)
{
    if (a->backup.to != NULL)
        return a->backup.queue != NULL && !a->is_restore;
    return a->is_restore ? a->config != NULL : a->backup.queue == NULL;
}

static int
run_backup(struct arguments *a, const struct config *c)
{
    a->backup.config = c;
    a->backup.is_json = a->data.is_json;
    if (a->is_restore)
        return backup_restore(&a->backup);
    return a->backup.to != NULL ? backup_cut(&a->backup) : backup_check(&a->backup);
}

static bool
parse_arguments(int argc, char **argv, struct arguments *ret_arguments)
{
    int used = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--config") == 0 && i + 1 < argc)
            ret_arguments->config = argv[++i];
        else if (strcmp(argv[i], "--check-config") == 0)
            ret_arguments->is_check = true;
        else if (strcmp(argv[i], "--init") == 0)
            ret_arguments->is_init = true;
        else if (strcmp(argv[i], "--join") == 0)
            ret_arguments->is_join = true;
        else if (strcmp(argv[i], "--invite") == 0 && i + 1 < argc)
            ret_arguments->invite = argv[++i];
        else if (strcmp(argv[i], "--recover") == 0)
            ret_arguments->is_recovery = true;
        else if (strcmp(argv[i], "--data-check") == 0 && i + 1 < argc)
            ret_arguments->data.dir = argv[++i];
        else if (strcmp(argv[i], "--data-repair") == 0 && i + 1 < argc) {
            ret_arguments->data.dir = argv[++i];
            ret_arguments->is_repair = true;
        } else if (strcmp(argv[i], "--json") == 0)
            ret_arguments->data.is_json = true;
        else if (strcmp(argv[i], "--yes") == 0)
            ret_arguments->data.is_sure = true;
        else if (parse_backup(argc - i, argv + i, ret_arguments, &used))
            i += used - 1;
        else
            return false;
    }
    if (ret_arguments->backup.file != NULL)
        return backup_is_asked_well(ret_arguments);
    return ret_arguments->config != NULL || ret_arguments->data.dir != NULL;
}

static int
open_log(const struct config *c)
{
    if (c->log_file[0] == '\0')
        return STDERR_FILENO;
    int fd = open(c->log_file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
    if (fd < 0)
        log_event(LOG_ERROR, "log.unwritable", "file=%s what=%s consequence=exiting",
                  log_quote(c->log_file), log_quote(strerror(errno)));
    return fd;
}

/* What to exit with; -1: its data was set aside, and it is to run again. */
static int
run_once(struct config *c, bool has_log_file)
{
    struct trouble trouble = {.why = ST_OK};
    struct node *n = NULL;
    int code = 1;
    bool is_started = node_open(c, &trouble, &n) == ST_OK;
    if (is_started) {
        code = node_run(n);
        node_close(n);
    }
    if (trouble.why != ST_OK && rejoin_try(c, &trouble) == ST_OK)
        return -1;
    if (!is_started && has_log_file) {
        log_init(STDERR_FILENO, c->node_id, c->log_level);
        log_event(LOG_ERROR, "node.not_started", "log=%s", log_quote(c->log_file));
    }
    return code;
}

static int
run_node(struct config *c)
{
    uint64_t keys[2];
    log_set_format(c->log_format);
    crash_init();
    int fd = open_log(c);
    if (fd < 0)
        return 1;
    log_init(fd, c->node_id, c->log_level);
    if (RAND_bytes((unsigned char *)keys, sizeof keys) != 1)
        return 1;
    map_seed(keys[0], keys[1]);
    (void)signal(SIGPIPE, SIG_IGN);
    int code;
    do { /* bound: DISK_ASIDES_PER_HOUR */
        code = run_once(c, fd != STDERR_FILENO);
    } while (code < 0);
    return code;
}

/* Before a run it is a line of the log; for a person who asked it is plain. */
static void
refuse_config(const struct arguments *a, const char *error)
{
    if (a->is_check || a->is_init || a->is_join || a->is_recovery ||
        a->data.dir != NULL || a->backup.file != NULL)
        (void)fprintf(stderr, "holdfastd: %s\n", error);
    else
        log_event(LOG_ERROR, "config.refused", "what=%s consequence=exiting",
                  log_quote(error));
}

int
main(int argc, char **argv)
{
    struct arguments arguments = {0};
    struct config *c = NULL;
    char error[512] = "";
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        (void)printf("holdfastd %s\n", PACKAGE_VERSION);
        return 0;
    }
    if (!parse_arguments(argc, argv, &arguments)) {
        (void)fputs(USAGE, stderr);
        return 2;
    }
    umask(077);
    if (arguments.config != NULL &&
        config_read(arguments.config, error, sizeof error, &c) != ST_OK) {
        refuse_config(&arguments, error);
        return 1;
    }
    int code = 0;
    arguments.data.config = c;
    if (arguments.backup.file != NULL)
        code = run_backup(&arguments, c);
    else if (arguments.data.dir != NULL)
        code = arguments.is_repair ? data_repair(&arguments.data)
                                   : data_check(&arguments.data);
    else if (arguments.is_init)
        code = init_data(c, arguments.data.is_json);
    else if (arguments.is_join)
        code = join_cluster(c, arguments.invite, arguments.data.is_json);
    else if (arguments.is_recovery)
        code = recover(&(struct recover_options){.config = c,
                                                 .is_json = arguments.data.is_json,
                                                 .is_sure = arguments.data.is_sure});
    else
        code = arguments.is_check ? config_check(c) : run_node(c);
    config_free(c);
    return code;
}
