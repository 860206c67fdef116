/* Refusals: see refusals.h. */
#include "cluster/refusals.h"

/* FNV-1a: only tells lines apart; whoever finds a collision mutes his own line. */
static uint64_t
hash_text(uint64_t hash, const char *text)
{
    for (; *text != '\0'; text++)
        hash = (hash ^ (uint8_t)*text) * 0x100000001b3u;
    return hash;
}

bool
refusals_note(struct refusals *r, uint64_t now_ms, const char *event, const char *text)
{
    uint64_t hash = hash_text(hash_text(0xcbf29ce484222325u, event), text) | 1;
    int free_place = -1;

    for (int i = 0; i < REFUSALS_PLACES; i++) {
        if (r->places[i].hash == 0 || r->places[i].until_ms <= now_ms) {
            free_place = i;
        } else if (r->places[i].hash == hash) {
            r->muted++;
            return false;
        }
    }
    if (free_place < 0) {
        r->muted++;
        return false;
    }
    r->places[free_place].hash = hash;
    r->places[free_place].until_ms = now_ms + REFUSALS_QUIET_MS;
    if (r->muted > 0)
        log_event(LOG_WARN, event, "%s muted=%llu", text, (unsigned long long)r->muted);
    else
        log_event(LOG_WARN, event, "%s", text);
    r->muted = 0;
    return true;
}
