/* Backup: what its files share: a backup as a state. For src/server/backup*.c alone. */
#ifndef HF_SERVER_BACKUP_LOAD_H
#define HF_SERVER_BACKUP_LOAD_H

#include "queue/image.h"
#include "server/backup.h"
#include "server/backup_file.h"
#include "server/exit.h"

struct loaded {
    struct backup_info info;
    struct backup_counts counts;
    struct state *state;
    uint64_t file_bytes;
};

/* Over all queues. */
struct backup_totals {
    uint64_t messages;
    uint64_t held;
    uint64_t dead;
    uint64_t saved_sessions;
};

static inline const char *
backup_name(const struct backup_options *o)
{
    return o->name != NULL ? o->name : o->file;
}

/* Says why on stderr and, with --json, as the document; returns code. */
int backup_fail(const struct backup_options *o, int code, const char *format, ...)
    PRINTF_LIKE(3, 4);
/* 0 with a checked state in ret_loaded, which is the caller's to free; or what to exit
 * with: it was said. */
int backup_load(const struct backup_options *o, struct loaded *ret_loaded);
/* Takes out all queues but the one that was asked for. As above. */
int backup_keep_queue(const struct backup_options *o, struct loaded *l);
/* The state's image, piece by piece, until put says something else than 0. */
int backup_each_piece(struct state *s,
                      int (*put)(void *ctx, struct slice piece),
                      void *ctx);
/* What is in it, as the document. origin may be NULL. */
void backup_print_json(const struct backup_options *o,
                       const struct loaded *l,
                       const char *origin);
struct backup_totals backup_count(const struct state *s);
void backup_hex(const uint8_t *bytes, size_t size, char *out);

#endif
