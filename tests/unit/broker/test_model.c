/* Random clients against the broker, with all checks: see model.h. A failing seed is
 * put into the list of those that run each time. HF_MODEL_SEEDS runs more, from
 * HF_MODEL_FROM. */
#include "tests/unit/broker/model.h"
#include "tests/unit/broker/suites.h"

#include <stdio.h>
#include <stdlib.h>

#define EVENTS      6000
#define CHECK_EVERY 7

static void
run(uint64_t seed, bool is_loud)
{
    static struct model m;
    model_init(&m, seed);
    for (unsigned i = 1; i <= EVENTS; i++) {
        model_event(&m);
        model_receive(&m);
        const char *fault = i % CHECK_EVERY == 0 ? world_check(&m.world) : NULL;
        if (fault != NULL)
            ck_abort_msg("seed %llu, event %u: %s", (unsigned long long)seed, i, fault);
        if (i % 1000 == 0) {
            broker_hold(m.world.b, m.is_held = false);
            model_settle(&m);
            ck_assert_ptr_null(world_check(&m.world));
        }
    }
    /* The clients did meet each other. */
    ck_assert_uint_gt(m.delivered, 100);
    ck_assert_uint_gt(m.acked, 5);
    if (is_loud)
        printf("seed %llu: %zu messages, %llu delivered, %llu acked, %llu resumed, "
               "%llu terms\n",
               (unsigned long long)seed, m.message_count,
               (unsigned long long)m.delivered, (unsigned long long)m.acked,
               (unsigned long long)m.resumed, (unsigned long long)m.terms);
    model_fini(&m);
}

START_TEST(random_clients_are_never_told_a_lie)
{
    run((uint64_t)_i + 1, false);
}
END_TEST

START_TEST(more_seeds)
{
    const char *seeds = getenv("HF_MODEL_SEEDS");
    const char *from = getenv("HF_MODEL_FROM");
    uint64_t first = from == NULL ? 1000 : strtoull(from, NULL, 10);
    uint64_t count = seeds == NULL ? 0 : strtoull(seeds, NULL, 10);
    for (uint64_t i = 0; i < count; i++)
        run(first + i, true);
}
END_TEST

Suite *
suite_model(void)
{
    Suite *suite = suite_create("model");
    TCase *tc = tcase_create("model");
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, random_clients_are_never_told_a_lie, 0, 20);
    suite_add_tcase(suite, tc);
    TCase *more = tcase_create("more");
    tcase_set_timeout(more, 3600);
    tcase_add_test(more, more_seeds);
    suite_add_tcase(suite, more);
    return suite;
}
