/* Commands of holdfastctl that do more than pass a line to the control socket. */
#ifndef HF_CTL_COMMANDS_H
#define HF_CTL_COMMANDS_H

#include "ctl/options.h"

/* A whole run: main's arguments in, exit code out. */
int ctl_run(int argc, char **argv);

/* argv: what follows noun and verb (of help and completion: what follows the noun). */
enum ctl_exit ctl_pub(const struct options *o, int argc, char **argv);
enum ctl_exit ctl_sub(const struct options *o, int argc, char **argv);
enum ctl_exit ctl_bench(const struct options *o, int argc, char **argv);
enum ctl_exit ctl_top(const struct options *o, int argc, char **argv);
enum ctl_exit ctl_cluster_members(const struct options *o, int argc, char **argv);
enum ctl_exit ctl_session_list(const struct options *o, int argc, char **argv);
enum ctl_exit ctl_login_list(const struct options *o, int argc, char **argv);
enum ctl_exit ctl_queue_list(const struct options *o, int argc, char **argv);
enum ctl_exit ctl_data_init(const struct options *o, int argc, char **argv);
enum ctl_exit ctl_data_check(const struct options *o, int argc, char **argv);
enum ctl_exit ctl_data_repair(const struct options *o, int argc, char **argv);
enum ctl_exit ctl_cluster_add(const struct options *o, int argc, char **argv);
enum ctl_exit ctl_cluster_remove(const struct options *o, int argc, char **argv);
enum ctl_exit ctl_cluster_replace(const struct options *o, int argc, char **argv);
enum ctl_exit ctl_cluster_invite(const struct options *o, int argc, char **argv);
enum ctl_exit ctl_cluster_join(const struct options *o, int argc, char **argv);
enum ctl_exit ctl_cluster_recover(const struct options *o, int argc, char **argv);
enum ctl_exit ctl_backup(const struct options *o, int argc, char **argv);
enum ctl_exit ctl_backup_verify(const struct options *o, int argc, char **argv);
enum ctl_exit ctl_restore(const struct options *o, int argc, char **argv);
enum ctl_exit ctl_cert_ca(const struct options *o, int argc, char **argv);
enum ctl_exit ctl_cert_node(const struct options *o, int argc, char **argv);
enum ctl_exit ctl_cert_client_tls(const struct options *o, int argc, char **argv);
enum ctl_exit ctl_cert_show(const struct options *o, int argc, char **argv);
enum ctl_exit ctl_help(const struct options *o, int argc, char **argv);
/* Prints a shell's completions; not in help. */
enum ctl_exit ctl_completion(const struct options *o, int argc, char **argv);

#endif
