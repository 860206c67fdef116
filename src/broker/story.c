/* Story: see the header. When it came and who has it are in the message itself; what is
 * between is its trail, if it has one. */
#include "broker/story.h"

#include <assert.h>

static void
add(struct message_story *story,
    uint64_t at_ms,
    uint64_t session,
    const char *name,
    const char *reason)
{
    assert(story->count < STORY_MOST);
    story->events[story->count++] = (struct story_event){at_ms, session, name, reason};
}

static const char *
place_name(const struct message *m, uint64_t now_ms)
{
    static const char *const names[] = {
        [PLACE_NONE] = "gone",
        [PLACE_WAITING] = "waiting",
        [PLACE_HELD] = "held",
        [PLACE_DEAD] = "dead",
    };
    bool is_delayed = m->place == PLACE_WAITING && m->ready_ms > now_ms;
    return is_delayed ? "delayed" : names[m->place];
}

/* What of its present place the trail does not say: at the first level it says nothing,
 * and who has it first is never noted. */
static void
add_present(struct message_story *story, const struct message *m)
{
    const struct trail *trail = m->trail;
    uint8_t newest = trail == NULL ? 0 : trail->events[trail->count - 1].kind;
    if (m->place == PLACE_HELD && newest != TRAIL_HELD)
        add(story, 0, m->holder->number, trail_name(TRAIL_HELD), "");
    if (m->place == PLACE_DEAD && trail == NULL) {
        static const uint8_t kinds[DEAD_REASONS] = {
            [DEAD_NACK] = TRAIL_NACKED,
            [DEAD_MOVED] = TRAIL_MOVED,
            [DEAD_DAMAGED] = TRAIL_DAMAGED,
        };
        uint8_t kind = kinds[m->dead_reason % DEAD_REASONS];
        add(story, m->dead_ms, 0, trail_name(kind), trail_reason(kind));
    }
}

void
message_story(const struct message *m, uint64_t now_ms, struct message_story *ret_story)
{
    const struct trail *trail = m->trail;
    *ret_story = (struct message_story){
        .id = m->id,
        .place = place_name(m, now_ms),
        .deliveries = m->deliveries,
        .dropped = trail == NULL ? 0 : trail->dropped,
    };
    add(ret_story, m->received_ms, 0, "received", "");
    for (uint8_t i = 0; trail != NULL && i < trail->count; i++) {
        const struct trail_event *e = &trail->events[i];
        add(ret_story, e->at_ms, e->session, trail_name(e->kind),
            trail_reason(e->kind));
    }
    add_present(ret_story, m);
}
