/* Table: see table.h. */
#include "ctl/table.h"

#include "ctl/admin.h"
#include "ctl/commands.h"
#include "ctl/context.h"

#include <string.h>

/* Options of the ways. */
#define SOCKET_OPTIONS (OPT(SOCKET) | OPT(TIMEOUT))
#define WSS_OPTIONS                                                                    \
    (OPT(URL) | OPT(LOGIN_FILE) | OPT(CA) | OPT(HOST) | OPT(CONTEXT) | OPT(TIMEOUT))

static const struct ctl_noun NOUNS[] = {
    {"cluster", "look at the cluster, hand leadership over"},
    {"queue", "create, list, show and delete queues"},
    {"data", "data directory of a stopped node"},
    {"msg", "messages of a queue"},
    {"dlq", "the dead letter queue"},
    {"session", "subscribers' sessions, connected and saved"},
    {"login", "the logins of a queue"},
    {"cfg", "settings of a queue"},
    {"stats", "counters of a queue"},
    {"usage", "what a queue used"},
    {"backup", "copy the queues into a file, examine one"},
    {"restore", "a new cluster out of a backup"},
    {"cert", "certificates for those who have no authority"},
    {"pub", "publish messages"},
    {"sub", "print messages and acknowledge them"},
    {"bench", "measure rate and latency"},
    {"top", "watch nodes and queues"},
    {"context", "addresses and logins of queues, kept under a name"},
    {"help", "what there is"},
    {NULL, NULL},
};

/* clang-format off */
static const struct ctl_command COMMANDS[] = {
    {.noun = "cluster", .verb = "status", .arguments = "", .ways = ON_SOCKET, .right = RIGHT_NODE,
     .help = "this node's part in the cluster"},
    {.noun = "cluster", .verb = "leader", .arguments = "", .ways = ON_SOCKET, .right = RIGHT_NODE,
     .help = "the leader's id"},
    {.noun = "cluster", .verb = "digest", .arguments = "", .ways = ON_SOCKET, .right = RIGHT_NODE,
     .help = "a digest of this node's state"},
    {.noun = "cluster", .verb = "step-down", .arguments = "", .ways = ON_SOCKET, .right = RIGHT_NODE,
     .options = OPT(TO), .help = "hand leadership over"},
    {.noun = "cluster", .verb = "members", .arguments = "", .ways = ON_SOCKET, .right = RIGHT_NODE,
     .help = "who belongs to it, as the leader sees it", .run_cb = ctl_cluster_members},
    {.noun = "cluster", .verb = "add", .arguments = "ID [HOST:PORT]", .min_args = 1, .max_args = 2, .ways = ON_SOCKET,
     .right = RIGHT_NODE, .options = OPT(NO_WAIT), .help = "take a node in, and wait until it is a voter",
     .run_cb = ctl_cluster_add},
    {.noun = "cluster", .verb = "remove", .arguments = "ID", .min_args = 1, .max_args = 1, .ways = ON_SOCKET,
     .right = RIGHT_NODE, .options = OPT(NO_WAIT) | OPT(YES), .help = "put a node out",
     .question = "Remove node %s? Its data will not be taken back.", .run_cb = ctl_cluster_remove},
    {.noun = "cluster", .verb = "replace", .arguments = "OLD-ID NEW-ID HOST:PORT", .min_args = 3, .max_args = 3,
     .ways = ON_SOCKET, .right = RIGHT_NODE, .options = OPT(YES), .help = "take a node in for another",
     .question = "Replace node %s?", .run_cb = ctl_cluster_replace},
    {.noun = "cluster", .verb = "invite", .arguments = "ID HOST:PORT", .min_args = 2, .max_args = 2, .ways = ON_SOCKET,
     .right = RIGHT_NODE, .options = OPT(CA_CERT) | OPT(CA_KEY) | OPT(OUT),
     .help = "what a new node needs to join, in one file", .run_cb = ctl_cluster_invite},
    {.noun = "cluster", .verb = "join", .arguments = "", .ways = ON_MACHINE, .options = OPT(CONFIG) | OPT(INVITE),
     .help = "make the data directory of a new node", .run_cb = ctl_cluster_join},
    {.noun = "cluster", .verb = "recover", .arguments = "", .ways = ON_MACHINE, .options = OPT(CONFIG) | OPT(YES),
     .help = "go on alone, after a majority is lost", .run_cb = ctl_cluster_recover},
    {.noun = "cluster", .verb = "level", .arguments = "[N]", .max_args = 1, .ways = ON_SOCKET, .right = RIGHT_NODE,
     .help = "show or raise the level of what is written"},

    {.noun = "queue", .verb = "create", .arguments = "NAME", .min_args = 1, .max_args = 1, .ways = ON_SOCKET,
     .right = RIGHT_NODE, .options = OPT(TIER), .help = "make a queue and print its logins, once"},
    {.noun = "queue", .verb = "list", .arguments = "", .ways = ON_SOCKET, .right = RIGHT_NODE,
     .help = "all queues with their counters", .run_cb = ctl_queue_list},
    {.noun = "queue", .verb = "show", .arguments = "NAME", .min_args = 1, .max_args = 1, .ways = ON_SOCKET,
     .right = RIGHT_NODE, .help = "one queue with its counters and settings"},
    {.noun = "queue", .verb = "delete", .arguments = "NAME", .min_args = 1, .max_args = 1, .ways = ON_SOCKET,
     .right = RIGHT_NODE, .options = OPT(YES), .help = "delete a queue with all its messages",
     .question = "Delete the queue %s with all its messages?"},

    {.noun = "data", .verb = "init", .arguments = "", .ways = ON_MACHINE, .options = OPT(CONFIG),
     .help = "make a node's data directory, once", .run_cb = ctl_data_init},
    {.noun = "data", .verb = "check", .arguments = "DIR", .min_args = 1, .max_args = 1, .ways = ON_MACHINE,
     .options = OPT(CONFIG), .help = "examine that of a stopped node", .run_cb = ctl_data_check},
    {.noun = "data", .verb = "repair", .arguments = "DIR", .min_args = 1, .max_args = 1, .ways = ON_MACHINE,
     .options = OPT(CONFIG) | OPT(YES), .help = "mend that of a node that no other can help",
     .run_cb = ctl_data_repair},

    {.noun = "msg", .verb = "list", .arguments = "", .ways = ON_WSS, .right = RIGHT_ADMIN,
     .options = OPT(COUNT) | OPT(AFTER) | OPT(BEFORE), .help = "messages: waiting, held and delayed",
     .count_help = "so many at most (100)", .wss_cb = ctl_msg_list},
    {.noun = "msg", .verb = "get", .arguments = "ID", .min_args = 1, .max_args = 1, .ways = ON_WSS, .right = RIGHT_ADMIN,
     .help = "one message with its body", .wss_cb = ctl_msg_get},
    {.noun = "msg", .verb = "add", .arguments = "BODY", .min_args = 1, .max_args = 1, .ways = ON_WSS, .right = RIGHT_ADMIN,
     .options = OPT(DURABILITY) | OPT(DELAY) | OPT(KEY) | OPT(BINARY), .help = "publish a message", .wss_cb = ctl_msg_add},
    {.noun = "msg", .verb = "delete", .arguments = "ID", .min_args = 1, .max_args = 1, .ways = ON_WSS, .right = RIGHT_ADMIN,
     .options = OPT(YES), .help = "delete a message",
     .question = "Delete the message %s?", .wss_cb = ctl_msg_delete},
    {.noun = "msg", .verb = "purge", .arguments = "", .ways = ON_SOCKET | ON_WSS, .right = RIGHT_ADMIN,
     .options = OPT(QUEUE) | OPT(ALL) | OPT(COUNT) | OPT(FILTER) | OPT(DRY_RUN) | OPT(YES),
     .help = "delete waiting messages, or all with --all",
     .question = "Delete the messages of the queue?", .question_cb = ctl_msg_purge_question,
     .count_help = "so many, the oldest first",
     .filter_help = "key=KEY: only those of this publisherkey",
     .wss_cb = ctl_msg_purge},
    {.noun = "msg", .verb = "history", .arguments = "ID", .min_args = 1, .max_args = 1, .ways = ON_SOCKET | ON_WSS,
     .right = RIGHT_ADMIN, .options = OPT(QUEUE), .help = "what a message went through",
     .wss_cb = ctl_msg_history},

    {.noun = "dlq", .verb = "list", .arguments = "", .ways = ON_WSS, .right = RIGHT_ADMIN,
     .options = OPT(COUNT) | OPT(AFTER) | OPT(BEFORE), .help = "dead letters",
     .count_help = "so many at most (100)", .wss_cb = ctl_dlq_list},
    {.noun = "dlq", .verb = "get", .arguments = "ID", .min_args = 1, .max_args = 1, .ways = ON_WSS, .right = RIGHT_ADMIN,
     .help = "one dead letter with its body", .wss_cb = ctl_dlq_get},
    {.noun = "dlq", .verb = "move", .arguments = "ID", .min_args = 1, .max_args = 1, .ways = ON_WSS, .right = RIGHT_ADMIN,
     .help = "make a message a dead letter", .wss_cb = ctl_dlq_move},
    {.noun = "dlq", .verb = "delete", .arguments = "ID", .min_args = 1, .max_args = 1, .ways = ON_WSS, .right = RIGHT_ADMIN,
     .options = OPT(YES), .help = "delete a dead letter",
     .question = "Delete the dead letter %s?", .wss_cb = ctl_dlq_delete},
    {.noun = "dlq", .verb = "redrive", .arguments = "[ID]", .max_args = 1, .ways = ON_SOCKET | ON_WSS, .right = RIGHT_ADMIN,
     .options = OPT(QUEUE) | OPT(ALL) | OPT(COUNT) | OPT(FILTER) | OPT(DRY_RUN),
     .help = "put dead letters back among the waiting",
     .count_help = "so many, the oldest first",
     .filter_help = "reason=nack|moved|damaged,older=SECS,key=KEY",
     .wss_cb = ctl_dlq_redrive},
    {.noun = "dlq", .verb = "purge", .arguments = "", .ways = ON_SOCKET | ON_WSS, .right = RIGHT_ADMIN,
     .options = OPT(QUEUE) | OPT(COUNT) | OPT(FILTER) | OPT(DRY_RUN) | OPT(YES), .help = "delete dead letters",
     .question = "Delete the dead letters of the queue?", .question_cb = ctl_dlq_purge_question,
     .count_help = "so many, the oldest first",
     .filter_help = "reason=nack|moved|damaged,older=SECS,key=KEY",
     .wss_cb = ctl_dlq_purge},

    {.noun = "session", .verb = "list", .arguments = "", .ways = ON_SOCKET, .right = RIGHT_NODE,
     .options = OPT(QUEUE), .help = "sessions, since when, and what they hold", .run_cb = ctl_session_list},
    {.noun = "session", .verb = "end", .arguments = "NUMBER", .min_args = 1, .max_args = 1, .ways = ON_SOCKET,
     .right = RIGHT_NODE, .options = OPT(QUEUE) | OPT(YES), .help = "end a session; its messages go to others",
     .question = "End session %s?"},

    {.noun = "login", .verb = "list", .arguments = "", .ways = ON_SOCKET, .right = RIGHT_NODE,
     .options = OPT(QUEUE), .help = "names of the logins, how many use them now", .run_cb = ctl_login_list},
    {.noun = "login", .verb = "rotate", .arguments = "ROLE", .min_args = 1, .max_args = 1, .ways = ON_SOCKET,
     .right = RIGHT_NODE, .options = OPT(QUEUE) | OPT(CLOSE) | OPT(YES), .help = "a new password, printed once",
     .question = "Make a new password for the %s? The old one ends at once."},

    {.noun = "cfg", .verb = "get", .arguments = "[NAME]", .max_args = 1, .ways = ON_WSS, .right = RIGHT_ADMIN,
     .help = "all settings, or one", .wss_cb = ctl_cfg_get},
    {.noun = "cfg", .verb = "set", .arguments = "NAME=VALUE...", .min_args = 1, .max_args = -1, .ways = ON_WSS, .right = RIGHT_ADMIN,
     .help = "change settings, all of them or none", .wss_cb = ctl_cfg_set},

    {.noun = "stats", .verb = "live", .arguments = "", .ways = ON_WSS, .right = RIGHT_ADMIN,
     .help = "the counters now", .wss_cb = ctl_stats_live},
    {.noun = "stats", .verb = "day", .arguments = "[DATE]", .max_args = 1, .ways = ON_WSS, .right = RIGHT_ADMIN,
     .options = OPT(AVERAGE), .help = "counters of a day in UTC, or of today", .wss_cb = ctl_stats_day},

    {.noun = "usage", .verb = "day", .arguments = "[DATE]", .max_args = 1, .ways = ON_WSS, .right = RIGHT_ADMIN,
     .options = OPT(TOTALS), .help = "usage of a day in UTC, or of today", .wss_cb = ctl_usage_day},

    {.noun = "backup", .arguments = "FILE", .min_args = 1, .max_args = 1, .ways = ON_SOCKET, .right = RIGHT_NODE,
     .options = OPT(QUEUE) | OPT(YES), .help = "copy all queues or one, while all goes on", .run_cb = ctl_backup},
    {.noun = "backup", .verb = "verify", .arguments = "FILE", .min_args = 1, .max_args = 1, .ways = ON_MACHINE,
     .help = "examine a backup, say what is in it", .run_cb = ctl_backup_verify},
    {.noun = "restore", .arguments = "FILE", .min_args = 1, .max_args = 1, .ways = ON_MACHINE,
     .options = OPT(CONFIG) | OPT(QUEUE), .help = "make a data directory out of a backup",
     .run_cb = ctl_restore},

    {.noun = "cert", .verb = "ca", .arguments = "DIR", .min_args = 1, .max_args = 1, .ways = ON_MACHINE,
     .options = OPT(DAYS) | OPT(YES), .help = "make a certificate authority", .run_cb = ctl_cert_ca},
    {.noun = "cert", .verb = "node", .arguments = "ID", .min_args = 1, .max_args = 1, .ways = ON_MACHINE,
     .options = OPT(CA_CERT) | OPT(CA_KEY) | OPT(OUT) | OPT(DAYS) | OPT(DNS) | OPT(YES),
     .help = "make a certificate for the cluster port", .run_cb = ctl_cert_node},
    {.noun = "cert", .verb = "client-tls", .arguments = "", .ways = ON_MACHINE,
     .options = OPT(CA_CERT) | OPT(CA_KEY) | OPT(OUT) | OPT(DAYS) | OPT(DNS) | OPT(YES),
     .help = "make a certificate for the client port", .run_cb = ctl_cert_client_tls},
    {.noun = "cert", .verb = "show", .arguments = "FILE", .min_args = 1, .max_args = 1, .ways = ON_MACHINE,
     .help = "say what a certificate is for and until when", .run_cb = ctl_cert_show},

    {.noun = "pub", .arguments = "[BODY | -]", .max_args = 1, .ways = ON_WSS, .right = RIGHT_LOGIN, .is_stream = true,
     .options = OPT(DURABILITY) | OPT(DELAY) | OPT(KEY) | OPT(BINARY) | OPT(COPY) | OPT(COUNT),
     .help = "publish BODY, or each line of standard input",
     .count_help = "publish BODY so many times (1)", .wss_cb = ctl_pub},
    {.noun = "sub", .arguments = "", .ways = ON_WSS, .right = RIGHT_LOGIN, .is_stream = true,
     .options = OPT(COUNT) | OPT(CAPACITY) | OPT(BINARY) | OPT(COPY) | OPT(NO_ACK),
     .help = "print messages and acknowledge them",
     .count_help = "end after so many messages", .wss_cb = ctl_sub},
    {.noun = "bench", .arguments = "", .ways = ON_WSS, .right = RIGHT_LOGIN,
     .options = OPT(PUBLISHERS) | OPT(SUBSCRIBERS) | OPT(WINDOW) | OPT(SIZE) | OPT(DURABILITY) | OPT(CAPACITY) |
                OPT(COPY) | OPT(COUNT) | OPT(SECONDS) | OPT(YES),
     .help = "measure rate and latency",
     .count_help = "publish so many messages in all", .wss_cb = ctl_bench},

    {.noun = "top", .arguments = "", .ways = ON_SOCKET, .right = RIGHT_NODE, .is_stream = true,
     .options = OPT(INTERVAL) | OPT(COUNT), .help = "watch nodes and queues",
     .count_help = "end after so many looks", .run_cb = ctl_top},
    {.noun = "context", .verb = "list", .arguments = "", .ways = ON_MACHINE, .help = "all contexts",
     .run_cb = ctl_context_list},
    {.noun = "context", .verb = "show", .arguments = "[NAME]", .max_args = 1, .ways = ON_MACHINE,
     .help = "one context, or the one in use", .run_cb = ctl_context_show},
    {.noun = "context", .verb = "use", .arguments = "NAME", .min_args = 1, .max_args = 1, .ways = ON_MACHINE,
     .help = "take this one from now on", .run_cb = ctl_context_use},
    {.noun = "context", .verb = "set", .arguments = "NAME", .min_args = 1, .max_args = 1, .ways = ON_MACHINE,
     .options = OPT(URL) | OPT(LOGIN_FILE) | OPT(CA) | OPT(HOST), .help = "make a context, or change what is given",
     .run_cb = ctl_context_set},
    {.noun = "context", .verb = "delete", .arguments = "NAME", .min_args = 1, .max_args = 1, .ways = ON_MACHINE,
     .options = OPT(YES), .help = "forget a context", .question = "Forget the context %s with its passwords?",
     .run_cb = ctl_context_delete},

    {.noun = "help", .arguments = "[NOUN [VERB]]", .max_args = 2, .ways = ON_MACHINE, .help = "what there is",
     .run_cb = ctl_help},
    {.noun = NULL},
};
/* clang-format on */

const struct ctl_command *
table_commands(void)
{
    return COMMANDS;
}

const struct ctl_noun *
table_nouns(void)
{
    return NOUNS;
}

const struct ctl_command *
table_find(int argc, char **argv, int *ret_used)
{
    const struct ctl_command *alone = NULL;
    for (const struct ctl_command *c = COMMANDS; argc > 0 && c->noun != NULL; c++) {
        if (strcmp(c->noun, argv[0]) != 0)
            continue;
        if (c->verb == NULL) {
            alone = c;
        } else if (argc > 1 && strcmp(c->verb, argv[1]) == 0) {
            *ret_used = 2;
            return c;
        }
    }
    *ret_used = alone != NULL ? 1 : 0;
    return alone;
}

bool
table_has_noun(const char *noun)
{
    for (const struct ctl_noun *n = NOUNS; n->noun != NULL; n++)
        if (strcmp(n->noun, noun) == 0)
            return true;
    return false;
}

uint64_t
table_options(const struct ctl_command *c)
{
    uint64_t set = c->options;
    for (int i = 0; i < OPTION_IDS; i++)
        if (option_info((enum option_id)i)->is_everywhere)
            set |= UINT64_C(1) << i;
    if ((c->ways & ON_SOCKET) != 0)
        set |= SOCKET_OPTIONS;
    if ((c->ways & ON_WSS) != 0)
        set |= WSS_OPTIONS;
    return set;
}
