/* Options: see options.h. One table; getopt_long does the walking. */
#include "ctl/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum option_type {
    OPTION_FLAG,
    OPTION_TEXT,
    OPTION_NUMBER,
};

struct option_info {
    const char *name;
    enum option_type type;
    size_t offset;
    uint64_t least;
    uint64_t most;
};

#define FIELD(field) offsetof(struct options, field)

static const struct option_info OPTIONS[] = {
    {"json", OPTION_FLAG, FIELD(is_json), 0, 0},
    {"socket", OPTION_TEXT, FIELD(socket), 0, 0},
    {"config", OPTION_TEXT, FIELD(config), 0, 0},
    {"url", OPTION_TEXT, FIELD(url), 0, 0},
    {"ca", OPTION_TEXT, FIELD(ca), 0, 0},
    {"host", OPTION_TEXT, FIELD(host), 0, 0},
    {"login-file", OPTION_TEXT, FIELD(login_file), 0, 0},
    {"to", OPTION_TEXT, FIELD(to), 0, 0},
    {"tier", OPTION_TEXT, FIELD(tier), 0, 0},
    {"timeout", OPTION_NUMBER, FIELD(timeout_secs), 1, 86400},
    {"durability", OPTION_NUMBER, FIELD(durability), 0, 2},
    {"delay", OPTION_NUMBER, FIELD(delay_secs), 0, 172800},
    {"key", OPTION_TEXT, FIELD(key), 0, 0},
    {"binary", OPTION_FLAG, FIELD(is_binary), 0, 0},
    {"copy", OPTION_FLAG, FIELD(is_copy), 0, 0},
    {"no-ack", OPTION_FLAG, FIELD(has_no_ack), 0, 0},
    {"yes", OPTION_FLAG, FIELD(is_sure), 0, 0},
    {"count", OPTION_NUMBER, FIELD(count), 0, 1000000000},
    {"capacity", OPTION_NUMBER, FIELD(capacity), 1, 1024},
    {"publishers", OPTION_NUMBER, FIELD(publishers), 0, 1000},
    {"subscribers", OPTION_NUMBER, FIELD(subscribers), 0, 1000},
    {"window", OPTION_NUMBER, FIELD(window), 1, 2000},
    {"size", OPTION_NUMBER, FIELD(size_bytes), 0, 1000000},
    {"seconds", OPTION_NUMBER, FIELD(seconds), 1, 3600},
};
#define OPTION_COUNT (sizeof OPTIONS / sizeof OPTIONS[0])

static enum status
set_option(struct options *o, const struct option_info *info, char *text)
{
    void *field = (char *)o + info->offset;
    char *end = NULL;
    switch (info->type) {
    case OPTION_FLAG:
        *(bool *)field = true;
        return ST_OK;
    case OPTION_TEXT:
        *(const char **)field = text;
        return ST_OK;
    case OPTION_NUMBER:
        break;
    }
    errno = 0;
    unsigned long long v = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || errno != 0 || *end != '\0' ||
        v < info->least || v > info->most) {
        (void)fprintf(stderr,
                      "holdfastctl: --%s takes a whole number from %llu to %llu\n",
                      info->name, (unsigned long long)info->least,
                      (unsigned long long)info->most);
        return ST_INVALID;
    }
    *(uint64_t *)field = v;
    return ST_OK;
}

enum status
options_parse(int argc, char **argv, struct options *ret_options, int *ret_count)
{
    struct option table[OPTION_COUNT + 1];
    struct options o = {
        .timeout_secs = 10,
        .durability = 1,
        .capacity = 256,
        .publishers = 4,
        .subscribers = 4,
        .window = 256,
        .size_bytes = 1024,
        .seconds = 10,
    };
    memset(table, 0, sizeof table);
    for (size_t i = 0; i < OPTION_COUNT; i++)
        table[i] = (struct option){
            .name = OPTIONS[i].name,
            .has_arg = OPTIONS[i].type == OPTION_FLAG ? no_argument : required_argument,
            .val = (int)i,
        };
    int choice;
    optind = 1;
    while ((choice = getopt_long(argc, argv, "", table, NULL)) !=
           -1) { /* bound: argc */
        if (choice < 0 || (size_t)choice >= OPTION_COUNT)
            return ST_INVALID; /* getopt_long said what */
        if (set_option(&o, &OPTIONS[choice], optarg) != ST_OK)
            return ST_INVALID;
    }
    *ret_count = argc - optind;
    memmove(argv, argv + optind, (size_t)*ret_count * sizeof *argv);
    *ret_options = o;
    return ST_OK;
}
