/* Links: frames between nodes in order, with delay; a frame may be dropped, a link may
 * be cut (also one way) and is reset when either end dies. */
#include "sim.h"

#include "base/mem.h"

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

void
sim_link_send(struct sim *s, uint32_t from, uint64_t to, const struct rlog_frame *frame)
{
    struct sim_node *a = &s->nodes[from];
    struct sim_node *b = &s->nodes[to];
    if (a->is_dying || !a->is_linked[to] || !b->is_alive || s->is_cut[from][to] ||
        sim_chance(s, s->drop_permille))
        return;
    uint64_t at = s->now_us + sim_range(s, 80, 1500);
    if (sim_chance(s, s->slow_permille))
        at += sim_range(s, 1000, 200000);
    if (at <= s->link_free_us[from][to])
        at = s->link_free_us[from][to] + 1;
    s->link_free_us[from][to] = at;
    struct sim_frame *f = mem_calloc(1, sizeof *f);
    *f = (struct sim_frame){
        .from = from,
        .from_incarnation = a->incarnation,
        .kind = frame->kind,
        .body = flatten(frame),
    };
    sim_push(s, at,
             &(struct sim_event){.type = EVENT_FRAME,
                                 .target = (uint32_t)to,
                                 .incarnation = b->incarnation,
                                 .number = frame->kind,
                                 .object = f});
}

/* number: peer, with bit 32 for up and bit 33 for refused. */
static void
push_change(
    struct sim *s, struct sim_node *a, uint32_t peer, bool is_up, bool is_refused)
{
    uint64_t number = peer | (uint64_t)is_up << 32 | (uint64_t)is_refused << 33;
    sim_push(s, s->now_us + sim_range(s, 100, 5000),
             &(struct sim_event){.type = EVENT_LINK,
                                 .target = a->id,
                                 .incarnation = a->incarnation,
                                 .number = number});
}

void
sim_links_update(struct sim *s)
{
    for (uint32_t i = 1; i <= s->options.nodes; i++) {
        struct sim_node *a = &s->nodes[i];
        for (uint32_t j = 1; j <= s->options.nodes && a->is_alive; j++) {
            struct sim_node *b = &s->nodes[j];
            bool want = b->is_alive && i != j;
            if (want == a->is_linked[j])
                continue;
            /* A cut link is noticed late or never; a dead process at once. */
            a->is_linked[j] = want;
            push_change(s, a, j, want, !want && !s->is_cut[j][i]);
        }
    }
}
