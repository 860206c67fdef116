/* Crash: see crash.h.
 *
 * A failed assert() anywhere in the process, also in a library, calls __assert_fail();
 * the program's own comes before the C library's. Whatever else a dying C library
 * writes (a broken heap, a smashed stack) cannot be caught: those lines go to standard
 * error as they are. */
#include "server/crash.h"

#include "base/log.h"

#include <assert.h>
#include <event2/event.h>
#include <stdlib.h>

void
__assert_fail(const char *assertion,
              const char *file,
              unsigned int line,
              const char *function)
{
    log_event(LOG_ERROR, "node.assertion",
              "file=%s line=%u function=%s assertion=%s consequence=aborting",
              log_quote(file), line, log_quote(function), log_quote(assertion));
    abort();
}

static void
library_cb(int severity, const char *text)
{
    enum log_level level = severity == EVENT_LOG_ERR    ? LOG_ERROR
                           : severity == EVENT_LOG_WARN ? LOG_WARN
                           : severity == EVENT_LOG_MSG  ? LOG_INFO
                                                        : LOG_DEBUG;
    log_event(level, "library.message", "library=libevent text=%s", log_quote(text));
}

static void
fatal_cb(int error)
{
    log_event(LOG_ERROR, "library.fatal",
              "library=libevent error=%d consequence=aborting", error);
    abort();
}

void
crash_init(void)
{
    event_set_log_callback(library_cb);
    event_set_fatal_callback(fatal_cb);
}
