/* holdfastctl: the admin tool. */
#include "ctl/commands.h"

int
main(int argc, char **argv)
{
    return ctl_run(argc, argv);
}
