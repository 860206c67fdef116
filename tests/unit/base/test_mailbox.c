/* Tests of base/mailbox; the threads one belongs under thread sanitizer. */
#include "base/mailbox.h"

#include "base/list.h"
#include "suites.h"

#include <pthread.h>
#include <sched.h>

#define SENDERS 4
#define MAILS   100000
#define BURST   7

struct letter {
    struct mail mail;
    uint32_t sender;
    uint32_t number;
};

static void
put_letters(struct mailbox *box, struct letter *letters, size_t count, bool expect_bell)
{
    struct mail_chain chain = {NULL, NULL};
    for (size_t i = 0; i < count; i++)
        mail_chain_add(&chain, &letters[i].mail);
    ck_assert_int_eq(mailbox_put(box, &chain), expect_bell);
    ck_assert_ptr_null(chain.first);
    ck_assert_ptr_null(chain.last);
}

START_TEST(mail_comes_out_oldest_first)
{
    struct mailbox box;
    struct letter letters[10] = {{{NULL}, 0, 0}};
    mailbox_init(&box);
    for (uint32_t i = 0; i < 10; i++)
        letters[i].number = i;
    put_letters(&box, letters, 3, true);
    put_letters(&box, letters + 3, 1, false);
    put_letters(&box, letters + 4, 6, false);
    uint32_t expected = 0;
    for (struct mail *m = mailbox_take(&box); m != NULL; m = m->next)
        ck_assert_uint_eq(CONTAINER_OF(m, struct letter, mail)->number, expected++);
    ck_assert_uint_eq(expected, 10);
    ck_assert_ptr_null(mailbox_take(&box));
    put_letters(&box, letters, 2, true); /* empty again: ring again */
}
END_TEST

START_TEST(a_chain_is_walked_first_put_first)
{
    struct mail_chain chain = {NULL, NULL};
    struct letter letters[3] = {{{NULL}, 0, 0}};
    for (int i = 0; i < 3; i++)
        mail_chain_add(&chain, &letters[i].mail);
    ck_assert_ptr_eq(chain.first, &letters[0].mail);
    ck_assert_ptr_eq(chain.first->next, &letters[1].mail);
    ck_assert_ptr_eq(chain.last, &letters[2].mail);
    ck_assert_ptr_null(chain.last->next);
}
END_TEST

START_TEST(an_empty_chain_rings_no_bell)
{
    struct mailbox box;
    struct mail_chain chain = {NULL, NULL};
    mailbox_init(&box);
    ck_assert(!mailbox_put(&box, &chain));
    ck_assert_ptr_null(mailbox_take(&box));
}
END_TEST

/* What the sender threads share with the taker; bells counts what put told. */
struct office {
    struct mailbox box;
    _Atomic uint32_t bells;
    _Atomic uint32_t next_sender;
};

static void *
send_all(void *arg)
{
    struct office *office = arg;
    uint32_t sender = atomic_fetch_add(&office->next_sender, 1);
    struct letter *letters = malloc(MAILS * sizeof(*letters));
    for (uint32_t sent = 0; sent < MAILS;) {
        struct mail_chain chain = {NULL, NULL};
        for (uint32_t i = 0; i < 1 + sent % BURST && sent < MAILS; i++) {
            letters[sent] = (struct letter){{NULL}, sender, sent};
            mail_chain_add(&chain, &letters[sent].mail);
            sent++;
        }
        if (mailbox_put(&office->box, &chain))
            atomic_fetch_add(&office->bells, 1);
    }
    return letters;
}

START_TEST(each_senders_order_is_kept_between_threads)
{
    struct office office = {.bells = 0, .next_sender = 0};
    pthread_t threads[SENDERS];
    uint32_t next[SENDERS] = {0};
    uint32_t takes = 0;
    mailbox_init(&office.box);
    for (int i = 0; i < SENDERS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, send_all, &office), 0);
    for (uint32_t got = 0; got < SENDERS * MAILS;) {
        struct mail *m = mailbox_take(&office.box);
        if (m == NULL)
            sched_yield();
        else
            takes++;
        for (; m != NULL; m = m->next, got++) {
            struct letter *l = CONTAINER_OF(m, struct letter, mail);
            ck_assert_uint_eq(l->number, next[l->sender]);
            next[l->sender]++;
        }
    }
    for (int i = 0; i < SENDERS; i++) {
        void *letters;
        ck_assert_int_eq(pthread_join(threads[i], &letters), 0);
        free(letters);
        ck_assert_uint_eq(next[i], MAILS);
    }
    /* Exactly one bell for each time that the box went from empty to full. */
    ck_assert_uint_eq(atomic_load(&office.bells), takes);
}
END_TEST

Suite *
suite_mailbox(void)
{
    const TTest *const tests[] = {
        mail_comes_out_oldest_first,
        a_chain_is_walked_first_put_first,
        an_empty_chain_rings_no_bell,
        each_senders_order_is_kept_between_threads,
    };
    return suite_of("mailbox", tests, COUNT_OF(tests));
}
