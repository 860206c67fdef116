/* Verbs that only records use: queues, logins, settings, history, epochs. For src/queue
 * alone; a leader makes the record and calls state_apply_record(). */
#ifndef HF_QUEUE_ADMIN_H
#define HF_QUEUE_ADMIN_H

#include "queue/state.h"

struct queue *queue_create(struct state *s,
                           uint32_t number,
                           const struct record_queue_create *create,
                           uint64_t now_ms);
/* Its messages of durability 0 go at once: a rollback brings the queue back without. */
void queue_delete(struct state *s, struct queue *q);
void
queue_set_login(struct state *s, struct queue *q, const struct record_login_set *set);
void queue_set_settings(struct state *s,
                        struct queue *q,
                        const struct record_settings_set *set);
void
queue_add_stats(struct state *s, struct queue *q, const struct record_stats_row *row);
void
queue_add_usage(struct state *s, struct queue *q, const struct record_usage_row *row);
void queue_trim(struct state *s, struct queue *q, bool is_usage, uint64_t before_day);
/* Never lowers it. */
void state_raise_level(struct state *s, uint32_t level);
/* A new leader. state->stamp_ms must still be that of the entry before. */
void state_epoch(struct state *s, uint64_t leader, uint64_t now_ms);

#endif
