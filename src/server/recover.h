/* Recover: a majority of the voters is lost for good, and one node that is left becomes
 * the only member of its cluster, with what it has. For holdfastctl cluster recover. */
#ifndef HF_SERVER_RECOVER_H
#define HF_SERVER_RECOVER_H

#include "server/config.h"

struct recover_options {
    const struct config *config;
    bool is_json;
    bool is_sure; /* --yes: do not ask */
};

/* Of a stopped node. Says on stderr what it has, what may be lost, and asks. What to
 * exit with: 0 done, or it is the only voter already; 1 failed, or not possible; 2 not
 * confirmed; 4 no data there; 5 a node has it open. */
int recover(const struct recover_options *options);

#endif
