/* Links: frames between nodes in order, with delay. A frame may be dropped, come twice
 * or overtake others; a link may be cut (also one way) and is reset when either end
 * dies. */
#include "sim.h"

#include "base/mem.h"
#include "checker.h"
#include "raft/wire.h"

#include <string.h>

static struct blob *
flatten(const struct rlog_frame *frame)
{
    size_t size = frame->head.size;
    for (uint32_t i = 0; i < frame->count; i++)
        size += frame->entries[i].size;
    struct blob *body = blob_new(size);
    memcpy(body->data, frame->head.data, frame->head.size);
    size_t at = frame->head.size;
    for (uint32_t i = 0; i < frame->count; i++) {
        struct slice payload = rlog_payload(&frame->entries[i]);
        if (payload.size > 0)
            memcpy(body->data + at, payload.data, payload.size);
        at += payload.size;
    }
    return body;
}

static void
push_frame(struct sim *s,
           const struct sim_node *a,
           const struct sim_node *b,
           uint8_t kind,
           struct blob *body,
           uint64_t at_us)
{
    struct sim_frame *f = mem_calloc(1, sizeof *f);
    *f = (struct sim_frame){
        .from = a->id,
        .from_incarnation = a->incarnation,
        .kind = kind,
        .body = body,
    };
    sim_push(s, at_us,
             &(struct sim_event){.type = EVENT_FRAME,
                                 .target = b->id,
                                 .incarnation = b->incarnation,
                                 .number = kind,
                                 .object = f});
}

/* When it arrives: in its order, unless it overtakes or is overtaken. */
static uint64_t
arrival(struct sim *s, uint32_t from, uint64_t to)
{
    uint64_t at = s->now_us + sim_range(s, 80, 1500);
    if (sim_chance(s, sim_weather(s, FAULT_SLOW)))
        at += sim_range(s, 1000, 200000);
    if (sim_chance(s, sim_weather(s, FAULT_SHUFFLE)))
        return at + sim_range(s, 0, 20000);
    if (at <= s->link_free_us[from][to])
        at = s->link_free_us[from][to] + 1;
    s->link_free_us[from][to] = at;
    return at;
}

static void
tell(struct sim *s, uint32_t from, uint64_t to, uint8_t kind)
{
    if (kind == RLOG_FRAME_SNAPSHOT_OFFER)
        sim_trigger(s, TRIGGER_OFFER, from, (uint32_t)to);
    else if (kind == RLOG_FRAME_SNAPSHOT_CHUNK)
        sim_trigger(s, TRIGGER_CHUNK, from, (uint32_t)to);
}

void
sim_link_send(struct sim *s, uint32_t from, uint64_t to, const struct rlog_frame *frame)
{
    struct sim_node *a = &s->nodes[from];
    struct sim_node *b = &s->nodes[to];
    if (a->is_dying)
        return;
    oracle_sent(s->oracle, s, a, to, frame);
    if (!a->is_linked[to] || !b->is_alive || sim_is_cut(s, from, (uint32_t)to) ||
        sim_chance(s, sim_weather(s, FAULT_LOSS)))
        return;
    struct blob *body = flatten(frame);
    uint64_t at = arrival(s, from, to);
    if (sim_chance(s, sim_weather(s, FAULT_TWICE))) {
        uint64_t late_us =
            sim_chance(s, 100) ? sim_range(s, 100000, 4000000) : sim_range(s, 1, 50000);
        push_frame(s, a, b, frame->kind, blob_get(body), at + late_us);
    }
    push_frame(s, a, b, frame->kind, body, at);
    tell(s, from, to, frame->kind);
}

/* number: peer, with bit 32 for up and bit 33 for refused. */
static void
push_change(
    struct sim *s, struct sim_node *a, uint32_t peer, bool is_up, bool is_refused)
{
    uint64_t number = peer | (uint64_t)is_up << 32 | (uint64_t)is_refused << 33;
    uint64_t at_us = s->now_us + sim_range(s, 100, 5000);
    if (at_us <= a->link_told_us[peer])
        at_us = a->link_told_us[peer] + 1; /* in their order */
    a->link_told_us[peer] = at_us;
    sim_push(s, at_us,
             &(struct sim_event){.type = EVENT_LINK,
                                 .target = a->id,
                                 .incarnation = a->incarnation,
                                 .number = number});
}

void
sim_links_update(struct sim *s)
{
    for (uint32_t i = 1; i <= s->node_count; i++) {
        struct sim_node *a = &s->nodes[i];
        for (uint32_t j = 1; j <= s->node_count && a->is_alive; j++) {
            struct sim_node *b = &s->nodes[j];
            bool want = b->is_alive && i != j;
            if (want == a->is_linked[j])
                continue;
            /* A cut link is noticed late or never; a dead process at once. */
            a->is_linked[j] = want;
            push_change(s, a, j, want, !want && !sim_is_cut(s, j, i));
        }
    }
}
