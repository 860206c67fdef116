/* Output: data on standard output, all else on standard error. With --json standard
 * output is one document whatever happens: what fails is remembered here, and ctl_run
 * writes the document of it when the command wrote none. */
#ifndef HF_CTL_OUTPUT_H
#define HF_CTL_OUTPUT_H

#include "base/bytes.h"

/* Exit codes by kind of failure: holdfastctl(8); failure.h says which kind is which. 0
 * to 5 and 7 are the control socket's too. */
enum ctl_exit {
    CTL_DONE = 0,
    CTL_FAILED = 1,
    CTL_USAGE = 2, /* or not confirmed: nothing was done */
    CTL_NO_LEADER = 3,
    CTL_NOT_FOUND = 4,
    CTL_EXISTS = 5,
    CTL_UNREACHABLE = 6, /* no connection, or it broke */
    CTL_REFUSED = 7,     /* understood, and not done: by the queue or the node */
    CTL_DENIED = 8,      /* no right: a file's mode, a wrong login */
    CTL_TIMEOUT = 9,     /* no answer in time: it may have been done */
};

/* Of one run. */
struct ctl_state {
    bool has_document;  /* the one of --json is written */
    char error[512];    /* the first failure */
    char username[129]; /* from a prompt; wiped at the end */
    char password[129];
};

struct options;

/* "holdfastctl: ..." on standard error; the first becomes the "error" of --json.
 * Returns code. */
enum ctl_exit
ctl_fail(const struct options *o, enum ctl_exit code, const char *format, ...)
    PRINTF_LIKE(3, 4);

/* The answer: json, an object, with --json, else text (a final newline is added to what
 * is not empty). */
void ctl_answer(const struct options *o, struct slice json, struct slice text);
/* One of many: json, or text, as one line more. For the streams of the table. */
void ctl_answer_line(const struct options *o, struct slice json, struct slice text);
/* Asks on the terminal; true when the answer was yes or --yes was given. Without a
 * terminal it says that --yes is needed. */
bool ctl_confirm(const struct options *o, const char *question);

uint64_t ctl_now_ms(void); /* monotonic */

/* Ends a run: with --json and a failure, the document {"error":..., "exit":N}. */
void ctl_end(const struct options *o, bool is_stream, enum ctl_exit code);

#endif
