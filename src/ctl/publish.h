/* Publish: a publish request from options, of a publisher or an administrator. */
#ifndef HF_CTL_PUBLISH_H
#define HF_CTL_PUBLISH_H

#include "ctl/options.h"

/* Appends the request; cmd: the administrator's command, NULL for a publisher. Without
 * --binary body must be valid UTF-8. */
void publish_text(const struct options *o,
                  const char *cmd,
                  struct slice body,
                  struct bytes *out);

#endif
