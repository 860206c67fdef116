/* Exit codes of holdfastctl by kind of failure: what a command of the control socket
 * ends with, and holdfastd when it works on a stopped node's files for holdfastctl. */
#ifndef HF_SERVER_EXIT_H
#define HF_SERVER_EXIT_H

enum control_exit {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,     /* or not confirmed: nothing was done */
    EXIT_NO_LEADER = 3, /* no leader, or no quorum, by the deadline */
    EXIT_NOT_FOUND = 4,
    EXIT_EXISTS = 5,  /* or a node has it open */
    EXIT_REFUSED = 7, /* understood, and not possible as things are */
};

#endif
