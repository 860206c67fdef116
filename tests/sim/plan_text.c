/* Plans as text: see plan.h. */
#include "plan.h"

#include "base/mem.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_names[FAULT_KIND_COUNT] = {
    [FAULT_KILL] = "kill",         [FAULT_CRASH] = "crash",
    [FAULT_FLIP] = "flip",         [FAULT_EIO] = "eio",
    [FAULT_PAUSE] = "pause",       [FAULT_ISOLATE] = "isolate",
    [FAULT_MUTE] = "mute",         [FAULT_DEAF] = "deaf",
    [FAULT_CUT] = "cut",           [FAULT_FLAP] = "flap",
    [FAULT_UNCUT] = "uncut",       [FAULT_LOSS] = "loss",
    [FAULT_SLOW] = "slow",         [FAULT_TWICE] = "twice",
    [FAULT_SHUFFLE] = "shuffle",   [FAULT_STALL] = "stall",
    [FAULT_SLUGGISH] = "sluggish", [FAULT_FULL] = "full",
    [FAULT_JUMP] = "jump",         [FAULT_TRANSFER] = "transfer",
    [FAULT_CLIENTS] = "clients",   [FAULT_MARK] = "mark",
    [FAULT_GROW] = "grow",         [FAULT_SHRINK] = "shrink",
    [FAULT_REPLACE] = "replace",
};

static const char *const trigger_names[TRIGGER_COUNT] = {
    [TRIGGER_NONE] = "",
    [TRIGGER_START] = "start",
    [TRIGGER_GATE] = "gate",
    [TRIGGER_VOTE] = "vote",
    [TRIGGER_ELECTED] = "elected",
    [TRIGGER_SERVING] = "serving",
    [TRIGGER_OFFER] = "offer",
    [TRIGGER_CHUNK] = "chunk",
    [TRIGGER_INSTALLING] = "installing",
    [TRIGGER_INSTALLED] = "installed",
    [TRIGGER_STORED] = "stored",
    [TRIGGER_CHANGE] = "change",
    [TRIGGER_CHANGED] = "changed",
    [TRIGGER_TRUNCATE] = "truncate",
};

static const struct {
    const char *name;
    enum who_kind kind;
    bool has_number;
} who_names[] = {
    {"-", WHO_NOBODY, false},  {"leader", WHO_LEADER, false}, {"it", WHO_IT, false},
    {"peer", WHO_PEER, false}, {"all", WHO_ALL, false},       {"n", WHO_NODE, true},
    {"f", WHO_FOLLOWER, true}, {"m", WHO_MARKED, true},
};

#define WHO_NAMES (sizeof who_names / sizeof who_names[0])

const char *
fault_name(enum fault_kind kind)
{
    return kind_names[kind];
}

/* --- reading --- */

static bool
read_number(const char **at, uint64_t *ret_value)
{
    char *end = NULL;
    if (!isdigit((unsigned char)**at))
        return false;
    *ret_value = strtoull(*at, &end, 10);
    *at = end;
    return true;
}

static void
skip_space(const char **at)
{
    while (isspace((unsigned char)**at))
        (*at)++;
}

/* A word of letters, or "-". */
static size_t
word_size(const char *at)
{
    size_t size = 0;
    if (*at == '-')
        return 1;
    while (isalpha((unsigned char)at[size]))
        size++;
    return size;
}

static int
find_word(const char **at, const char *const *names, int count)
{
    size_t size = word_size(*at);
    for (int i = 0; i < count; i++)
        if (strlen(names[i]) == size && size > 0 && memcmp(names[i], *at, size) == 0) {
            *at += size;
            return i;
        }
    return -1;
}

static bool
read_who(const char **at, struct who *ret_who)
{
    size_t size = word_size(*at);
    for (size_t i = 0; i < WHO_NAMES; i++) {
        if (strlen(who_names[i].name) != size ||
            memcmp(who_names[i].name, *at, size) != 0)
            continue;
        uint64_t number = 0;
        *at += size;
        if (who_names[i].has_number && !read_number(at, &number))
            return false;
        *ret_who = (struct who){.kind = who_names[i].kind, .number = (uint32_t)number};
        return true;
    }
    return false;
}

static bool
read_trigger(const char **at, struct fault *f)
{
    uint64_t number = 1;
    int trigger = find_word(at, trigger_names, TRIGGER_COUNT);
    if (trigger < 0)
        return false;
    f->trigger = (enum trigger)trigger;
    if (**at == '*' && ((*at)++, !read_number(at, &number) || number == 0))
        return false;
    f->nth = (uint32_t)number;
    number = 0;
    if (**at == '+' && ((*at)++, !read_number(at, &number)))
        return false;
    f->delay_ms = (uint32_t)number;
    return true;
}

static bool
read_value(const char **at, int64_t *ret_value)
{
    bool is_negative = **at == '-';
    uint64_t number = 0;
    *at += is_negative;
    if (!read_number(at, &number))
        return false;
    *ret_value = is_negative ? -(int64_t)number : (int64_t)number;
    return true;
}

static bool
read_fault(const char **at, struct fault *f)
{
    *f = (struct fault){0};
    if (!read_number(at, &f->at_ms))
        return false;
    if (**at == '/' && ((*at)++, !read_trigger(at, f)))
        return false;
    skip_space(at);
    int kind = find_word(at, kind_names, FAULT_KIND_COUNT);
    if (kind < 0)
        return false;
    f->kind = (enum fault_kind)kind;
    skip_space(at);
    if (!read_who(at, &f->who))
        return false;
    if (**at == '>' && ((*at)++, !read_who(at, &f->peer)))
        return false;
    skip_space(at);
    if (!read_number(at, &f->length_ms))
        return true;
    skip_space(at);
    return **at == ',' || **at == '\0' || read_value(at, &f->value);
}

bool
plan_parse(const char *text, struct plan *ret_plan, const char **ret_wrong)
{
    const char *at = text;
    ret_plan->count = 0;
    for (skip_space(&at); *at != '\0'; skip_space(&at)) {
        *ret_wrong = at;
        if (ret_plan->count == PLAN_FAULTS_MAX ||
            !read_fault(&at, &ret_plan->faults[ret_plan->count]))
            return false;
        ret_plan->count++;
        skip_space(&at);
        *ret_wrong = at;
        if (*at != ',' && *at != '\0')
            return false;
        at += *at == ',';
    }
    return true;
}

/* --- writing --- */

static void
add_text(char *out, size_t size, const char *text)
{
    size_t used = strlen(out);
    (void)snprintf(out + used, size - used, "%s", text);
}

static void
add_number(char *out, size_t size, const char *before, uint64_t number)
{
    size_t used = strlen(out);
    (void)snprintf(out + used, size - used, "%s%llu", before,
                   (unsigned long long)number);
}

static void
add_who(char *out, size_t size, struct who who)
{
    for (size_t i = 0; i < WHO_NAMES; i++) {
        if (who_names[i].kind != who.kind)
            continue;
        if (who_names[i].has_number)
            add_number(out, size, who_names[i].name, who.number);
        else
            add_text(out, size, who_names[i].name);
    }
}

void
fault_print(const struct fault *f, char *out, size_t size)
{
    out[0] = '\0';
    add_number(out, size, "", f->at_ms);
    if (f->trigger != TRIGGER_NONE) {
        add_text(out, size, "/");
        add_text(out, size, trigger_names[f->trigger]);
        if (f->nth > 1)
            add_number(out, size, "*", f->nth);
        if (f->delay_ms > 0)
            add_number(out, size, "+", f->delay_ms);
    }
    add_text(out, size, " ");
    add_text(out, size, kind_names[f->kind]);
    add_text(out, size, " ");
    add_who(out, size, f->who);
    if (f->peer.kind != WHO_NOBODY) {
        add_text(out, size, ">");
        add_who(out, size, f->peer);
    }
    if (f->length_ms != 0 || f->value != 0)
        add_number(out, size, " ", f->length_ms);
    if (f->value != 0)
        add_number(out, size, f->value < 0 ? " -" : " ",
                   f->value < 0 ? (uint64_t)-f->value : (uint64_t)f->value);
}

char *
plan_print(const struct plan *plan)
{
    size_t size = 1;
    char line[160];
    char *out = mem_calloc(1, (size_t)plan->count * sizeof line + 1);
    for (uint32_t i = 0; i < plan->count; i++) {
        fault_print(&plan->faults[i], line, sizeof line);
        size += strlen(line) + 2;
        add_text(out, size, line);
        if (i + 1 < plan->count)
            add_text(out, size, ", ");
    }
    return out;
}
