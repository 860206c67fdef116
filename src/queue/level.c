/* Levels: what is said when a node meets one that it does not know. */
#include "queue/level.h"

#include <stdio.h>

void
level_describe(const char *what,
               unsigned needs,
               unsigned knows,
               char ret_text[LEVEL_TEXT_BYTES])
{
    (void)snprintf(ret_text, LEVEL_TEXT_BYTES,
                   "%s %u is needed and this program knows up to %u: "
                   "run a newer version of holdfastd on this node",
                   what, needs, knows);
}
