/* Commands: see commands.h. */
#include "server/commands.h"

#include "server/commands_args.h"

#include <string.h>

static const struct command_info *const TABLES[] = {
    COMMANDS_BACKUP,  COMMANDS_CLUSTER, COMMANDS_DLQ,   COMMANDS_LOGIN,
    COMMANDS_MEMBERS, COMMANDS_MSG,     COMMANDS_QUEUE, COMMANDS_SESSION};

static const struct command_info *
find(const struct command *command)
{
    if (command->argc < 2)
        return NULL;
    for (size_t i = 0; i < sizeof TABLES / sizeof TABLES[0]; i++)
        for (const struct command_info *c = TABLES[i]; c->noun != NULL; c++)
            if (strcmp(c->noun, command->argv[0]) == 0 &&
                strcmp(c->verb, command->argv[1]) == 0)
                return c;
    return NULL;
}

enum command_place
command_place(const struct command *command)
{
    const struct command_info *info = find(command);
    return info == NULL ? COMMAND_HERE : info->place;
}

void
command_run(struct command *command)
{
    const struct command_info *info = find(command);
    if (info == NULL) {
        command_fail(command, EXIT_USAGE, "there is no command '%s %s'",
                     command->argc > 0 ? command->argv[0] : "",
                     command->argc > 1 ? command->argv[1] : "");
        return;
    }
    if (command->argc - 2 < info->min_args || command->argc - 2 > info->max_args) {
        command_fail(command, EXIT_USAGE, "usage: %s", info->usage);
        return;
    }
    info->run_cb(command);
}

bool
command_parse_id(const char *text, uint64_t *ret_id)
{
    return command_read_number(text, ret_id) && *ret_id <= NODE_ID_MAX;
}
