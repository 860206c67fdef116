/* Options: see options.h. */
#include "ctl/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FLAG(id, field, name, help)                                                    \
    [OPTION_##id] = {name, OPTION_TYPE_FLAG, NULL, help, AT(field), 0, 0, false, false}
#define TEXT(id, field, name, value, help)                                             \
    [OPTION_##id] = {name, OPTION_TYPE_TEXT, value, help, AT(field), 0, 0, false, false}
#define NAMED_FILE(id, field, name, help)                                              \
    [OPTION_##                                                                         \
        id] = {name, OPTION_TYPE_FILE, "FILE", help, AT(field), 0, 0, false, false}
#define NUMBER(id, field, name, value, least, most, help)                              \
    [OPTION_##id] = {                                                                  \
        name, OPTION_TYPE_NUMBER, value, help, AT(field), least, most, false, false}
/* What goes to the node with the command line. */
#define NODE_FLAG(id, field, name, help)                                               \
    [OPTION_##id] = {name, OPTION_TYPE_FLAG, NULL, help, AT(field), 0, 0, true, false}
#define NODE_TEXT(id, field, name, value, help)                                        \
    [OPTION_##id] = {name, OPTION_TYPE_TEXT, value, help, AT(field), 0, 0, true, false}
#define NODE_NUMBER(id, field, name, value, least, most, help)                         \
    [OPTION_##id] = {                                                                  \
        name, OPTION_TYPE_NUMBER, value, help, AT(field), least, most, true, false}
#define EVERYWHERE(id, field, name, help)                                              \
    [OPTION_##id] = {name, OPTION_TYPE_FLAG, NULL, help, AT(field), 0, 0, false, true}
#define AT(field) offsetof(struct options, field)

/* clang-format off */
static const struct option_info OPTIONS[OPTION_IDS] = {
    EVERYWHERE(JSON, is_json, "json", "one JSON document on standard output"),
    NAMED_FILE(SOCKET, socket, "socket", "control socket of a node"),
    NUMBER(TIMEOUT, timeout_secs, "timeout", "SECS", 1, 86400, "how long to wait for an answer (10)"),
    TEXT(URL, url, "url", "URL", "wss://HOST:PORT/ of a queue"),
    NAMED_FILE(LOGIN_FILE, login_file, "login-file", "what queue create or login rotate printed"),
    NAMED_FILE(CA, ca, "ca", "certificate authority of the server"),
    TEXT(HOST, host, "host", "NAME", "the queue's host name, if URL has another"),
    TEXT(CONTEXT, context, "context", "NAME", "address and logins kept by context set"),
    FLAG(YES, is_sure, "yes", "do not ask"),
    NODE_FLAG(DRY_RUN, is_dry_run, "dry-run", "say what would be done, and do nothing"),
    NAMED_FILE(CONFIG, config, "config", "configuration of the node"),
    NODE_TEXT(TO, to, "to", "ID", "the node that takes over"),
    NODE_TEXT(TIER, tier, "tier", "standard|dev", "size of the queue"),
    NODE_FLAG(ALL, is_all, "all", "all of them"),
    NODE_NUMBER(COUNT, count, "count", "N", 1, 1000000000, "so many of them, and no more"),
    NODE_TEXT(FILTER, filter, "filter", "NAME=VALUE,...", "only those that fit"),
    NODE_TEXT(QUEUE, queue, "queue", "NAME", "the queue"),
    NODE_FLAG(NO_WAIT, has_no_wait, "no-wait", "do not wait until it is done"),
    NODE_FLAG(CLOSE, is_close, "close", "close the connections that use it, too"),
    NAMED_FILE(INVITE, invite, "invite", "what cluster invite printed"),
    NAMED_FILE(CA_CERT, ca_cert, "ca-cert", "certificate of the authority"),
    NAMED_FILE(CA_KEY, ca_key, "ca-key", "key of the authority"),
    NAMED_FILE(OUT, out, "out", "where to write"),
    NUMBER(DAYS, days, "days", "N", 1, 36500, "for how long it holds"),
    TEXT(DNS, dns, "dns", "NAME,...", "host names and addresses"),
    TEXT(AFTER, after, "after", "ID", "those behind this message"),
    TEXT(BEFORE, before, "before", "ID", "those ahead of this message"),
    FLAG(AVERAGE, is_average, "average", "one line of averages"),
    FLAG(TOTALS, is_totals, "totals", "one line for the whole day"),
    NUMBER(INTERVAL, interval_secs, "interval", "SECS", 1, 3600, "between two looks (1)"),
    NUMBER(DURABILITY, durability, "durability", "0|1|2", 0, 2, "what a confirm stands for (1)"),
    NUMBER(DELAY, delay_secs, "delay", "SECS", 0, 172800, "until it is ready"),
    TEXT(KEY, key, "key", "KEY", "the publisher's key"),
    FLAG(BINARY, is_binary, "binary", "any bytes rather than text"),
    FLAG(COPY, is_copy, "copy", "the copy queue"),
    NUMBER(CAPACITY, capacity, "capacity", "N", 1, 1024, "how many may be held (256)"),
    FLAG(NO_ACK, has_no_ack, "no-ack", "leave them unacknowledged"),
    NUMBER(PUBLISHERS, publishers, "publishers", "N", 0, 10000, "connections that publish (4)"),
    NUMBER(SUBSCRIBERS, subscribers, "subscribers", "N", 0, 10000, "connections that consume (4)"),
    NUMBER(WINDOW, window, "window", "N", 1, 2000, "unconfirmed publishes of each (256)"),
    NUMBER(SIZE, size_bytes, "size", "BYTES", 0, 1000000, "of a body (1024)"),
    NUMBER(SECONDS, seconds, "seconds", "N", 1, 3600, "end after so long (10)"),
    EVERYWHERE(HELP, is_help, "help", "what there is"),
    FLAG(VERSION, is_version, "version", "the version"),
};
/* clang-format on */

_Static_assert(OPTION_IDS <= 64, "a set of options is 64 bits");

const struct option_info *
option_info(enum option_id id)
{
    return &OPTIONS[id];
}

/* "a|b|c" has text as one of its words. */
static bool
is_choice(const char *choices, const char *text)
{
    size_t size = strcspn(text, "|");
    if (text[size] != '\0')
        return false;
    for (const char *p = choices; p != NULL; p = strchr(p, '|')) {
        p += *p == '|';
        if (size > 0 && strncmp(p, text, size) == 0 &&
            (p[size] == '\0' || p[size] == '|'))
            return true;
    }
    return false;
}

static enum ctl_exit
set_number(struct options *o, const struct option_info *info, const char *text)
{
    char *end = NULL;
    errno = 0;
    unsigned long long v = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || errno != 0 || *end != '\0' ||
        v < info->least || v > info->most)
        return ctl_fail(o, CTL_USAGE, "--%s takes a whole number from %llu to %llu",
                        info->name, (unsigned long long)info->least,
                        (unsigned long long)info->most);
    memcpy((char *)o + info->offset, &(uint64_t){v}, sizeof(uint64_t));
    return CTL_DONE;
}

static enum ctl_exit
set_option(struct options *o, enum option_id id, const char *text)
{
    const struct option_info *info = &OPTIONS[id];
    void *field = (char *)o + info->offset;
    o->given |= UINT64_C(1) << id;
    switch (info->type) {
    case OPTION_TYPE_FLAG:
        *(bool *)field = true;
        return CTL_DONE;
    case OPTION_TYPE_TEXT:
    case OPTION_TYPE_FILE:
        if (strchr(info->value, '|') != NULL && !is_choice(info->value, text))
            return ctl_fail(o, CTL_USAGE, "--%s takes %s", info->name, info->value);
        *(const char **)field = text;
        return CTL_DONE;
    case OPTION_TYPE_NUMBER:
        break;
    }
    return set_number(o, info, text);
}

/* One option: word is behind its "--", next the word behind it or NULL. */
static enum ctl_exit
take(struct options *o, const char *word, const char *next, int *ret_used)
{
    size_t size = strcspn(word, "=");
    const char *value = word[size] == '=' ? word + size + 1 : NULL;
    for (int i = 0; i < OPTION_IDS; i++) {
        const struct option_info *info = &OPTIONS[i];
        if (strlen(info->name) != size || memcmp(info->name, word, size) != 0)
            continue;
        *ret_used = 1;
        if (info->type == OPTION_TYPE_FLAG && value != NULL)
            return ctl_fail(o, CTL_USAGE, "--%s takes no value", info->name);
        if (info->type != OPTION_TYPE_FLAG && value == NULL) {
            if (next == NULL)
                return ctl_fail(o, CTL_USAGE, "--%s needs a value: %s", info->name,
                                info->value);
            value = next;
            *ret_used = 2;
        }
        return set_option(o, (enum option_id)i, value);
    }
    return ctl_fail(o, CTL_USAGE, "there is no option --%.*s", (int)size, word);
}

enum ctl_exit
options_parse(int argc,
              char **argv,
              struct ctl_state *state,
              struct options *ret_options,
              int *ret_count)
{
    struct options *o = ret_options;
    bool is_over = false; /* "--" was there */
    int count = 0;
    *o = (struct options){
        .state = state,
        .timeout_secs = 10,
        .durability = 1,
        .capacity = 256,
        .publishers = 4,
        .subscribers = 4,
        .window = 256,
        .size_bytes = 1024,
        .seconds = 10,
        .interval_secs = 1,
    };
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--json") == 0) /* also when what is ahead is wrong */
            o->is_json = true;
    for (int i = 1; i < argc;) { /* bound: each word once */
        int used = 1;
        enum ctl_exit code = CTL_DONE;
        if (is_over || argv[i][0] != '-' || argv[i][1] == '\0')
            argv[count++] = argv[i];
        else if (strcmp(argv[i], "--") == 0)
            is_over = true;
        else if (argv[i][1] == '-')
            code = take(o, argv[i] + 2, i + 1 < argc ? argv[i + 1] : NULL, &used);
        else
            code = ctl_fail(o, CTL_USAGE, "there is no option %s", argv[i]);
        if (code != CTL_DONE)
            return code;
        i += used;
    }
    *ret_count = count;
    return CTL_DONE;
}
