/* Timers: what happens at a cluster time, in one heap. */
#ifndef HF_BROKER_TIMER_H
#define HF_BROKER_TIMER_H

#include <stdint.h>

struct broker;
struct timer;

/* Sets or moves it. A time that has come is next turn's. */
void timer_set(struct broker *b, struct timer *timer, uint64_t at_ms);
void timer_cancel(struct broker *b, struct timer *timer);
/* One that is due, taken off; NULL when there is none. */
struct timer *timer_pop(struct broker *b);

#endif
