/* Statistics: live counters, and rows of history by the clock.
 *
 * Rows stand on whole multiples of their period since 1970 (UTC), so rows of all nodes
 * and terms fall on the same times. One that was lost with its leader, or whose time
 * passed while another was elected, is made by the next one; a longer time without a
 * leader leaves a gap. */
#ifndef HF_BROKER_STATS_H
#define HF_BROKER_STATS_H

#include "broker/parcel.h"

#define STATS_DAY_MS ((uint64_t)86400000)

struct broker;
struct part;

/* The nine columns of getlivestats. */
void part_live(const struct part *part, uint64_t columns[STATS_COLUMNS]);
/* Sets the timers of the next rows by the present settings. */
void stats_schedule(struct broker *b, struct part *part);
/* The same as a term begins; a row that is missing comes first. */
void stats_begin(struct broker *b, struct part *part);
/* A row is due. */
void stats_row(struct broker *b, struct part *part);
void usage_row(struct broker *b, struct part *part);

/* All rows of a day, malloc'ed; NULL and 0 when there are none. ST_NOMEM. */
enum status stats_read(const struct part *part,
                       bool is_usage,
                       uint64_t day,
                       struct history_view **ret_rows,
                       uint32_t *ret_count) MUST_USE;
/* One row for a day: averages, rounded to the nearest; of usage the sums, but of the
 * bytes held the average. at_secs is the caller's. count > 0. */
struct history_view
stats_summary(const struct history_view *rows, uint32_t count, bool is_usage);

#endif
