/* Run: a command line from its words to its exit code. */
#include "ctl/commands.h"
#include "ctl/context.h"
#include "ctl/control_client.h"
#include "ctl/table.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define QUESTION_BYTES 256

/* Options that the command does not take. */
static enum ctl_exit
check_options(const struct options *o, const struct ctl_command *c)
{
    uint64_t known = table_options(c);
    for (int i = 0; i < OPTION_IDS; i++)
        if ((o->given & ~known & UINT64_C(1) << i) != 0)
            return ctl_fail(o, CTL_USAGE, "%s%s%s does not take --%s", c->noun,
                            c->verb != NULL ? " " : "", c->verb != NULL ? c->verb : "",
                            option_info((enum option_id)i)->name);
    return CTL_DONE;
}

static enum ctl_exit
check_arguments(const struct options *o, const struct ctl_command *c, int argc)
{
    if (argc >= c->min_args && (c->max_args < 0 || argc <= c->max_args))
        return CTL_DONE;
    return ctl_fail(o, CTL_USAGE, "usage: holdfastctl %s%s%s%s%s", c->noun,
                    c->verb != NULL ? " " : "", c->verb != NULL ? c->verb : "",
                    c->arguments[0] != '\0' ? " " : "", c->arguments);
}

/* Over wss where it is the only way, or when the line says so. */
static bool
is_over_wss(const struct options *o, const struct ctl_command *c)
{
    if ((c->ways & ON_WSS) == 0)
        return false;
    if ((c->ways & ~ON_WSS) == 0)
        return true;
    return (o->given & OPT(SOCKET)) == 0 && (o->given & (OPT(URL) | OPT(CONTEXT))) != 0;
}

/* A context is in use, and the line does not say which way is meant: what was looked at
 * through the context could be another queue than the one here. */
static enum ctl_exit
check_way(const struct options *o, const struct ctl_command *c)
{
    bool is_both = (c->ways & ON_WSS) != 0 && (c->ways & ON_SOCKET) != 0;
    const char *url = getenv("HOLDFAST_URL");
    if (!is_both || (o->given & (OPT(SOCKET) | OPT(URL) | OPT(CONTEXT))) != 0 ||
        ((url == NULL || url[0] == '\0') && !context_is_in_use()))
        return CTL_DONE;
    return ctl_fail(
        o, CTL_USAGE,
        "which queue? A context or HOLDFAST_URL is in use, and '%s %s' works "
        "on this node too: give --socket PATH, --url or --context",
        c->noun, c->verb != NULL ? c->verb : "");
}

static enum ctl_exit
agree(const struct options *o, const struct ctl_command *c, const char *first)
{
    char question[QUESTION_BYTES];
    const char *at = c->question != NULL ? strstr(c->question, "%s") : NULL;
    if (c->question == NULL || o->is_dry_run || o->is_sure)
        return CTL_DONE;
    if (c->question_cb != NULL && isatty(STDIN_FILENO) != 0) {
        struct bytes asked = {0};
        enum ctl_exit code = c->question_cb(o, is_over_wss(o, c), &asked);
        (void)snprintf(question, sizeof question, "%.*s", (int)asked.size,
                       (const char *)asked.data);
        bytes_fini(&asked);
        if (code != CTL_DONE)
            return code;
    } else if (at != NULL)
        (void)snprintf(question, sizeof question, "%.*s%s%s", (int)(at - c->question),
                       c->question, first != NULL ? first : "", at + 2);
    else
        (void)snprintf(question, sizeof question, "%s", c->question);
    return ctl_confirm(o, question) ? CTL_DONE : CTL_USAGE;
}

static enum ctl_exit
run_command(const struct options *o,
            const struct ctl_command *c,
            int argc,
            char **argv,
            int used)
{
    enum ctl_exit code = check_options(o, c);
    if (code == CTL_DONE)
        code = check_arguments(o, c, argc - used);
    if (code == CTL_DONE)
        code = check_way(o, c);
    if (code == CTL_DONE)
        code = agree(o, c, argc > used ? argv[used] : NULL);
    if (code != CTL_DONE)
        return code;
    if (is_over_wss(o, c))
        return c->wss_cb(o, argc - used, argv + used);
    if (c->run_cb != NULL)
        return c->run_cb(o, argc - used, argv + used);
    return ctl_control(o, argc, (const char *const *)argv);
}

/* What a line without a command means. */
static enum ctl_exit
run_words(const struct options *o, int argc, char **argv)
{
    if (argc == 0)
        return ctl_fail(o, CTL_USAGE, "a command is wanted: see holdfastctl help");
    if (!table_has_noun(argv[0]))
        return ctl_fail(o, CTL_USAGE,
                        "there is no command '%s%s%s': see holdfastctl help", argv[0],
                        argc > 1 ? " " : "", argc > 1 ? argv[1] : "");
    if (argc == 1)
        return ctl_fail(o, CTL_USAGE, "'%s' wants a verb: see holdfastctl help %s",
                        argv[0], argv[0]);
    return ctl_fail(o, CTL_USAGE,
                    "there is no command '%s %s': see holdfastctl help %s", argv[0],
                    argv[1], argv[0]);
}

static enum ctl_exit
run_version(const struct options *o)
{
    static const char json[] = "{\"version\":\"" PACKAGE_VERSION "\"}";
    ctl_answer(o, slice_from_text(json),
               slice_from_text("holdfastctl " PACKAGE_VERSION));
    return CTL_DONE;
}

int
ctl_run(int argc, char **argv)
{
    struct ctl_state state = {.has_document = false};
    struct options o;
    int count = 0;
    int used = 0;
    const struct ctl_command *c = NULL;
    (void)signal(SIGPIPE, SIG_IGN);
    enum ctl_exit code = options_parse(argc, argv, &state, &o, &count);
    if (code == CTL_DONE) {
        c = table_find(count, argv, &used);
        /* "pub help" publishes the word. */
        bool is_noun_help = c == NULL && count == 2 && strcmp(argv[1], "help") == 0;
        if (o.is_version)
            code = run_version(&o);
        else if (o.is_help || is_noun_help)
            code = ctl_help(&o, is_noun_help ? 1 : count, argv);
        else if (c == NULL && count > 0 && strcmp(argv[0], "completion") == 0)
            code = ctl_completion(&o, count - 1, argv + 1);
        else if (c == NULL)
            code = run_words(&o, count, argv);
        else
            code = run_command(&o, c, count, argv, used);
    }
    ctl_end(&o, c != NULL && c->is_stream, code);
    explicit_bzero(&state, sizeof state);
    if (fflush(stdout) != 0 && code == CTL_DONE)
        code = CTL_FAILED;
    return (int)code;
}
