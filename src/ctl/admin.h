/* Admin: the administrator's commands of the manual over wss, and what more of them is
 * made from. */
#ifndef HF_CTL_ADMIN_H
#define HF_CTL_ADMIN_H

#include "base/json.h"
#include "ctl/options.h"
#include "ctl/wsclient.h"

/* A connection that is logged in as administrator, and its latest reply. */
struct admin {
    const struct options *options;
    struct wsclient *client;
    struct slice reply; /* as it came; borrowed until the next question */
    struct json_object fields;
};

enum ctl_exit admin_begin(struct admin *a, const struct options *o) MUST_USE;
void admin_end(struct admin *a); /* also after a failed admin_begin */
/* {"cmd":cmd, ...} out, its reply back. CTL_DONE: a good reply is in a. A failure code
 * was said; 301 (no such message) is CTL_NOT_FOUND. */
enum ctl_exit admin_ask(struct admin *a, struct slice request) MUST_USE;

/* CTL_USAGE, which was said: id is none of a message. NULL is fine. */
enum ctl_exit admin_check_id(const struct options *o, const char *id) MUST_USE;

/* A whole command: {"cmd":cmd}, with "id" unless it is NULL, and the reply printed:
 * text when it is not NULL, else the reply's fields one a line; the reply with --json.
 */
enum ctl_exit admin_command(const struct options *o,
                            const char *cmd,
                            const char *id,
                            const char *text) MUST_USE;

enum ctl_exit ctl_msg_list(const struct options *o, int argc, char **argv);
enum ctl_exit ctl_msg_get(const struct options *o, int argc, char **argv);
enum ctl_exit ctl_msg_add(const struct options *o, int argc, char **argv);
enum ctl_exit ctl_msg_delete(const struct options *o, int argc, char **argv);
enum ctl_exit ctl_dlq_list(const struct options *o, int argc, char **argv);
enum ctl_exit ctl_dlq_get(const struct options *o, int argc, char **argv);
enum ctl_exit ctl_dlq_move(const struct options *o, int argc, char **argv);
enum ctl_exit ctl_dlq_delete(const struct options *o, int argc, char **argv);
enum ctl_exit ctl_msg_purge(const struct options *o, int argc, char **argv);
enum ctl_exit ctl_msg_history(const struct options *o, int argc, char **argv);
enum ctl_exit ctl_dlq_redrive(const struct options *o, int argc, char **argv);
enum ctl_exit ctl_dlq_purge(const struct options *o, int argc, char **argv);
/* Questions of the purges. */
enum ctl_exit ctl_msg_purge_question(const struct options *o,
                                     bool is_wss,
                                     struct bytes *ret_question);
enum ctl_exit ctl_dlq_purge_question(const struct options *o,
                                     bool is_wss,
                                     struct bytes *ret_question);
enum ctl_exit ctl_cfg_get(const struct options *o, int argc, char **argv);
enum ctl_exit ctl_cfg_set(const struct options *o, int argc, char **argv);
enum ctl_exit ctl_stats_live(const struct options *o, int argc, char **argv);
enum ctl_exit ctl_stats_day(const struct options *o, int argc, char **argv);
enum ctl_exit ctl_usage_day(const struct options *o, int argc, char **argv);

#endif
