/* run-traces: plays transcripts of the broker and compares what it does.
 *
 *   run-traces [--update] FILE|FOLDER...
 *
 * A transcript is sections that begin with "== title"; each starts with a new world. In
 * a section, lines that begin with "#" and empty lines are for the reader, lines that
 * begin with ">" are what the event before them gave, all others are events. --update
 * writes what was given into the file. The last line is "N passed, N failed". */
#include "tests/trace/events.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LINE_MOST 1024

struct totals {
    unsigned passed;
    unsigned failed;
    bool is_update;
};

/* One section as it stands and as it was played. */
struct section {
    char title[LINE_MOST];
    struct bytes expected;
    struct bytes given;
    struct stage *stage;
};

static void
print_marked(char mark, const char *line, size_t size)
{
    printf("    %c %.*s\n", mark, (int)size, line);
}

static const char *
line_end(const char *at, const char *end)
{
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    return newline == NULL ? end : newline;
}

static bool
is_same_line(const char *a, const char *a_end, const char *b, const char *b_end)
{
    return a_end - a == b_end - b && memcmp(a, b, (size_t)(a_end - a)) == 0;
}

/* Both sides, the first dozen differences marked. Events are the same on both, so a
 * line that the other side has not is one that begins with ">". */
static void
print_difference(const struct bytes *expected, const struct bytes *given)
{
    const char *a = (const char *)expected->data;
    const char *b = (const char *)given->data;
    const char *a_end = a + expected->size;
    const char *b_end = b + given->size;
    for (unsigned shown = 0; (a < a_end || b < b_end) && shown < 12;) {
        const char *a_line = a < a_end ? line_end(a, a_end) : a_end;
        const char *b_line = b < b_end ? line_end(b, b_end) : b_end;
        bool is_same = is_same_line(a, a_line, b, b_line);
        bool is_missing = !is_same && a < a_end && *a == '>';
        bool is_new = !is_same && b < b_end && *b == '>';
        if (is_same)
            print_marked(' ', a, (size_t)(a_line - a));
        if (is_missing)
            print_marked('-', a, (size_t)(a_line - a));
        if (is_new)
            print_marked('+', b, (size_t)(b_line - b));
        shown += is_missing || is_new;
        if (is_same || is_missing)
            a = a_line < a_end ? a_line + 1 : a_end;
        if (is_same || is_new)
            b = b_line < b_end ? b_line + 1 : b_end;
        if (!is_same && !is_missing && !is_new)
            break;
    }
}

static void
section_end(struct section *s, const char *file, struct totals *totals)
{
    if (s->stage == NULL)
        return;
    bool is_same = slice_equal(slice_of(s->expected.data, s->expected.size),
                               slice_of(s->given.data, s->given.size));
    bool is_good = !s->stage->is_broken && (is_same || totals->is_update);
    totals->passed += is_good;
    totals->failed += !is_good;
    printf("%s %s: %s\n", is_good ? "ok  " : "FAIL", file, s->title);
    if (!is_good)
        print_difference(&s->expected, &s->given);
    stage_fini(s->stage);
    free(s->stage);
    s->stage = NULL;
}

static void
section_begin(struct section *s, const char *line)
{
    snprintf(s->title, sizeof s->title, "%s", line + 3);
    bytes_clear(&s->expected);
    bytes_clear(&s->given);
    s->stage = calloc(1, sizeof *s->stage);
    if (s->stage == NULL)
        abort();
    stage_init(s->stage);
}

static void
put_line(struct bytes *out, const char *line)
{
    bytes_put_text(out, line);
    bytes_put_text(out, "\n");
}

static void
play_line(struct section *s, const char *line)
{
    put_line(&s->expected, line);
    if (line[0] == '>')
        return;
    put_line(&s->given, line);
    if (line[0] == '#' || line[0] == '\0')
        return;
    stage_event(s->stage, line);
    bytes_put(&s->given, s->stage->out.data, s->stage->out.size);
}

static bool
write_file(const char *file, const struct bytes *text)
{
    FILE *f = fopen(file, "w");
    if (f == NULL)
        return false;
    bool is_written = fwrite(text->data, 1, text->size, f) == text->size;
    return fclose(f) == 0 && is_written;
}

static void
play_file(const char *file, struct totals *totals)
{
    FILE *f = fopen(file, "r");
    char line[LINE_MOST];
    struct section section = {.stage = NULL};
    struct bytes text = {0};
    if (f == NULL) {
        perror(file);
        totals->failed++;
        return;
    }
    while (fgets(line, sizeof line, f) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        bool is_title = strncmp(line, "== ", 3) == 0;
        if (is_title || section.stage == NULL) {
            if (section.stage != NULL)
                bytes_put(&text, section.given.data, section.given.size);
            section_end(&section, file, totals);
            put_line(&text, line);
            if (is_title)
                section_begin(&section, line);
        } else {
            play_line(&section, line);
        }
    }
    if (section.stage != NULL)
        bytes_put(&text, section.given.data, section.given.size);
    section_end(&section, file, totals);
    fclose(f);
    if (totals->is_update && !write_file(file, &text)) {
        perror(file);
        totals->failed++;
    }
    bytes_fini(&text);
    bytes_fini(&section.expected);
    bytes_fini(&section.given);
}

static int
is_transcript(const struct dirent *entry)
{
    size_t size = strlen(entry->d_name);
    return size > 4 && strcmp(entry->d_name + size - 4, ".txt") == 0;
}

static void
play_folder(const char *folder, struct totals *totals)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, is_transcript, alphasort);
    if (count < 0) {
        perror(folder);
        totals->failed++;
        return;
    }
    for (int i = 0; i < count; i++) {
        struct bytes path = {0};
        bytes_printf(&path, "%s/%s", folder, entries[i]->d_name);
        bytes_put_u8(&path, 0);
        play_file((const char *)path.data, totals);
        bytes_fini(&path);
        free(entries[i]);
    }
    free(entries);
}

int
main(int argc, char **argv)
{
    struct totals totals = {0, 0, false};
    for (int i = 1; i < argc; i++) {
        struct stat info;
        if (strcmp(argv[i], "--update") == 0)
            totals.is_update = true;
        else if (stat(argv[i], &info) == 0 && S_ISDIR(info.st_mode))
            play_folder(argv[i], &totals);
        else
            play_file(argv[i], &totals);
    }
    printf("%u passed, %u failed\n", totals.passed, totals.failed);
    return totals.failed == 0 && totals.passed > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
