/* Data: what holdfastctl data check and data repair ask of a stopped node's directory.
 * Words and JSON around raft/disk_check.h. */
#ifndef HF_SERVER_DATA_H
#define HF_SERVER_DATA_H

#include "raft/disk.h"
#include "server/config.h"

struct data_options {
    const char *dir;
    const struct config *config; /* NULL: none was named */
    bool is_json;
    bool is_sure; /* --yes: do not ask */
};

/* What to exit with: 0 good, 1 damage (or it could not be examined), 4 no data there, 5
 * a node has it open. */
int data_check(const struct data_options *options);
/* 0 done, or nothing to do; 1 not possible, or it failed; 2 not confirmed; 4, 5. */
int data_repair(const struct data_options *options);

/* Says what is wrong with it; the exit code for that status. */
int data_fail(enum status st, const struct disk_error *e);
/* Asks the person at the terminal, unless sure already; without a terminal: no. */
bool data_is_confirmed(bool is_sure);

#endif
