/* Failure: which exit code a kind of failure has, once for all commands: by errno of a
 * file, code of a reply, close code, and what became of a connection. */
#ifndef HF_CTL_FAILURE_H
#define HF_CTL_FAILURE_H

#include "ctl/options.h"

/* Not there: CTL_NOT_FOUND; no right: CTL_DENIED; there already: CTL_EXISTS; else
 * CTL_FAILED. */
enum ctl_exit failure_of_errno(int error);
/* A failure code of the protocol, 0 for success. */
enum ctl_exit failure_of_reply(uint16_t code);
/* A close code that says what was wrong is a refusal; without one, or with another, the
 * connection broke. */
enum ctl_exit failure_of_close(uint16_t code);
const char *failure_close_text(uint16_t code); /* never NULL */
/* What wsclient_connect() returned. */
enum ctl_exit failure_of_connect(enum status status);

/* "path: why" of errno; returns its exit code. */
enum ctl_exit ctl_fail_file(const struct options *o, const char *path);
/* CTL_DONE when the file is there and can be read; else it was said. NULL is fine. */
enum ctl_exit ctl_check_file(const struct options *o, const char *path) MUST_USE;
/* No reply came: status is ST_TIMEOUT or that of a connection that ended with
 * close_code. unsure: what is not known now ("it may have been done"). */
enum ctl_exit ctl_fail_reply(const struct options *o,
                             enum status status,
                             uint16_t close_code,
                             const char *unsure);

#endif
