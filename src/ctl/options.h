/* Options: the one table of what holdfastctl understands, and the reader of a command
 * line. Which command accepts which option stands in table.c. */
#ifndef HF_CTL_OPTIONS_H
#define HF_CTL_OPTIONS_H

#include "ctl/output.h"

/* In the order of help and completions. */
enum option_id {
    OPTION_JSON,
    OPTION_SOCKET,
    OPTION_TIMEOUT,
    OPTION_URL,
    OPTION_LOGIN_FILE,
    OPTION_CA,
    OPTION_HOST,
    OPTION_CONTEXT,
    OPTION_YES,
    OPTION_DRY_RUN,
    OPTION_CONFIG,
    OPTION_TO,
    OPTION_TIER,
    OPTION_ALL,
    OPTION_COUNT,
    OPTION_FILTER,
    OPTION_QUEUE,
    OPTION_NO_WAIT,
    OPTION_CLOSE,
    OPTION_INVITE,
    OPTION_CA_CERT,
    OPTION_CA_KEY,
    OPTION_OUT,
    OPTION_DAYS,
    OPTION_DNS,
    OPTION_AFTER,
    OPTION_BEFORE,
    OPTION_AVERAGE,
    OPTION_TOTALS,
    OPTION_INTERVAL,
    OPTION_DURABILITY,
    OPTION_DELAY,
    OPTION_KEY,
    OPTION_BINARY,
    OPTION_COPY,
    OPTION_CAPACITY,
    OPTION_NO_ACK,
    OPTION_PUBLISHERS,
    OPTION_SUBSCRIBERS,
    OPTION_WINDOW,
    OPTION_SIZE,
    OPTION_SECONDS,
    OPTION_HELP,
    OPTION_VERSION,
    OPTION_IDS, /* how many; at most 64 */
};

/* OPT(TO) | OPT(TIER): a set of options. */
#define OPT(name) (UINT64_C(1) << OPTION_##name)

enum option_type {
    OPTION_TYPE_FLAG,
    OPTION_TYPE_TEXT,
    OPTION_TYPE_FILE, /* text; shells complete it as a file's name */
    OPTION_TYPE_NUMBER,
};

struct option_info {
    const char *name; /* without -- */
    enum option_type type;
    const char *value; /* what help calls its value; "a|b": one of these; NULL: flag */
    const char *help;
    size_t offset;      /* of its field in struct options */
    uint64_t least;     /* numbers */
    uint64_t most;      /* numbers */
    bool is_for_node;   /* goes to the node with the command line */
    bool is_everywhere; /* every command takes it */
};

struct options {
    uint64_t given; /* OPT(..) of those on the command line */
    struct ctl_state *state;
    bool is_json;
    const char *socket; /* control socket; NULL: the default */
    const char *config;
    const char *url; /* wss://host:port/ */
    const char *ca;
    const char *host; /* Host header and TLS name, default that of url */
    const char *login_file;
    const char *context;
    uint64_t timeout_secs;
    bool is_sure;    /* --yes: do not ask */
    bool is_dry_run; /* say what would be done */
    const char *to;
    const char *tier;
    bool is_all;
    const char *filter;
    const char *queue;
    bool has_no_wait;
    bool is_close;
    const char *invite;
    const char *ca_cert;
    const char *ca_key;
    const char *out;
    uint64_t days;
    const char *dns;
    const char *after;
    const char *before;
    bool is_average;
    bool is_totals;
    uint64_t interval_secs;
    /* pub, sub, bench */
    uint64_t durability;
    uint64_t delay_secs;
    const char *key;
    bool is_binary;
    bool is_copy;
    bool has_no_ack;
    uint64_t count; /* 0: not given */
    uint64_t capacity;
    uint64_t publishers;
    uint64_t subscribers;
    uint64_t window;
    uint64_t size_bytes;
    uint64_t seconds;
    bool is_help;
    bool is_version;
};

const struct option_info *option_info(enum option_id id);

/* Takes options out of argv wherever they stand, up to "--"; what is left (nouns,
 * verbs, values) is moved to the front and counted in ret_count. ret_options is filled
 * with what was read, also when it fails: ret_options->is_json is right in any case.
 * Says what is wrong (ctl_fail). */
enum ctl_exit options_parse(int argc,
                            char **argv,
                            struct ctl_state *state,
                            struct options *ret_options,
                            int *ret_count) MUST_USE;

#endif
