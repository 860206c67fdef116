/* Backup: what holdfastd does with a backup file while no node runs, for holdfastctl's
 * backup, backup verify and restore. Whole states are loaded: it takes the memory that
 * a node takes. (The node's part in making one is in commands_backup.c.) */
#ifndef HF_SERVER_BACKUP_H
#define HF_SERVER_BACKUP_H

#include "server/config.h"

struct backup_options {
    const char *file;
    const char *name;  /* what it is called where it is shown; NULL: as file */
    const char *queue; /* this one alone, or NULL */
    const char *to;    /* backup_cut */
    const struct config *config; /* backup_restore */
    bool is_json;
};

/* All return what to exit with, as holdfastctl does: 0 good, 1 damaged or failed, 4 no
 * such file or queue, 5 there is something already. */

/* Reads all of it and checks the state in it; says what is in it. */
int backup_check(const struct backup_options *options);
/* Writes a backup of the one queue to a new file. */
int backup_cut(const struct backup_options *options);
/* Makes this node's data directory of it, as the first of a new cluster's. */
int backup_restore(const struct backup_options *options);

#endif
