/* Records: the decisions of the leader, as they stand in log entries.
 *
 * One entry is one turn's decisions:
 *
 *   offset size
 *   0      1    sync: 1 when the entry must be synced before it counts, else 0
 *   1      1    version, RECORD_VERSION
 *   2      2    behind: by how many seconds, rounded up, cluster time was behind the
 *               wall clocks; 65535: as many or more
 *   4      4    count of records
 *   8      8    stamp: cluster time in ms when the entry was begun; never less than
 *               the stamp of the entry before
 *   16     ...  records: u8 type, u32 size of what follows, fields
 *
 * The fields of each type are the byte tables in man/holdfast-files.5. Unknown types
 * and versions are refused whole (ST_VERSION): the node stops rather than guess.
 * A publish record carries CRC-32C of its head and of its body apart, so that a damaged
 * body can still be named. Encoders append to a struct bytes; decoding borrows slices
 * from the entry. Pure. */
#ifndef HF_QUEUE_RECORD_H
#define HF_QUEUE_RECORD_H

#include "queue/record_fields.h"

#define RECORD_VERSION      1
#define RECORD_HEADER_BYTES 16

struct record {
    enum record_type type;
    uint32_t queue; /* queue number; 0 for NOOP, EPOCH and LEVEL */
    union {
        uint64_t leader; /* EPOCH: node id */
        uint32_t level;  /* LEVEL, queue/level.h */
        struct record_queue_create create;
        struct record_login_set login;
        struct record_settings_set settings;
        struct record_publish publish;
        struct record_session session;
        struct record_message message;
        struct record_sweep sweep;
        struct record_stats_row stats;
        struct record_usage_row usage;
        struct {
            uint64_t before_day; /* HISTORY_TRIM: days since 1970 */
            uint8_t trim_usage;  /* 1 the usage rows, 0 the stats rows */
        };
    };
};

/* Times, orders and session numbers are below these: arithmetic on them cannot
 * overflow, and a decoder refuses more. */
#define RECORD_TIME_LIMIT   ((uint64_t)1 << 48)
#define RECORD_NUMBER_LIMIT ((uint64_t)1 << 62)

/* Begins an entry in out (which must be empty): sync 0, count 0. */
void entry_begin(struct bytes *out, uint64_t stamp_ms);
/* Appends the record and counts it. */
void entry_add(struct bytes *out, const struct record *record);
void entry_set_sync(struct bytes *out);
void entry_set_behind(struct bytes *out, uint16_t behind_secs);
uint32_t entry_count(const struct bytes *entry);

struct entry_reader {
    struct reader reader;
    uint64_t stamp_ms;
    uint32_t left; /* records not yet read */
    uint16_t behind_secs;
    bool is_sync;
};

/* ST_CORRUPT or ST_VERSION when the header is not ours. */
enum status entry_open(struct entry_reader *r, struct slice entry) MUST_USE;
/* ST_NOTFOUND at the end (and only if nothing follows the last record), ST_CORRUPT or
 * ST_VERSION for what cannot be read. ret_record borrows from the entry. */
enum status entry_next(struct entry_reader *r, struct record *ret_record) MUST_USE;
/* Whether the body is the one that was published (CRC-32C). */
bool record_publish_is_whole(const struct record_publish *publish);

#endif
