/* Config check: what --check-config looks at beyond holdfast.conf itself: the files
 * that it names, as a start would use them. */
#ifndef HF_SERVER_CONFIG_CHECK_H
#define HF_SERVER_CONFIG_CHECK_H

#include "server/config.h"

/* Says on standard error what is wrong, all of it, and on standard output that the file
 * is good. What to exit with. */
int config_check(const struct config *c);

#endif
