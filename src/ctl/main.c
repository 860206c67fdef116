/* holdfastctl: the admin tool. */
#include "ctl/commands.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static const char HELP[] =
    "usage: holdfastctl [OPTIONS] NOUN VERB ...\n"
    "\n"
    "Over the control socket of any node (--socket PATH):\n"
    "  cluster status                   this node's part in the cluster\n"
    "  cluster leader                   the leader's id\n"
    "  cluster digest                   a digest of this node's state\n"
    "  cluster step-down [--to ID]      hand leadership over\n"
    "  queue create NAME [--tier standard|dev]\n"
    "                                   prints the host name and the three logins, "
    "once\n"
    "  queue list | show NAME | delete NAME\n"
    "\n"
    "On this machine:\n"
    "  data init --config FILE          make a node's data directory, once\n"
    "  data check DIR                   examine that of a stopped node\n"
    "  data repair DIR [--yes]          mend that of a node that no other can help\n"
    "\n"
    "As a client (--url wss://HOST:PORT/ --login-file FILE [--ca FILE] [--host "
    "NAME]):\n"
    "  pub [BODY | -]                   publish BODY, or each line of standard input\n"
    "      [--durability 0|1|2] [--delay SECS] [--key KEY] [--binary] [--copy]\n"
    "  sub [--count N] [--capacity N] [--no-ack] [--copy]\n"
    "                                   print messages and acknowledge them\n"
    "  bench [--publishers N] [--subscribers N] [--window N] [--size BYTES]\n"
    "        [--durability 0|1|2] [--count N] [--seconds N]\n"
    "                                   measure rate and latency\n"
    "\n"
    "  --json           one JSON document on standard output\n"
    "  --timeout SECS   how long to wait for an answer (10)\n";

static bool
is_help(int argc, char **argv)
{
    if (argc == 0)
        return true;
    if (strcmp(argv[0], "help") == 0)
        return true;
    /* "pub help" publishes the word. */
    return argc == 2 && strcmp(argv[1], "help") == 0 && strcmp(argv[0], "pub") != 0;
}

int
main(int argc, char **argv)
{
    struct options o;
    int count = 0;
    static const struct {
        const char *noun;
        enum ctl_exit (*run)(const struct options *o, int argc, char **argv);
    } own[] = {
        {"pub", ctl_pub}, {"sub", ctl_sub}, {"bench", ctl_bench}, {"data", ctl_data}};
    (void)signal(SIGPIPE, SIG_IGN);
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        (void)printf("holdfastctl %s\n", PACKAGE_VERSION);
        return CTL_DONE;
    }
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        (void)fputs(HELP, stdout);
        return CTL_DONE;
    }
    if (options_parse(argc, argv, &o, &count) != ST_OK)
        return CTL_USAGE;
    if (is_help(count, argv)) {
        (void)fputs(HELP, count == 0 ? stderr : stdout);
        return count == 0 ? CTL_USAGE : CTL_DONE;
    }
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (strcmp(own[i].noun, argv[0]) == 0)
            return (int)own[i].run(&o, count - 1, argv + 1);
    return (int)ctl_control(&o, count, argv);
}
