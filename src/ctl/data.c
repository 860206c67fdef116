/* data: holdfastd works on data directories, since it knows the formats, and goes on in
 * this process. */
#include "ctl/commands.h"
#include "ctl/daemon.h"
#include "ctl/failure.h"

#include <string.h>

/* option: holdfastd's; dir: its value, or NULL. */
static enum ctl_exit
run_data(const struct options *o, const char *option, const char *dir)
{
    const char *arguments[DAEMON_ARGUMENTS_MAX] = {"holdfastd", option};
    int count = 2;
    if (dir != NULL)
        arguments[count++] = dir;
    if (o->config != NULL) {
        arguments[count++] = "--config";
        arguments[count++] = o->config;
    }
    if (o->is_json)
        arguments[count++] = "--json";
    if (o->is_sure)
        arguments[count++] = "--yes";
    enum ctl_exit code = ctl_check_file(o, dir);
    if (code == CTL_DONE)
        code = ctl_check_file(o, o->config);
    return code == CTL_DONE ? daemon_command(o, arguments) : code;
}

enum ctl_exit
ctl_data_init(const struct options *o, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    if (o->config == NULL)
        return ctl_fail(o, CTL_USAGE, "usage: holdfastctl data init --config FILE");
    return run_data(o, "--init", NULL);
}

enum ctl_exit
ctl_data_check(const struct options *o, int argc, char **argv)
{
    (void)argc;
    return run_data(o, "--data-check", argv[0]);
}

enum ctl_exit
ctl_data_repair(const struct options *o, int argc, char **argv)
{
    (void)argc;
    return run_data(o, "--data-repair", argv[0]);
}

enum ctl_exit
ctl_cluster_join(const struct options *o, int argc, char **argv)
{
    const char *arguments[DAEMON_ARGUMENTS_MAX] = {"holdfastd", "--join", "--config",
                                                   o->config};
    (void)argc;
    (void)argv;
    if (o->config == NULL)
        return ctl_fail(
            o, CTL_USAGE,
            "usage: holdfastctl cluster join --config FILE [--invite FILE]");
    int count = 4;
    if (o->invite != NULL) {
        arguments[count++] = "--invite";
        arguments[count++] = o->invite;
    }
    if (o->is_json)
        arguments[count++] = "--json";
    enum ctl_exit code = ctl_check_file(o, o->config);
    if (code == CTL_DONE)
        code = ctl_check_file(o, o->invite);
    return code == CTL_DONE ? daemon_command(o, arguments) : code;
}

enum ctl_exit
ctl_cluster_recover(const struct options *o, int argc, char **argv)
{
    const char *arguments[DAEMON_ARGUMENTS_MAX] = {"holdfastd", "--recover", "--config",
                                                   o->config};
    int count = 4;
    (void)argc;
    (void)argv;
    if (o->config == NULL)
        return ctl_fail(o, CTL_USAGE,
                        "usage: holdfastctl cluster recover --config FILE [--yes]");
    if (o->is_sure)
        arguments[count++] = "--yes";
    if (o->is_json)
        arguments[count++] = "--json";
    enum ctl_exit code = ctl_check_file(o, o->config);
    return code == CTL_DONE ? daemon_command(o, arguments) : code;
}
