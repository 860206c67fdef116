/* Settings of a queue: one table, in the order of the manual.
 *
 * Not here: the check of a setcfg (src/broker compares with least and most) and how a
 * value reads for a client. The formula that depends on memory is integer arithmetic,
 * and its result is stored in the queue when it is created: nodes of different size
 * agree. */
#include "queue/settings.h"

#include "base/limits.h"
#include "base/log.h"

#include <assert.h>
#include <string.h>

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

#define MEMORY_LEAST_BYTES (64 * MIB)
#define MEMORY_MOST_BYTES  ((uint64_t)1 << 46)
#define MESSAGE_TYPICAL    KIB
#define TASK_MEMORY_BYTES  (64 * KIB)
#define TASKS_LEAST        1000
#define TASKS_MOST         100000
#define TASKS_DEV          100

static const struct setting_info table[SETTING_COUNT] = {
    [SETTING_MAX_WS_MSG_LEN] = {"max-ws-msg-len", true, 1024, MIB, 65536, 65536},
    [SETTING_MAX_SUBSCRIBER_CAPACITY] = {"max-subscriber-capacity", true, 1,
                                         LIMIT_CAPACITY, LIMIT_CAPACITY,
                                         LIMIT_CAPACITY},
    [SETTING_SAVED_SESSION_TIMEOUT_SECS] = {"saved-session-timeout-secs", true, 10,
                                            86400, 10, 3600},
    [SETTING_NO_REPLY_TIMEOUT_SECS] = {"no-reply-timeout-secs", true, 1, 300, 10, 10},
    [SETTING_STATS_FREQUENCY_SECS] = {"stats-frequency-secs", true, 300, 3600, 300,
                                      3600},
    [SETTING_STATS_RETENTION_YRS] = {"stats-retention-period-yrs", true, 1, 10, 5, 1},
    [SETTING_USAGE_FREQUENCY_SECS] = {"usage-frequency-secs", true, 1800, 86400, 1800,
                                      1800},
    [SETTING_USAGE_RETENTION_YRS] = {"usage-retention-period-yrs", true, 1, 20, 5, 5},
    [SETTING_MAX_TASKS] = {"max-tasks", false, 1, TASKS_MOST, 0, TASKS_DEV},
    [SETTING_MAX_MESSAGES] = {"max-messages", false, 1, LIMIT_MESSAGES, 0, 0},
    [SETTING_MAX_MESSAGES_MEMORY] = {"max-messages-memory", false, MIB,
                                     MEMORY_MOST_BYTES, 0, 0},
    [SETTING_MAX_WRITE_QUEUE_BYTES] = {"max-write-queue-bytes", false, 64 * KIB, GIB,
                                       4 * MIB, MIB},
    [SETTING_MESSAGE_TIMEOUT_SECS] = {"message-timeout-secs", false, 1, 3600, 30, 30},
    [SETTING_LOG_LEVEL] = {"log-level", false, LOG_ERROR, LOG_DEBUG, LOG_INFO,
                           LOG_INFO},
};

const struct setting_info *
setting_info(enum setting_id id)
{
    assert((unsigned)id < SETTING_COUNT);
    return &table[id];
}

enum setting_id
setting_find(struct slice name)
{
    unsigned id = 0;
    while (id < SETTING_COUNT && !slice_equal(name, slice_from_text(table[id].name)))
        id++;
    return (enum setting_id)id;
}

static uint64_t
clamp(uint64_t value, uint64_t least, uint64_t most)
{
    if (value < least)
        return least;
    return value > most ? most : value;
}

void
settings_defaults(enum queue_tier tier, uint64_t memory_bytes, uint64_t *ret_values)
{
    for (unsigned id = 0; id < SETTING_COUNT; id++)
        ret_values[id] = tier == TIER_DEV ? table[id].dev : table[id].standard;

    uint64_t messages_bytes =
        clamp(memory_bytes / 4, MEMORY_LEAST_BYTES, MEMORY_MOST_BYTES);
    ret_values[SETTING_MAX_MESSAGES_MEMORY] = messages_bytes;
    ret_values[SETTING_MAX_MESSAGES] =
        clamp(messages_bytes / MESSAGE_TYPICAL, 1, LIMIT_MESSAGES);
    if (tier != TIER_DEV)
        ret_values[SETTING_MAX_TASKS] =
            clamp(memory_bytes / TASK_MEMORY_BYTES, TASKS_LEAST, TASKS_MOST);
}
