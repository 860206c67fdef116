/* Commands: what holdfastctl can ask of a node. Each file has those of some nouns, as
 * one table; commands.c knows the tables, finds a command in them and runs it. */
#ifndef HF_SERVER_COMMANDS_H
#define HF_SERVER_COMMANDS_H

#include "server/control.h"

struct command_info {
    const char *noun; /* NULL ends a table */
    const char *verb;
    bool needs_leader;
    size_t min_args; /* behind the verb */
    size_t max_args;
    void (*run_cb)(struct command *command);
    const char *usage;
};

extern const struct command_info COMMANDS_CLUSTER[]; /* commands_cluster.c */
extern const struct command_info COMMANDS_QUEUE[];   /* commands_queue.c */

/* The digits of a node's id. False: it is none. */
bool command_parse_id(const char *text, uint64_t *ret_id);

#endif
