/* Commands: what holdfastctl can ask of a node. Each file has those of some nouns, as
 * one table; commands.c knows the tables, finds a command in them and runs it. */
#ifndef HF_SERVER_COMMANDS_H
#define HF_SERVER_COMMANDS_H

#include "server/control.h"

/* Who runs it. */
enum command_place {
    COMMAND_HERE = 0,
    COMMAND_AT_LEADER = 1,
    COMMAND_AT_LEADER_IF_ANY = 2, /* here when there is none */
};

struct command_info {
    const char *noun; /* NULL ends a table */
    const char *verb;
    enum command_place place;
    size_t min_args; /* behind the verb */
    size_t max_args;
    void (*run_cb)(struct command *command);
    const char *usage;
};

extern const struct command_info COMMANDS_BACKUP[];  /* commands_backup.c */
extern const struct command_info COMMANDS_CLUSTER[]; /* commands_cluster.c */
extern const struct command_info COMMANDS_DLQ[];     /* commands_dlq.c */
extern const struct command_info COMMANDS_LOGIN[];   /* commands_login.c */
extern const struct command_info COMMANDS_MEMBERS[]; /* commands_members.c */
extern const struct command_info COMMANDS_MSG[];     /* commands_msg.c */
extern const struct command_info COMMANDS_QUEUE[];   /* commands_queue.c */
extern const struct command_info COMMANDS_SESSION[]; /* commands_session.c */

enum command_place command_place(const struct command *command);
/* A node's id, 1 to 1000000 (node-id). False: it is none. */
bool command_parse_id(const char *text, uint64_t *ret_id);

#endif
