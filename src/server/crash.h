/* Crash: last words in the form of the log: what the C library says of a failed
 * assertion, and what libevent says of anything, become lines like all others. Linked
 * into holdfastd alone. */
#ifndef HF_SERVER_CRASH_H
#define HF_SERVER_CRASH_H

/* Before the first thread is started. */
void crash_init(void);

#endif
