/* Levels: which kinds of records and images a cluster may write.
 *
 * A node that is given a record or an image of a kind that it does not know must stop.
 * So a new kind is written only when every node knows it: when the cluster's level,
 * which is part of the state, has been raised. At a level entries and images are byte
 * for byte what the programs of that level wrote, and programs go back one version as
 * long as the level was not raised. It never falls. */
#ifndef HF_QUEUE_LEVEL_H
#define HF_QUEUE_LEVEL_H

/* 2: sweeps of many messages, sessions ended by operators, trails of messages. */
#define HF_LEVEL_FIRST 1
#define HF_LEVEL_NOW   2 /* the highest that this program knows */

#define HF_LEVEL_SWEEPS 2
#define HF_LEVEL_TRAILS 2

/* "WHAT needs is needed and this program knows up to knows: ..." */
#define LEVEL_TEXT_BYTES 160
void level_describe(const char *what,
                    unsigned needs,
                    unsigned knows,
                    char ret_text[LEVEL_TEXT_BYTES]);

#endif
