/* Commands of holdfastctl that do more than pass a line to the control socket. */
#ifndef HF_CTL_COMMANDS_H
#define HF_CTL_COMMANDS_H

#include "ctl/options.h"

/* argv: what follows the noun. */
enum ctl_exit ctl_pub(const struct options *o, int argc, char **argv);
enum ctl_exit ctl_sub(const struct options *o, int argc, char **argv);
enum ctl_exit ctl_bench(const struct options *o, int argc, char **argv);
enum ctl_exit ctl_data(const struct options *o, int argc, char **argv);
/* The whole command line to the node's control socket; prints its answer. */
enum ctl_exit ctl_control(const struct options *o, int argc, char **argv);

#endif
