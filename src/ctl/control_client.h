/* The control socket's client: one line out, one line back. */
#ifndef HF_CTL_CONTROL_CLIENT_H
#define HF_CTL_CONTROL_CLIENT_H

#include "ctl/options.h"

/* What a node answered. */
struct control_answer {
    enum ctl_exit exit;
    struct bytes json; /* an object, or empty */
    struct bytes text;
    bool has_stream; /* so many bytes follow, and a line that says {"whole":true} */
    uint64_t stream_bytes;
};

void control_answer_fini(struct control_answer *a);
/* Asks --socket. The words are passed on with those options given that are for the
 * node. CTL_DONE: there is an answer, good or bad. Anything else was said (ctl_fail).
 */
enum ctl_exit control_ask(const struct options *o,
                          int argc,
                          const char *const *argv,
                          struct control_answer *ret_answer) MUST_USE;
/* Opens --socket and asks as above; what is answered is the caller's to read. CTL_DONE,
 * or it was said. */
enum ctl_exit control_begin(const struct options *o,
                            int argc,
                            const char *const *argv,
                            int *ret_fd) MUST_USE;
/* An answer's line taken apart. ST_INVALID: it is none. */
enum status control_read_answer(struct slice line, struct control_answer *a) MUST_USE;
/* Asks and prints what was answered. */
enum ctl_exit
ctl_control(const struct options *o, int argc, const char *const *argv) MUST_USE;
/* Prints an answer that was got, and returns its exit code. */
enum ctl_exit control_print(const struct options *o, const struct control_answer *a);

#endif
