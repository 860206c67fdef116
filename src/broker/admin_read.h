/* What administrators read: messages, pages of them, settings, history. Each fills in
 * the reply and returns 0, or a code (501: out of memory). */
#ifndef HF_BROKER_ADMIN_READ_H
#define HF_BROKER_ADMIN_READ_H

#include "broker/parcel.h"

struct part;

/* The message of a command: a dead one for the DLQ's commands, else a waiting or held
 * one. NULL when there is none, or no id. */
struct message *admin_find_message(const struct part *part,
                                   const struct admin_fields *fields);
unsigned admin_read_message(struct message *m, struct request *r);
/* Of one in any place. 301: there is none. */
unsigned admin_read_story(const struct part *part, uint64_t now_ms, struct request *r);
unsigned admin_read_list(const struct part *part, struct request *r);
unsigned admin_read_config(const struct part *part, struct request *r);
/* 407 for a day before the queue's first. */
unsigned admin_check_day(const struct part *part, struct request *r);
unsigned admin_read_history(const struct part *part, struct request *r);

#endif
