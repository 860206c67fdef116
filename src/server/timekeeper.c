/* Timekeeper: see the header. */
#include "server/timekeeper.h"

#include "queue/record.h" /* RECORD_TIME_LIMIT */

#define TIME_VERSION 1u
#define SLEW_PARTS   1000u /* more than any leader's clock goes back */

static uint32_t
find(const struct timekeeper *t, uint64_t peer)
{
    uint32_t i = 0;
    while (i < t->count && t->peers[i].id != peer)
        i++;
    return i;
}

void
timekeeper_up(struct timekeeper *t, uint64_t peer)
{
    uint32_t i = find(t, peer);
    if (i == RLOG_MEMBERS_MAX)
        return;
    if (i == t->count)
        t->count++;
    t->peers[i].id = peer;
    t->peers[i].wall_ms = 0;
}

void
timekeeper_down(struct timekeeper *t, uint64_t peer)
{
    uint32_t i = find(t, peer);
    if (i < t->count)
        t->peers[i] = t->peers[--t->count];
}

static uint64_t
since(uint64_t at_ms, uint64_t now_ms)
{
    return now_ms > at_ms ? now_ms - at_ms : 0;
}

void
timekeeper_seen(struct timekeeper *t, uint64_t now_ms)
{
    uint64_t gap_ms = since(t->seen_ms, now_ms);
    if (t->seen_ms != 0 && gap_ms > TIMEKEEPER_GAP_MS) {
        t->gap_ms = gap_ms;
        t->gap_ended_ms = now_ms;
    }
    t->seen_ms = now_ms;
}

static uint64_t
doubt_now(const struct timekeeper *t, uint64_t now_ms)
{
    bool is_recent =
        t->gap_ended_ms != 0 && since(t->gap_ended_ms, now_ms) < TIMEKEEPER_BACKLOG_MS;
    return is_recent ? t->gap_ms : 0;
}

uint64_t
timekeeper_doubt_ms(const struct timekeeper *t)
{
    uint64_t most_ms = 0;
    for (uint32_t i = 0; i < t->count; i++)
        if (t->peers[i].wall_ms != 0 && t->peers[i].doubt_ms > most_ms)
            most_ms = t->peers[i].doubt_ms;
    return most_ms;
}

static void
set_known(struct timekeeper *t, uint64_t cluster_ms, uint64_t now_ms)
{
    t->known_ms = cluster_ms;
    t->known_at_ms = now_ms;
}

void
timekeeper_note(struct timekeeper *t,
                uint64_t term,
                uint64_t cluster_ms,
                uint64_t now_ms)
{
    set_known(t, cluster_ms, now_ms);
    t->known_term = term;
    t->is_sure = true;
}

/* The leader's word again. What comes late is less than what is known: it counts only
 * as far as the leader may have slewed its clock back. */
static void
note_again(struct timekeeper *t, uint64_t cluster_ms, uint64_t now_ms)
{
    uint64_t passed_ms = since(t->known_at_ms, now_ms);
    uint64_t least_ms = t->known_ms + passed_ms - passed_ms / SLEW_PARTS - 1;
    set_known(t, cluster_ms > least_ms ? cluster_ms : least_ms, now_ms);
}

static void
hear_cluster_time(struct timekeeper *t,
                  uint64_t term,
                  uint64_t cluster_ms,
                  bool is_leading,
                  uint64_t now_ms)
{
    if (t->known_ms == 0 || term > t->known_term) {
        timekeeper_note(t, term, cluster_ms, now_ms);
        t->is_sure = is_leading;
    } else if (term == t->known_term && is_leading) {
        note_again(t, cluster_ms, now_ms);
        t->is_sure = true;
    } else if (term == t->known_term && !t->is_sure &&
               cluster_ms > t->known_ms + since(t->known_at_ms, now_ms)) {
        set_known(t, cluster_ms, now_ms);
    }
}

enum status
timekeeper_hear(struct timekeeper *t, uint64_t peer, struct slice body, uint64_t now_ms)
{
    struct reader r = reader_of(body);
    uint8_t version = read_u8(&r);
    uint8_t leads = read_u8(&r);
    uint16_t zero = read_u16(&r);
    uint32_t zeros = read_u32(&r);
    uint64_t wall_ms = read_u64(&r);
    uint64_t cluster_ms = read_u64(&r);
    uint64_t term = read_u64(&r);
    if (!reader_done(&r) || version != TIME_VERSION || leads > 1 ||
        (zero | zeros) != 0 || wall_ms >= RECORD_TIME_LIMIT ||
        cluster_ms >= RECORD_TIME_LIMIT)
        return ST_INVALID;
    uint32_t i = find(t, peer);
    if (i < t->count) {
        t->peers[i].wall_ms = wall_ms;
        t->peers[i].at_ms = now_ms;
        t->peers[i].doubt_ms = doubt_now(t, now_ms);
    }
    if (cluster_ms != 0)
        hear_cluster_time(t, term, cluster_ms, leads != 0, now_ms);
    return ST_OK;
}

void
timekeeper_put(uint8_t out[TIMEKEEPER_FRAME_BYTES],
               uint64_t wall_ms,
               uint64_t cluster_ms,
               uint64_t term,
               bool is_leading)
{
    put_u64(out, TIME_VERSION);
    out[1] = is_leading;
    put_u64(out + 8, wall_ms);
    put_u64(out + 16, cluster_ms);
    put_u64(out + 24, term);
}

uint64_t
timekeeper_wall_ms(const struct timekeeper *t, uint64_t own_ms, uint64_t now_ms)
{
    uint64_t sorted[RLOG_MEMBERS_MAX + 1] = {own_ms};
    uint32_t n = 1;
    for (uint32_t i = 0; i < t->count; i++) {
        if (t->peers[i].wall_ms == 0)
            continue;
        uint64_t ms = t->peers[i].wall_ms + since(t->peers[i].at_ms, now_ms);
        uint32_t at = n++;
        for (; at > 0 && sorted[at - 1] > ms; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = ms;
    }
    return sorted[(n - 1) / 2];
}

void
timekeeper_applied(struct timekeeper *t, uint64_t term)
{
    if (term > t->log_term)
        t->log_term = term;
}

uint64_t
timekeeper_cluster_ms(const struct timekeeper *t,
                      uint64_t stamp_ms,
                      uint16_t behind_secs,
                      uint64_t wall_ms,
                      uint64_t now_ms)
{
    if (stamp_ms == 0 && t->known_ms == 0)
        return wall_ms;
    uint64_t known_ms = 0;
    uint64_t reckoned_ms = 0;
    if (t->known_ms != 0)
        known_ms = t->known_ms + since(t->known_at_ms, now_ms);
    if (behind_secs < TIMEKEEPER_BEHIND_MOST && wall_ms > (uint64_t)behind_secs * 1000)
        reckoned_ms = wall_ms - (uint64_t)behind_secs * 1000;
    uint64_t ms = known_ms;
    if (known_ms == 0 || (t->known_term < t->log_term && reckoned_ms < known_ms))
        ms = reckoned_ms;
    return ms > stamp_ms ? ms : stamp_ms;
}
