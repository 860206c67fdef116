/* The test switches of raft/guard.h. In a normal build there is nothing here. */
#include "raft/guard.h"

#ifdef HF_TEST_GUARDS

static uint64_t guards_off;

void
rlog_test_switch_off(uint64_t mask)
{
    guards_off = mask;
}

bool
rlog_guard_is_on(enum rlog_guard guard)
{
    return (guards_off >> guard & 1) == 0;
}

#else

/* ISO C wants a declaration in every file. */
_Static_assert(RLOG_GUARD_COUNT <= 64, "one bit each");

#endif
