/* data init: holdfastd makes the directory, since it knows the formats; it is looked
 * for beside holdfastctl, then on PATH. */
#include "ctl/commands.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* "…/bin/holdfastctl" -> the first of "…/bin/holdfastd", "…/sbin/holdfastd" and (build
 * tree) "…/../server/holdfastd" that is there. */
static bool
find_server(char *out, size_t size)
{
    static const char *const places[] = {"holdfastd", "../sbin/holdfastd",
                                         "../server/holdfastd"};
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0)
        return false;
    self[n] = '\0';
    char *slash = strrchr(self, '/');
    if (slash == NULL)
        return false;
    slash[1] = '\0';
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        int length = snprintf(out, size, "%s%s", self, places[i]);
        if (length > 0 && (size_t)length < size && access(out, X_OK) == 0)
            return true;
    }
    return false;
}

enum ctl_exit
ctl_data(const struct options *o, int argc, char **argv)
{
    char path[PATH_MAX];
    if (argc != 1 || strcmp(argv[0], "init") != 0 || o->config == NULL) {
        (void)fprintf(stderr, "usage: holdfastctl data init --config FILE\n");
        return CTL_USAGE;
    }
    if (find_server(path, sizeof path))
        (void)execl(path, "holdfastd", "--config", o->config, "--init", (char *)NULL);
    else
        (void)execlp("holdfastd", "holdfastd", "--config", o->config, "--init",
                     (char *)NULL);
    (void)fprintf(stderr, "holdfastctl: holdfastd cannot be run: %s\n",
                  strerror(errno));
    return CTL_FAILED;
}
