/* Output: see output.h. */
#include "ctl/output.h"

#include "base/json.h"
#include "base/text.h"
#include "ctl/options.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum ctl_exit
ctl_fail(const struct options *o, enum ctl_exit code, const char *format, ...)
{
    char text[sizeof o->state->error];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    (void)fflush(stdout);
    (void)fprintf(stderr, "holdfastctl: %s\n", text);
    if (o->state->error[0] == '\0')
        memcpy(o->state->error, text, sizeof text);
    return code;
}

void
ctl_answer(const struct options *o, struct slice json, struct slice text)
{
    if (o->is_json) {
        if (json.size == 0)
            json = slice_from_text("{}");
        (void)printf("%.*s\n", (int)json.size, (const char *)json.data);
        o->state->has_document = true;
    } else if (text.size > 0) {
        (void)printf("%.*s\n", (int)text.size, (const char *)text.data);
    }
}

void
ctl_answer_line(const struct options *o, struct slice json, struct slice text)
{
    if (o->is_json)
        (void)printf("%.*s\n", (int)json.size, (const char *)json.data);
    else if (text.size > 0)
        (void)printf("%.*s\n", (int)text.size, (const char *)text.data);
    (void)fflush(stdout);
}

bool
ctl_confirm(const struct options *o, const char *question)
{
    char line[16];
    if (o->is_sure)
        return true;
    if (isatty(STDIN_FILENO) == 0) {
        (void)ctl_fail(o, CTL_USAGE, "%s Nobody can be asked: give --yes", question);
        return false;
    }
    (void)fprintf(stderr, "%s [y/N] ", question);
    if (fgets(line, sizeof line, stdin) != NULL && (line[0] == 'y' || line[0] == 'Y'))
        return true;
    (void)ctl_fail(o, CTL_USAGE, "not confirmed: nothing was done");
    return false;
}

void
ctl_end(const struct options *o, bool is_stream, enum ctl_exit code)
{
    struct bytes out = {0};
    struct json_writer w;
    if (!o->is_json || o->state->has_document || (is_stream && code == CTL_DONE))
        return;
    json_write_begin(&w, &out);
    json_object_begin(&w, NULL);
    if (code != CTL_DONE) {
        size_t size = strlen(o->state->error);
        struct slice error = slice_of(o->state->error, size);
        while (!utf8_is_valid(error)) /* bound: size; cut or echoed bytes */
            error.size--;
        json_put_text(&w, "error", error);
        json_put_u64(&w, "exit", code);
    }
    json_object_end(&w);
    (void)printf("%.*s\n", (int)out.size, (const char *)out.data);
    o->state->has_document = true;
    bytes_fini(&out);
}

uint64_t
ctl_now_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}
