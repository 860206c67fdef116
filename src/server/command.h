/* Command: its life, for control.c (who runs one needs control.h only). */
#ifndef HF_SERVER_COMMAND_H
#define HF_SERVER_COMMAND_H

#include "server/control.h"

struct command *command_new(struct node *n);
/* Its words out of {"argv":["noun","verb",...]}. ST_INVALID. */
enum status command_read(struct command *command, struct slice line) MUST_USE;
/* Appends such a line, without its end. */
void command_write(const struct command *command, struct bytes *out);

#endif
