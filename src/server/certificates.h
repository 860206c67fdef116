/* Certificates: reading both of a node's again at HUP, and the alarm ahead of their
 * end. Core thread. */
#ifndef HF_SERVER_CERTIFICATES_H
#define HF_SERVER_CERTIFICATES_H

#include <stdbool.h>
#include <stdint.h>

struct node;

#define CERTIFICATE_WARN_DAYS 14

/* HUP: the files are read again; each of the two that is not good stays as it was. The
 * alarm is looked at anew. */
void certificates_reload(struct node *n);
/* Once a turn: at the start, after a reload and once a day the log is told of each
 * certificate that ends within CERTIFICATE_WARN_DAYS, or has ended. */
void certificates_turn(struct node *n, uint64_t now_ms);

/* Whole days until ends_s (both UNIX time), rounded down: -1 from the first second
 * after the end on. */
int64_t certificate_days(int64_t ends_s, int64_t now_s);

#endif
