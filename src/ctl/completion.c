/* Completion: what the shells know of the table. deploy/completion has the output of
 * `holdfastctl completion SHELL`, and tests/style/deploy compares. */
#include "ctl/commands.h"
#include "ctl/table.h"

#include <string.h>

static bool
is_first_of_noun(const struct ctl_command *c)
{
    return c == table_commands() || strcmp(c[-1].noun, c->noun) != 0;
}

static void
put_options_of(struct bytes *out, uint64_t set)
{
    const char *blank = "";
    for (int i = 0; i < OPTION_IDS; i++) {
        if ((set & UINT64_C(1) << i) == 0)
            continue;
        bytes_printf(out, "%s--%s", blank, option_info((enum option_id)i)->name);
        blank = " ";
    }
}

/* "a|b" as "a b". */
static void
put_choices(struct bytes *out, const char *value)
{
    for (; *value != '\0'; value++)
        bytes_put_u8(out, *value == '|' ? ' ' : (uint8_t)*value);
}

/* In single quotes; a quote inside becomes '\''. */
static void
put_quoted(struct bytes *out, const char *text)
{
    bytes_put_u8(out, '\'');
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            bytes_put_text(out, "'\\''");
        else
            bytes_put_u8(out, (uint8_t)*text);
    }
    bytes_put_u8(out, '\'');
}

static bool
is_choice(const struct option_info *info)
{
    return info->value != NULL && strchr(info->value, '|') != NULL;
}

/* --- bash --- */

static void
bash_values(struct bytes *out)
{
    bytes_put_text(out, "    case $prev in\n");
    for (int i = 0; i < OPTION_IDS; i++) {
        const struct option_info *info = option_info((enum option_id)i);
        if (info->type == OPTION_TYPE_FLAG)
            continue;
        bytes_printf(out, "    --%s)\n", info->name);
        if (info->type == OPTION_TYPE_FILE) {
            bytes_put_text(out, "        compopt -o filenames 2>/dev/null\n"
                                "        mapfile -t COMPREPLY < <(compgen -f -- "
                                "\"$cur\")\n");
        } else if (is_choice(info)) {
            bytes_put_text(out, "        mapfile -t COMPREPLY < <(compgen -W '");
            put_choices(out, info->value);
            bytes_put_text(out, "' -- \"$cur\")\n");
        }
        bytes_put_text(out, "        return\n        ;;\n");
    }
    bytes_put_text(out, "    esac\n");
}

static void
bash_words(struct bytes *out)
{
    bytes_put_text(out,
                   "    # The words before the cursor that are neither options nor "
                   "their values.\n"
                   "    for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
                   "        if ((skip)); then\n"
                   "            skip=0\n"
                   "            continue\n"
                   "        fi\n"
                   "        case $word in\n"
                   "        ");
    const char *bar = "";
    for (int i = 0; i < OPTION_IDS; i++) {
        if (option_info((enum option_id)i)->type != OPTION_TYPE_FLAG)
            continue;
        bytes_printf(out, "%s--%s", bar, option_info((enum option_id)i)->name);
        bar = " | ";
    }
    bytes_put_text(out, ") ;;\n"
                        "        --*=*) ;;\n"
                        "        -*) skip=1 ;;\n"
                        "        *) words+=(\"$word\") ;;\n"
                        "        esac\n"
                        "    done\n");
}

static void
bash_options(struct bytes *out)
{
    bytes_put_text(out, "    if [[ $cur == -* ]]; then\n"
                        "        case \"${words[0]-} ${words[1]-}\" in\n");
    for (int alone = 0; alone < 2; alone++) /* a verb before the noun alone */
        for (const struct ctl_command *c = table_commands(); c->noun != NULL; c++) {
            if ((c->verb == NULL) != (alone == 1))
                continue;
            if (c->verb != NULL)
                bytes_printf(out, "        '%s %s') options='", c->noun, c->verb);
            else
                bytes_printf(out, "        '%s '*) options='", c->noun);
            put_options_of(out, table_options(c));
            bytes_put_text(out, "' ;;\n");
        }
    bytes_put_text(out, "        ' ') options='--json --help --version' ;;\n"
                        "        *) options='--json --help' ;;\n"
                        "        esac\n"
                        "        mapfile -t COMPREPLY < <(compgen -W \"$options\" -- "
                        "\"$cur\")\n"
                        "        return\n"
                        "    fi\n");
}

static bool
takes_file(const struct ctl_command *c)
{
    return strstr(c->arguments, "DIR") != NULL || strstr(c->arguments, "FILE") != NULL;
}

/* What stands behind a noun: its verbs, and files where it stands alone. */
static void
bash_noun(struct bytes *out, const struct ctl_noun *n)
{
    struct bytes verbs = {0};
    bool has_file = false;
    for (const struct ctl_command *c = table_commands(); c->noun != NULL; c++) {
        if (strcmp(c->noun, n->noun) != 0)
            continue;
        if (c->verb == NULL)
            has_file = takes_file(c);
        else
            bytes_printf(&verbs, "%s%s", verbs.size > 0 ? " " : "", c->verb);
    }
    if (verbs.size > 0 || has_file)
        bytes_printf(out, "    1:%s)\n", n->noun);
    if (has_file)
        bytes_put_text(out, "        compopt -o filenames 2>/dev/null\n");
    if (verbs.size > 0 || has_file)
        bytes_printf(out,
                     "        mapfile -t COMPREPLY < <(compgen %s-W '%.*s' -- "
                     "\"$cur\")\n        ;;\n",
                     has_file ? "-f " : "", (int)verbs.size, (const char *)verbs.data);
    bytes_fini(&verbs);
}

static void
bash_verbs(struct bytes *out)
{
    const char *blank = "";
    bytes_put_text(out, "    case ${#words[@]}:${words[0]-}${words[1]:+ ${words[1]}} "
                        "in\n    0:)\n        mapfile -t COMPREPLY < <(compgen -W '");
    for (const struct ctl_noun *n = table_nouns(); n->noun != NULL; n++, blank = " ")
        bytes_printf(out, "%s%s", blank, n->noun);
    bytes_put_text(out, "' -- \"$cur\")\n        ;;\n");
    for (const struct ctl_noun *n = table_nouns(); n->noun != NULL; n++)
        bash_noun(out, n);
    for (const struct ctl_command *c = table_commands(); c->noun != NULL; c++)
        if (c->verb != NULL && takes_file(c))
            bytes_printf(out,
                         "    '2:%s %s')\n"
                         "        compopt -o filenames 2>/dev/null\n"
                         "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
                         "        ;;\n",
                         c->noun, c->verb);
    bytes_put_text(out, "    esac\n");
}

static void
put_bash(struct bytes *out)
{
    bytes_put_text(out, "# Completion of holdfastctl(8) for bash.\n"
                        "# shellcheck shell=bash\n"
                        "# Made by `holdfastctl completion bash`.\n"
                        "\n"
                        "_holdfastctl() {\n"
                        "    local cur=${COMP_WORDS[COMP_CWORD]} "
                        "prev=${COMP_WORDS[COMP_CWORD - 1]} word skip=0 options\n"
                        "    local -a words=()\n"
                        "    COMPREPLY=()\n\n");
    bash_values(out);
    bytes_put_u8(out, '\n');
    bash_words(out);
    bytes_put_u8(out, '\n');
    bash_options(out);
    bytes_put_u8(out, '\n');
    bash_verbs(out);
    bytes_put_text(out, "}\ncomplete -F _holdfastctl holdfastctl\n");
}

/* --- zsh --- */

static void
zsh_option(struct bytes *out, const struct option_info *info)
{
    struct bytes spec = {0};
    bytes_printf(&spec, "--%s[%s]", info->name, info->help);
    if (info->type == OPTION_TYPE_FILE)
        bytes_put_text(&spec, ":file:_files");
    else if (is_choice(info)) {
        bytes_put_text(&spec, ":value:(");
        put_choices(&spec, info->value);
        bytes_put_u8(&spec, ')');
    } else if (info->value != NULL)
        bytes_printf(&spec,
                     ":%s: ", info->type == OPTION_TYPE_NUMBER ? "number" : "value");
    bytes_put_u8(&spec, 0);
    bytes_put_text(out, "            ");
    put_quoted(out, (const char *)spec.data);
    bytes_put_u8(out, '\n');
    bytes_fini(&spec);
}

static void
zsh_describe(struct bytes *out, const char *name, const char *help)
{
    struct bytes line = {0};
    bytes_printf(&line, "%s:%s", name, help);
    bytes_put_u8(&line, 0);
    bytes_put_text(out, "        ");
    put_quoted(out, (const char *)line.data);
    bytes_put_u8(out, '\n');
    bytes_fini(&line);
}

static void
zsh_specs(struct bytes *out)
{
    bytes_put_text(out, "    case \"$noun $verb\" in\n");
    for (int alone = 0; alone < 2; alone++)
        for (const struct ctl_command *c = table_commands(); c->noun != NULL; c++) {
            uint64_t set = table_options(c);
            if ((c->verb == NULL) != (alone == 1))
                continue;
            if (c->verb != NULL)
                bytes_printf(out, "    '%s %s')\n        options=(\n", c->noun,
                             c->verb);
            else
                bytes_printf(out, "    '%s '*)\n        options=(\n", c->noun);
            for (int i = 0; i < OPTION_IDS; i++)
                if ((set & UINT64_C(1) << i) != 0)
                    zsh_option(out, option_info((enum option_id)i));
            bytes_put_text(out, "        )\n        ;;\n");
        }
    bytes_put_text(out, "    *)\n        options=(\n");
    zsh_option(out, option_info(OPTION_JSON));
    zsh_option(out, option_info(OPTION_HELP));
    zsh_option(out, option_info(OPTION_VERSION));
    bytes_put_text(out, "        )\n        ;;\n    esac\n");
}

static void
zsh_verbs(struct bytes *out)
{
    bytes_put_text(out, "    case $noun in\n    '')\n        words_of=(\n");
    for (const struct ctl_noun *n = table_nouns(); n->noun != NULL; n++)
        zsh_describe(out, n->noun, n->help);
    bytes_put_text(out, "        )\n        ;;\n");
    for (const struct ctl_command *c = table_commands(); c->noun != NULL; c++) {
        if (is_first_of_noun(c))
            bytes_printf(out, "    %s)\n        words_of=(\n", c->noun);
        if (c->verb != NULL)
            zsh_describe(out, c->verb, c->help);
        if (c[1].noun == NULL || is_first_of_noun(c + 1))
            bytes_put_text(out, "        )\n        ;;\n");
    }
    bytes_put_text(out, "    esac\n");
}

static void
put_zsh(struct bytes *out)
{
    bytes_put_text(out, "#compdef holdfastctl\n"
                        "# Completion of holdfastctl(8) for zsh.\n"
                        "# Made by `holdfastctl completion zsh`.\n"
                        "\n"
                        "_holdfastctl() {\n"
                        "    local noun= verb= word i\n"
                        "    local -a options words_of plain\n"
                        "    for word in ${words[2,CURRENT-1]}; do\n"
                        "        [[ $word == -* ]] || plain+=($word)\n"
                        "    done\n"
                        "    # Values of options stand among them: the first that is a "
                        "noun, and what is behind it.\n");
    bytes_put_text(out, "    for ((i = 1; i <= $#plain; i++)); do\n"
                        "        case $plain[i] in\n        ");
    const char *bar = "";
    for (const struct ctl_noun *n = table_nouns(); n->noun != NULL; n++, bar = " | ")
        bytes_printf(out, "%s%s", bar, n->noun);
    bytes_put_text(out, ")\n"
                        "            noun=$plain[i] verb=${plain[i+1]-}\n"
                        "            break\n"
                        "            ;;\n"
                        "        esac\n"
                        "    done\n\n");
    zsh_specs(out);
    bytes_put_u8(out, '\n');
    zsh_verbs(out);
    bytes_put_text(out, "\n"
                        "    if [[ $PREFIX == -* || $words[CURRENT-1] == --* ]] || "
                        "(($#words_of == 0)) || [[ -n $verb ]]; then\n"
                        "        _arguments -S $options '*:argument:_files'\n"
                        "    else\n"
                        "        _describe -t commands 'command' words_of\n"
                        "    fi\n"
                        "}\n"
                        "\n"
                        "_holdfastctl \"$@\"\n");
}

/* --- fish --- */

/* The options without a value. */
static uint64_t
flags(void)
{
    uint64_t set = 0;
    for (int i = 0; i < OPTION_IDS; i++)
        if (option_info((enum option_id)i)->type == OPTION_TYPE_FLAG)
            set |= UINT64_C(1) << i;
    return set;
}

static void
fish_commands(struct bytes *out)
{
    for (const struct ctl_noun *n = table_nouns(); n->noun != NULL; n++) {
        bytes_printf(out, "complete -c holdfastctl -n '__holdfastctl_at 0' -a %s -d ",
                     n->noun);
        put_quoted(out, n->help);
        bytes_put_u8(out, '\n');
    }
    for (const struct ctl_command *c = table_commands(); c->noun != NULL; c++) {
        if (c->verb == NULL)
            continue;
        bytes_printf(out,
                     "complete -c holdfastctl -n '__holdfastctl_at 1 %s' -a %s -d ",
                     c->noun, c->verb);
        put_quoted(out, c->help);
        bytes_put_u8(out, '\n');
    }
}

/* Commands that take a file's name. */
static void
fish_files(struct bytes *out)
{
    bytes_put_text(out, "complete -c holdfastctl -n '__holdfastctl_in");
    for (const struct ctl_command *c = table_commands(); c->noun != NULL; c++)
        if (takes_file(c))
            bytes_printf(out, " %s%s%s", c->noun, c->verb != NULL ? "/" : "",
                         c->verb != NULL ? c->verb : "");
    bytes_put_text(out, "' -F\n");
}

static void
fish_option(struct bytes *out, enum option_id id)
{
    const struct option_info *info = option_info(id);
    bytes_put_text(out, "complete -c holdfastctl");
    if (!info->is_everywhere) {
        bytes_put_text(out, " -n '__holdfastctl_in");
        for (const struct ctl_command *c = table_commands(); c->noun != NULL; c++)
            if ((table_options(c) & UINT64_C(1) << id) != 0)
                bytes_printf(out, " %s%s%s", c->noun, c->verb != NULL ? "/" : "",
                             c->verb != NULL ? c->verb : "");
        bytes_put_u8(out, '\'');
    }
    bytes_printf(out, " -l %s", info->name);
    if (info->type == OPTION_TYPE_FILE)
        bytes_put_text(out, " -r -F");
    else if (info->type != OPTION_TYPE_FLAG)
        bytes_put_text(out, " -x");
    if (is_choice(info)) {
        bytes_put_text(out, " -a '");
        put_choices(out, info->value);
        bytes_put_u8(out, '\'');
    }
    bytes_put_text(out, " -d ");
    put_quoted(out, info->help);
    bytes_put_u8(out, '\n');
}

static void
put_fish(struct bytes *out)
{
    bytes_put_text(
        out,
        "# Completion of holdfastctl(8) for fish.\n"
        "# Made by `holdfastctl completion fish`.\n"
        "\n"
        "# The words before the cursor that are neither options nor their values.\n"
        "function __holdfastctl_words\n"
        "    set -l words (commandline -opc)\n"
        "    set -l skip 0\n"
        "    for word in $words[2..-1]\n"
        "        if test $skip -eq 1\n"
        "            set skip 0\n"
        "        else if contains -- $word ");
    put_options_of(out, flags());
    bytes_put_text(
        out,
        "; or string match -q -- '--*=*' $word\n"
        "            continue\n"
        "        else if string match -q -- '-*' $word\n"
        "            set skip 1\n"
        "        else\n"
        "            echo $word\n"
        "        end\n"
        "    end\n"
        "end\n"
        "# So many words, and the first is this noun.\n"
        "function __holdfastctl_at\n"
        "    set -l words (__holdfastctl_words)\n"
        "    test (count $words) -eq $argv[1]; and test \"$words[1]\" = \"$argv[2]\"\n"
        "end\n"
        "# One of these nouns, or noun/verb.\n"
        "function __holdfastctl_in\n"
        "    set -l words (__holdfastctl_words)\n"
        "    contains -- \"$words[1]\" $argv; or contains -- \"$words[1]/$words[2]\" "
        "$argv\n"
        "end\n"
        "\n"
        "complete -c holdfastctl -f\n");
    fish_commands(out);
    fish_files(out);
    bytes_put_u8(out, '\n');
    for (int i = 0; i < OPTION_IDS; i++)
        fish_option(out, (enum option_id)i);
}

enum ctl_exit
ctl_completion(const struct options *o, int argc, char **argv)
{
    struct bytes text = {0};
    if (argc == 1 && strcmp(argv[0], "bash") == 0)
        put_bash(&text);
    else if (argc == 1 && strcmp(argv[0], "zsh") == 0)
        put_zsh(&text);
    else if (argc == 1 && strcmp(argv[0], "fish") == 0)
        put_fish(&text);
    else
        return ctl_fail(o, CTL_USAGE, "usage: holdfastctl completion bash|zsh|fish");
    ctl_answer(o, slice_of(NULL, 0), slice_of(text.data, text.size - 1));
    bytes_fini(&text);
    return CTL_DONE;
}
