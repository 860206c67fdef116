/* Table: every command of holdfastctl, once. Parsing, help, usage lines, completions
 * and the test of the man page come from here. A new command is a row and, if it is
 * more than a question to a node, a function. */
#ifndef HF_CTL_TABLE_H
#define HF_CTL_TABLE_H

#include "ctl/options.h"

/* Where a command runs; a command may have more than one way. */
#define ON_MACHINE (1u << 0) /* here */
#define ON_SOCKET  (1u << 1) /* control socket of a node */
#define ON_WSS     (1u << 2) /* as a client of a queue */

enum ctl_right {
    RIGHT_ANY,   /* of the files it reads */
    RIGHT_NODE,  /* root, or the group of the control socket */
    RIGHT_LOGIN, /* a login of the queue, of the command's role */
    RIGHT_ADMIN, /* the administrator's login of the queue */
};

struct ctl_command {
    const char *noun;
    const char *verb;      /* NULL: the noun stands alone */
    const char *arguments; /* for the usage line: "NAME", "[BODY | -]", "" */
    int min_args;
    int max_args;     /* -1: any number */
    uint64_t options; /* beside those of its ways and of every command */
    unsigned ways;    /* ON_..., at least one */
    enum ctl_right right;
    const char *help;     /* one line, begins small, no full stop */
    const char *question; /* asked first unless --yes or --dry-run; a %s in it is the
                           * first argument; NULL: does it at once */
    /* For a terminal: a question that says what it is about, in ret_question; asks the
     * node or queue. NULL: question. */
    enum ctl_exit (*question_cb)(const struct options *o,
                                 bool is_wss,
                                 struct bytes *ret_question);
    const char *count_help; /* of --count and of --filter; NULL: what options.c says */
    const char *filter_help;
    bool is_stream; /* --json: a document a line, for as long as it runs */
    /* ON_MACHINE and ON_SOCKET; argv is what follows noun and verb. NULL: the node does
     * it, with words and options as they are (ctl_control). */
    enum ctl_exit (*run_cb)(const struct options *o, int argc, char **argv);
    enum ctl_exit (*wss_cb)(const struct options *o,
                            int argc,
                            char **argv); /* ON_WSS */
};

struct ctl_noun {
    const char *noun;
    const char *help;
};

/* Rows of one noun stand together; a row with noun NULL ends. */
const struct ctl_command *table_commands(void);
const struct ctl_noun *table_nouns(void);
/* NULL: none. used: how many words were noun and verb. */
const struct ctl_command *table_find(int argc, char **argv, int *ret_used);
bool table_has_noun(const char *noun);
/* All options that a command takes. */
uint64_t table_options(const struct ctl_command *c);

#endif
