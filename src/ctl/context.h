/* Context: a queue's address and logins under a name, in
 * ~/.config/holdfast/contexts/NAME.json, which only its owner may read. */
#ifndef HF_CTL_CONTEXT_H
#define HF_CTL_CONTEXT_H

#include "ctl/options.h"

/* Each text of it is empty when it is not there. */
struct context {
    char name[65];
    char url[512];
    char ca[1024];
    char host[256];
    struct bytes logins; /* {"publisher":{..},..} as it was, or empty */
};

void context_fini(struct context *c); /* wipes the passwords */
/* name NULL: the one in use. CTL_NOT_FOUND without a message when there is none in use;
 * every other failure was said. */
enum ctl_exit context_load(const struct options *o,
                           const char *name,
                           struct context *ret_context) MUST_USE;

bool context_is_in_use(void);

enum ctl_exit ctl_context_list(const struct options *o, int argc, char **argv);
enum ctl_exit ctl_context_show(const struct options *o, int argc, char **argv);
enum ctl_exit ctl_context_use(const struct options *o, int argc, char **argv);
enum ctl_exit ctl_context_set(const struct options *o, int argc, char **argv);
enum ctl_exit ctl_context_delete(const struct options *o, int argc, char **argv);

#endif
