/* The state against a naive model: arrays, walked. The model knows the rules of the
 * manual; the state must agree on who has what, and in which order. */
#include "queue/state.h"

#include "rig.h"
#include "suites.h"

#include <stdlib.h>
#include <string.h>

#define MESSAGES_MAX 400
#define SESSIONS_MAX 8

struct model_message {
    struct uuid id;
    enum place place;
    uint64_t ready_ms;
    uint64_t order;
    uint64_t holder;
    uint64_t held_at; /* when it was given, in steps */
    uint32_t deliveries;
    size_t size_bytes;
};

struct model {
    struct model_message messages[MESSAGES_MAX];
    size_t message_count;
    uint64_t sessions[SESSIONS_MAX];
    size_t session_count;
    uint64_t step;
};

static int
by_waiting(const void *a, const void *b)
{
    const struct model_message *x = a;
    const struct model_message *y = b;
    if (x->ready_ms != y->ready_ms)
        return x->ready_ms < y->ready_ms ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

static int
by_held(const void *a, const void *b)
{
    const struct model_message *x = a;
    const struct model_message *y = b;
    return (x->held_at > y->held_at) - (x->held_at < y->held_at);
}

static size_t
select_messages(const struct model *model,
                enum place place,
                uint64_t holder,
                struct model_message *out)
{
    size_t count = 0;
    for (size_t i = 0; i < model->message_count; i++) {
        const struct model_message *m = &model->messages[i];
        if (m->place == place && m->holder == holder)
            out[count++] = *m;
    }
    return count;
}

static void
compare_session(const struct model *model, const struct queue *q, uint64_t number)
{
    static struct model_message expected[MESSAGES_MAX];
    const struct session *x = queue_session_by_number(q, number);
    ck_assert_ptr_nonnull(x);
    size_t count = select_messages(model, PLACE_HELD, number, expected);
    qsort(expected, count, sizeof expected[0], by_held);
    ck_assert_uint_eq(x->held_count, count);
    size_t i = 0;
    LIST_FOREACH (node, &x->held) {
        const struct message *m = CONTAINER_OF(node, struct message, in_held);
        ck_assert_int_eq(uuid_compare(&m->id, &expected[i].id), 0);
        ck_assert_uint_eq(m->deliveries, expected[i].deliveries);
        i++;
    }
}

static void
compare(const struct model *model, const struct state *s, const struct queue *q)
{
    static struct model_message expected[MESSAGES_MAX];
    size_t count = select_messages(model, PLACE_WAITING, 0, expected);
    qsort(expected, count, sizeof expected[0], by_waiting);
    ck_assert_uint_eq(q->waiting.count, count);
    size_t i = 0;
    for (struct tree_node *n = tree_first(&q->waiting); n != NULL; n = tree_next(n)) {
        const struct message *m = CONTAINER_OF(n, struct message, in_waiting);
        ck_assert_int_eq(uuid_compare(&m->id, &expected[i].id), 0);
        ck_assert_uint_eq(m->ready_ms, expected[i].ready_ms);
        i++;
    }
    ck_assert_uint_eq(q->line.count, model->session_count);
    for (i = 0; i < model->session_count; i++)
        compare_session(model, q, model->sessions[i]);
    ck_assert_uint_eq(q->counts.dead, select_messages(model, PLACE_DEAD, 0, expected));
    uint64_t memory_bytes = 0;
    for (i = 0; i < model->message_count; i++)
        if (model->messages[i].place != PLACE_NONE)
            memory_bytes += model->messages[i].size_bytes + 256;
    ck_assert_uint_eq(q->counts.memory_bytes, memory_bytes);
    const char *fault = state_check(s);
    ck_assert_msg(fault == NULL, "%s", fault);
}

/* Any message in a place; NULL when the few tries find none. */
static struct model_message *
pick(struct rig *rig, struct model *model, enum place place)
{
    for (int tries = 0; tries < 20 && model->message_count > 0; tries++) {
        struct model_message *m =
            &model->messages[rig_random(rig, model->message_count)];
        if (m->place == place)
            return m;
    }
    return NULL;
}

static void
step_publish(struct rig *rig, struct model *model, struct queue *q)
{
    if (model->message_count == MESSAGES_MAX)
        return;
    uint8_t durability = (uint8_t)rig_random(rig, 3);
    const struct message *m = rig_publish(rig, q, durability, "some body");
    model->messages[model->message_count++] = (struct model_message){
        .id = m->id,
        .place = PLACE_WAITING,
        .ready_ms = rig->now_ms + 1000ull * m->delay_secs,
        .order = m->order,
        .size_bytes = 9u + m->key_size,
    };
}

static void
step_assign(struct rig *rig, struct model *model, struct queue *q)
{
    struct model_message *m = pick(rig, model, PLACE_WAITING);
    if (m == NULL || model->session_count == 0)
        return;
    uint64_t number = model->sessions[rig_random(rig, model->session_count)];
    rig_assign(rig, queue_message(q, &m->id), queue_session_by_number(q, number));
    m->place = PLACE_HELD;
    m->holder = number;
    m->held_at = model->step;
    m->deliveries++;
}

static void
step_leave(struct rig *rig, struct model *model, struct queue *q)
{
    struct model_message *m = pick(rig, model, (enum place)(1 + rig_random(rig, 3)));
    if (m == NULL)
        return;
    struct message *real = queue_message(q, &m->id);
    uint64_t choice = rig_random(rig, 3);
    if (choice == 0 && m->place != PLACE_DEAD && real->durability > 0) {
        message_to_dlq(rig->a, real, DEAD_NACK, rig->now_ms);
        m->place = PLACE_DEAD;
    } else if (choice == 1 && m->place != PLACE_WAITING) {
        m->order = q->next_order;
        m->ready_ms = rig->now_ms;
        message_release(rig->a, real, m->order, rig->now_ms);
        m->place = PLACE_WAITING;
    } else {
        message_remove(rig->a, real);
        m->place = PLACE_NONE;
    }
    m->holder = 0;
}

/* The end of a session: durable ones first, as on every node. */
static void
step_end(struct rig *rig, struct model *model, struct queue *q)
{
    static struct model_message held[MESSAGES_MAX];
    size_t at = rig_random(rig, model->session_count);
    uint64_t number = model->sessions[at];
    uint64_t order = q->next_order;
    size_t count = select_messages(model, PLACE_HELD, number, held);
    qsort(held, count, sizeof held[0], by_held);
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < count; i++) {
            bool is_durable = queue_message(q, &held[i].id)->durability > 0;
            for (size_t j = 0; is_durable == (round == 0) && j < model->message_count;
                 j++)
                if (uuid_compare(&model->messages[j].id, &held[i].id) == 0) {
                    model->messages[j].order = order++;
                    model->messages[j].ready_ms = rig->now_ms;
                    model->messages[j].place = PLACE_WAITING;
                    model->messages[j].holder = 0;
                }
        }
    session_end(rig->a, queue_session_by_number(q, number), q->next_order, rig->now_ms);
    model->sessions[at] = model->sessions[--model->session_count];
}

START_TEST(the_state_agrees_with_a_naive_model)
{
    static struct model model;
    struct rig rig;
    memset(&model, 0, sizeof model);
    rig_init(&rig, (uint64_t)_i + 500);
    rig.a->journal = NULL; /* as on a follower: gone is freed */
    rig_begin(&rig);
    struct queue *q = rig_queue(&rig, "q", 10);
    for (model.step = 0; model.step < 1500; model.step++) {
        uint64_t choice = rig_random(&rig, 100);
        rig.now_ms += rig_random(&rig, 2);
        if (choice < 35)
            step_publish(&rig, &model, q);
        else if (choice < 65)
            step_assign(&rig, &model, q);
        else if (choice < 90)
            step_leave(&rig, &model, q);
        else if (choice < 96 && model.session_count < SESSIONS_MAX)
            model.sessions[model.session_count++] = rig_session(&rig, q, 1024)->number;
        else if (model.session_count > 0)
            step_end(&rig, &model, q);
        if (model.step % 10 == 0)
            compare(&model, rig.a, q);
    }
    rig.has_turn = false;
    rig_fini(&rig);
}
END_TEST

Suite *
suite_model(void)
{
    Suite *suite = suite_create("model");
    TCase *tc = tcase_create("model");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, the_state_agrees_with_a_naive_model, 0, 20);
    suite_add_tcase(suite, tc);
    return suite;
}
