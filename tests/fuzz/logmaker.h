/* Log maker: a log of segments as the disk's writer leaves it, from a script of bytes,
 * then damaged in one place; and what a scan of it must say.
 *
 * A script byte: the low three bits are the operation, the others its argument.
 *
 *   0  the segment ends, synced, and the next begins
 *   1  all so far is known to be synced
 *   2  the next record replaces the last entries, in a new term
 *   *  a record with a payload of so many bytes
 *
 * Behind the last record of the last segment there is a mark when the script's length
 * is odd. */
#ifndef HF_TESTS_LOGMAKER_H
#define HF_TESTS_LOGMAKER_H

#include "raft/disk_format.h"

#define MAKER_SEGMENTS 4
#define MAKER_RECORDS  64
#define MAKER_CLUSTER  77
#define MAKER_NODE     3

struct made_record {
    uint32_t segment;
    uint32_t offset;
    struct record_head head;
    bool is_head_whole; /* after the damage */
    bool is_whole;
};

struct logmaker {
    struct bytes segments[MAKER_SEGMENTS];
    uint32_t segment_count;
    struct made_record records[MAKER_RECORDS + 1]; /* and a mark */
    uint32_t count;                                /* of records */
    bool has_mark;                                 /* records[count] is one */
    bool is_head_damaged;                          /* of segment damaged */
    uint32_t damaged;
    uint64_t synced;
};

enum damage { DAMAGE_NONE, DAMAGE_FLIP, DAMAGE_ZERO, DAMAGE_CUT };

struct damage_at {
    enum damage kind;
    uint32_t segment;
    uint32_t offset;
    uint32_t size; /* of what is zeroed */
};

void logmaker_init(struct logmaker *m, struct slice script);
void logmaker_fini(struct logmaker *m);
void logmaker_damage(struct logmaker *m, const struct damage_at *at);
/* How many records a scan finds, when it may: UINT32_MAX when it must refuse.
 * clean_number: of the clean stop, 0 for none. */
uint32_t
logmaker_expected(const struct logmaker *m, bool is_crashed, uint64_t clean_number);

#endif
