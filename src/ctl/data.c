/* data: holdfastd works on data directories, since it knows the formats; it is looked
 * for beside holdfastctl, then on PATH, and goes on in this process. */
#include "ctl/commands.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ARGUMENTS_MAX 8

static const char USAGE[] =
    "usage: holdfastctl data init --config FILE\n"
    "       holdfastctl data check DIR [--config FILE]\n"
    "       holdfastctl data repair DIR [--yes] [--config FILE]\n";

static const struct {
    const char *noun;
    const char *verb;
    const char *option; /* holdfastd's */
    int arguments;      /* behind the verb */
} VERBS[] = {
    {"data", "init", "--init", 0},
    {"data", "check", "--data-check", 1},
    {"data", "repair", "--data-repair", 1},
};
#define VERB_COUNT (sizeof VERBS / sizeof VERBS[0])

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
    const char *arguments[ARGUMENTS_MAX + 1] = {"holdfastd"};
    int count = 1;
    size_t verb = 0;
    while (verb < VERB_COUNT && (argc < 1 || strcmp(VERBS[verb].verb, argv[0]) != 0))
        verb++;
    if (verb == VERB_COUNT || argc != 1 + VERBS[verb].arguments ||
        (VERBS[verb].arguments == 0 && o->config == NULL)) {
        (void)fputs(USAGE, stderr);
        return CTL_USAGE;
    }
    arguments[count++] = VERBS[verb].option;
    if (VERBS[verb].arguments == 1)
        arguments[count++] = argv[1];
    if (o->config != NULL) {
        arguments[count++] = "--config";
        arguments[count++] = o->config;
    }
    if (o->is_json && VERBS[verb].arguments == 1)
        arguments[count++] = "--json";
    if (o->is_sure)
        arguments[count++] = "--yes";
    if (find_server(path, sizeof path))
        (void)execv(path, (char *const *)(uintptr_t)arguments);
    else
        (void)execvp("holdfastd", (char *const *)(uintptr_t)arguments);
    (void)fprintf(stderr, "holdfastctl: holdfastd cannot be run: %s\n",
                  strerror(errno));
    return CTL_FAILED;
}
