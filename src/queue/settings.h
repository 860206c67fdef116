/* Settings of a queue: names, ranges, defaults (manual, "Limits and settings").
 *
 * Values are whole numbers kept in the replicated state from the queue's creation on.
 * messages-memory-used is no setting: getcfg computes it. log-level is a number here
 * (enum log_level) and text for the client. */
#ifndef HF_QUEUE_SETTINGS_H
#define HF_QUEUE_SETTINGS_H

#include "base/bytes.h"

enum setting_id {
    SETTING_MAX_WS_MSG_LEN,
    SETTING_MAX_SUBSCRIBER_CAPACITY,
    SETTING_SAVED_SESSION_TIMEOUT_SECS,
    SETTING_NO_REPLY_TIMEOUT_SECS,
    SETTING_STATS_FREQUENCY_SECS,
    SETTING_STATS_RETENTION_YRS,
    SETTING_USAGE_FREQUENCY_SECS,
    SETTING_USAGE_RETENTION_YRS,
    /* read only from here on */
    SETTING_MAX_TASKS,
    SETTING_MAX_MESSAGES,
    SETTING_MAX_MESSAGES_MEMORY,
    SETTING_MAX_WRITE_QUEUE_BYTES,
    SETTING_MESSAGE_TIMEOUT_SECS,
    SETTING_LOG_LEVEL,
    SETTING_COUNT
};

enum queue_tier {
    TIER_STANDARD = 0,
    TIER_DEV = 1, /* the manual's Dev/test tier */
};

struct setting_info {
    const char *name; /* as in getcfg and setcfg */
    bool is_writable;
    uint64_t
        least; /* the range for setcfg; for read-only ones the range for start values */
    uint64_t most;
    uint64_t standard; /* default of each tier; 0 where memory decides */
    uint64_t dev;
};

const struct setting_info *setting_info(enum setting_id id);
/* SETTING_COUNT when there is none of that name. */
enum setting_id setting_find(struct slice name);
/* Fills values[SETTING_COUNT] for a new queue on a machine with memory_bytes. Integer
 * arithmetic only: max-messages-memory is a quarter of the memory, at least 64 MiB;
 * max-messages is that over 1 KiB, at most LIMIT_MESSAGES; max-tasks is memory over
 * 64 KiB, between 1,000 and 100,000 (100 on the dev tier). */
void
settings_defaults(enum queue_tier tier, uint64_t memory_bytes, uint64_t *ret_values);

#endif
