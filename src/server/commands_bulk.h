/* Bulk: a redrive or purge of many messages, record by record. For
 * src/server/commands*.c alone. */
#ifndef HF_SERVER_COMMANDS_BULK_H
#define HF_SERVER_COMMANDS_BULK_H

#include "server/commands_args.h"

/* Takes the command. Each record is committed before the next one is decided, and other
 * work is done in between; the command is answered behind the last one. places: of
 * queue/sweep.h. */
void command_bulk(struct command *command,
                  const struct command_args *args,
                  bool is_redrive,
                  uint8_t places);

#endif
