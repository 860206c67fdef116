/* Daemon: holdfastd as a helper of holdfastctl: it knows the formats of what lies on
 * disks. It is looked for beside holdfastctl, then on PATH. */
#ifndef HF_CTL_DAEMON_H
#define HF_CTL_DAEMON_H

#include "ctl/options.h"

#define DAEMON_ARGUMENTS_MAX 12

/* Becomes holdfastd; comes back only when that failed. arguments end with NULL, and the
 * first is the program's name. */
enum ctl_exit daemon_become(const struct options *o, const char *const *arguments);
/* Runs it beside; what it wrote to standard output is appended to out, the rest goes
 * where ours does. What it exited with. */
enum ctl_exit
daemon_run(const struct options *o, const char *const *arguments, struct bytes *out);
/* A whole command: becomes holdfastd; with --json runs it and prints the object that it
 * printed, or makes one of its exit code. */
enum ctl_exit daemon_command(const struct options *o, const char *const *arguments);

#endif
