/* Context: see context.h. The one in use is named in the file `current` beside the
 * folder of contexts. Files are written whole: a new one, renamed over the old. */
#include "ctl/context.h"

#include "base/json.h"
#include "base/text.h"
#include "ctl/dial.h"
#include "ctl/failure.h"
#include "ctl/login.h"
#include "ctl/terminal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX       65536
#define NAME_MAX_BYTES (sizeof((struct context *)0)->name - 1)
#define ROLE_COUNT     (sizeof ROLES / sizeof ROLES[0])

static const char *const ROLES[] = {"publisher", "subscriber", "admin"};

void
context_fini(struct context *c)
{
    if (c->logins.data != NULL)
        explicit_bzero(c->logins.data, c->logins.capacity);
    bytes_fini(&c->logins);
}

static enum ctl_exit
check_name(const struct options *o, const char *name)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t size = strlen(name);
    if (size > 0 && size <= NAME_MAX_BYTES && name[0] != '.' &&
        strspn(name, letters) == size)
        return CTL_DONE;
    return ctl_fail(o, CTL_USAGE,
                    "a context's name has up to 64 letters, digits, dots, dashes and "
                    "underscores, and begins with no dot");
}

/* "~/.config/holdfast" and what is under it; empty: there is no home. */
static void
folder_path(const char *under, char *out, size_t size)
{
    const char *config = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    int length = -1;
    if (config != NULL && config[0] == '/')
        length = snprintf(out, size, "%s/holdfast%s", config, under);
    else if (home != NULL && home[0] == '/')
        length = snprintf(out, size, "%s/.config/holdfast%s", home, under);
    if (length < 0 || (size_t)length >= size)
        out[0] = '\0';
}

static void
context_path(const char *name, char *out, size_t size)
{
    char under[96];
    (void)snprintf(under, sizeof under, "/contexts/%s.json", name);
    folder_path(under, out, size);
}

/* A file that nobody else may read or write. */
static enum ctl_exit
read_private(const struct options *o, const char *path, struct bytes *out)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return ctl_fail(o, errno == ENOENT ? CTL_NOT_FOUND : CTL_DENIED, "%s: %s", path,
                        strerror(errno));
    enum ctl_exit code = CTL_DONE;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > FILE_MAX)
        code = ctl_fail(o, CTL_FAILED, "%s: is no file of a context", path);
    else if ((st.st_mode & 077) != 0 || st.st_uid != geteuid())
        code = ctl_fail(o, CTL_DENIED,
                        "%s: others may read its passwords: chmod 600 it, and own it",
                        path);
    if (code == CTL_DONE) {
        bytes_reserve(out, FILE_MAX);
        ssize_t n = read(fd, out->data, FILE_MAX);
        out->size = n > 0 ? (size_t)n : 0;
    }
    (void)close(fd);
    return code;
}

static enum ctl_exit
make_folders(const struct options *o)
{
    char path[PATH_MAX];
    folder_path("/contexts", path, sizeof path);
    if (path[0] == '\0')
        return ctl_fail(o, CTL_FAILED, "HOME is not set");
    for (char *p = path + 1; p != NULL;) { /* bound: the path's parts */
        p = strchr(p, '/');
        if (p != NULL)
            *p = '\0';
        if (mkdir(path, 0700) != 0 && errno != EEXIST)
            return ctl_fail(o, CTL_DENIED, "%s: %s", path, strerror(errno));
        if (p != NULL)
            *p++ = '/';
    }
    return CTL_DONE;
}

static enum ctl_exit
write_private(const struct options *o, const char *path, struct slice text)
{
    char temporary[PATH_MAX];
    int size = snprintf(temporary, sizeof temporary, "%s.new", path);
    if (size < 0 || (size_t)size >= sizeof temporary)
        return ctl_fail(o, CTL_FAILED, "%s: the name is too long", path);
    (void)unlink(temporary); /* of a run that was cut short */
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return ctl_fail(o, CTL_DENIED, "%s: %s", temporary, strerror(errno));
    bool is_good = write(fd, text.data, text.size) == (ssize_t)text.size;
    is_good = fsync(fd) == 0 && is_good;
    is_good = close(fd) == 0 && is_good;
    if (is_good && rename(temporary, path) == 0)
        return CTL_DONE;
    int error = errno;
    (void)unlink(temporary);
    return ctl_fail(o, CTL_FAILED, "%s: %s", path, strerror(error));
}

/* The name of the one in use; empty: none. */
static void
read_current(char *out, size_t size)
{
    char path[PATH_MAX];
    out[0] = '\0';
    folder_path("/current", path, sizeof path);
    FILE *f = path[0] != '\0' ? fopen(path, "re") : NULL;
    if (f == NULL)
        return;
    if (fgets(out, (int)size, f) == NULL)
        out[0] = '\0';
    out[strcspn(out, "\n")] = '\0';
    (void)fclose(f);
}

bool
context_is_in_use(void)
{
    char name[NAME_MAX_BYTES + 1] = "";
    read_current(name, sizeof name);
    return name[0] != '\0';
}

enum ctl_exit
context_load(const struct options *o, const char *name, struct context *ret_context)
{
    struct context c = {.url = ""};
    char path[PATH_MAX];
    struct bytes text = {0};
    struct json_object parsed;
    if (name == NULL)
        read_current(c.name, sizeof c.name);
    if (name == NULL && c.name[0] == '\0')
        return CTL_NOT_FOUND;
    enum ctl_exit code = check_name(o, name != NULL ? name : c.name);
    if (code != CTL_DONE)
        return code;
    if (name != NULL)
        (void)snprintf(c.name, sizeof c.name, "%s", name);
    context_path(c.name, path, sizeof path);
    if (access(path, F_OK) != 0 && errno == ENOENT)
        return ctl_fail(o, CTL_NOT_FOUND,
                        "there is no context '%s': 'context list' has those there are",
                        c.name);
    code = read_private(o, path, &text);
    json_object_init(&parsed);
    if (code == CTL_DONE) {
        struct slice whole = slice_of(text.data, text.size);
        bool is_good = login_parse(whole, &parsed);
        is_good = is_good && login_text(&parsed, "url", c.url, sizeof c.url);
        is_good = is_good && login_text(&parsed, "ca", c.ca, sizeof c.ca);
        is_good = is_good && login_text(&parsed, "host", c.host, sizeof c.host);
        const struct json_member *logins = json_find(&parsed, "logins");
        if (logins != NULL && logins->type == JSON_OBJECT)
            bytes_put_slice(&c.logins, logins->value);
        if (!is_good)
            code = ctl_fail(o, CTL_FAILED, "%s: is no context", path);
    }
    json_object_fini(&parsed);
    if (text.data != NULL)
        explicit_bzero(text.data, text.capacity);
    bytes_fini(&text);
    if (code == CTL_DONE)
        *ret_context = c;
    else
        context_fini(&c);
    return code;
}

/* is_whole: with the logins; without: "logins" has the roles only. */
static void
put_context(struct json_writer *w, const struct context *c, bool is_whole)
{
    struct login login;
    json_put_string(w, "url", c->url);
    if (c->ca[0] != '\0')
        json_put_string(w, "ca", c->ca);
    if (c->host[0] != '\0')
        json_put_string(w, "host", c->host);
    if (is_whole && c->logins.size > 0)
        json_put_raw(w, "logins", slice_of(c->logins.data, c->logins.size));
    if (is_whole)
        return;
    json_array_begin(w, "logins");
    for (size_t i = 0; i < ROLE_COUNT; i++)
        if (login_of_role(slice_of(c->logins.data, c->logins.size), ROLES[i], &login))
            json_put_string(w, NULL, ROLES[i]);
    json_array_end(w);
    explicit_bzero(&login, sizeof login);
}

static int
compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Names of all contexts, sorted, 65 bytes each. */
static size_t
list_names(struct bytes *out)
{
    char path[PATH_MAX];
    size_t count = 0;
    folder_path("/contexts", path, sizeof path);
    DIR *folder = path[0] != '\0' ? opendir(path) : NULL;
    const struct dirent *entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL) { /* bound: its files */
        size_t size = strlen(entry->d_name);
        if (size < 6 || size - 5 > NAME_MAX_BYTES || entry->d_name[0] == '.' ||
            strcmp(entry->d_name + size - 5, ".json") != 0)
            continue;
        char *name = (char *)bytes_extend(out, NAME_MAX_BYTES + 1);
        memset(name, 0, NAME_MAX_BYTES + 1);
        memcpy(name, entry->d_name, size - 5);
        count++;
    }
    if (folder != NULL)
        (void)closedir(folder);
    if (count > 0)
        qsort(out->data, count, NAME_MAX_BYTES + 1, compare_names);
    return count;
}

static void
list_one(const struct options *o,
         const char *name,
         const char *current,
         struct json_writer *w,
         struct grid *g)
{
    struct context c;
    bool is_used = strcmp(name, current) == 0;
    if (context_load(o, name, &c) != CTL_DONE)
        return; /* it was said why */
    json_object_begin(w, NULL);
    json_put_string(w, "context", name);
    json_put_bool(w, "used", is_used);
    put_context(w, &c, false);
    json_object_end(w);
    grid_put_text(g, is_used ? "*" : "");
    grid_put_text(g, name);
    grid_put_text(g, c.url);
    grid_put_text(g, c.host);
    context_fini(&c);
}

enum ctl_exit
ctl_context_list(const struct options *o, int argc, char **argv)
{
    char current[NAME_MAX_BYTES + 1];
    struct bytes names = {0};
    struct bytes json = {0};
    struct bytes text = {0};
    struct json_writer w;
    struct grid g;
    (void)argc;
    (void)argv;
    read_current(current, sizeof current);
    grid_init(&g, 4, 0);
    grid_put_text(&g, "");
    grid_put_text(&g, "name");
    grid_put_text(&g, "url");
    grid_put_text(&g, "host");
    json_write_begin(&w, &json);
    json_object_begin(&w, NULL);
    json_array_begin(&w, "contexts");
    size_t count = list_names(&names);
    for (size_t i = 0; i < count; i++)
        list_one(o, (const char *)names.data + i * (NAME_MAX_BYTES + 1), current, &w,
                 &g);
    json_array_end(&w);
    json_object_end(&w);
    grid_write(&g, terminal_width(STDOUT_FILENO), &text);
    ctl_answer(o, slice_of(json.data, json.size), slice_of(text.data, text.size));
    grid_fini(&g);
    bytes_fini(&names);
    bytes_fini(&json);
    bytes_fini(&text);
    return CTL_DONE;
}

static void
print_context(const struct options *o, const struct context *c)
{
    struct bytes json = {0};
    struct bytes text = {0};
    struct json_writer w;
    struct login login;
    json_write_begin(&w, &json);
    json_object_begin(&w, NULL);
    json_put_string(&w, "context", c->name);
    put_context(&w, c, false);
    json_object_end(&w);
    bytes_printf(&text, "context %s: %s", c->name, c->url);
    if (c->host[0] != '\0')
        bytes_printf(&text, "\nhost    %s", c->host);
    if (c->ca[0] != '\0')
        bytes_printf(&text, "\nca      %s", c->ca);
    bytes_put_text(&text, "\nlogins ");
    for (size_t i = 0; i < ROLE_COUNT; i++)
        if (login_of_role(slice_of(c->logins.data, c->logins.size), ROLES[i], &login))
            bytes_printf(&text, " %s", ROLES[i]);
    explicit_bzero(&login, sizeof login);
    if (c->logins.size == 0)
        bytes_put_text(&text, " none");
    ctl_answer(o, slice_of(json.data, json.size), slice_of(text.data, text.size));
    bytes_fini(&json);
    bytes_fini(&text);
}

enum ctl_exit
ctl_context_show(const struct options *o, int argc, char **argv)
{
    struct context c;
    char current[NAME_MAX_BYTES + 1];
    read_current(current, sizeof current);
    if (argc == 0 && current[0] == '\0')
        return ctl_fail(o, CTL_NOT_FOUND, "no context is in use");
    enum ctl_exit code = context_load(o, argc > 0 ? argv[0] : NULL, &c);
    if (code != CTL_DONE)
        return code;
    print_context(o, &c);
    context_fini(&c);
    return CTL_DONE;
}

enum ctl_exit
ctl_context_use(const struct options *o, int argc, char **argv)
{
    char path[PATH_MAX];
    struct bytes line = {0};
    struct context c;
    (void)argc;
    enum ctl_exit code = context_load(o, argv[0], &c);
    if (code != CTL_DONE)
        return code;
    folder_path("/current", path, sizeof path);
    bytes_printf(&line, "%s\n", argv[0]);
    code = write_private(o, path, slice_of(line.data, line.size));
    if (code == CTL_DONE)
        print_context(o, &c);
    context_fini(&c);
    bytes_fini(&line);
    return code;
}

/* Copies what was given; false: it is too long. */
static bool
copy_text(const char *text, char *out, size_t size)
{
    size_t length = strlen(text);
    if (length >= size || !utf8_is_valid(slice_of(text, length)))
        return false;
    memcpy(out, text, length + 1);
    return true;
}

/* Puts what was given into c. */
static enum ctl_exit
change_context(const struct options *o, struct context *c)
{
    char path[PATH_MAX];
    struct dial_address address;
    if (o->url != NULL && dial_parse(o->url, &address) != ST_OK)
        return ctl_fail(o, CTL_USAGE, "%s: wss://HOST[:PORT]/ is wanted", o->url);
    if (o->url != NULL && !copy_text(o->url, c->url, sizeof c->url))
        return ctl_fail(o, CTL_USAGE, "--url is too long, or no text");
    if (o->host != NULL && !copy_text(o->host, c->host, sizeof c->host))
        return ctl_fail(o, CTL_USAGE, "--host is too long, or no text");
    if (o->ca != NULL && realpath(o->ca, path) == NULL)
        return ctl_fail_file(o, o->ca);
    if (o->ca != NULL && !copy_text(path, c->ca, sizeof c->ca))
        return ctl_fail(o, CTL_USAGE, "--ca is too long, or no text");
    if (o->login_file != NULL)
        return login_merge_file(o, o->login_file, &c->logins);
    return CTL_DONE;
}

enum ctl_exit
ctl_context_set(const struct options *o, int argc, char **argv)
{
    char path[PATH_MAX];
    struct context c = {.url = ""};
    struct bytes json = {0};
    struct json_writer w;
    (void)argc;
    enum ctl_exit code = check_name(o, argv[0]);
    if (code == CTL_DONE)
        code = make_folders(o);
    if (code != CTL_DONE)
        return code;
    context_path(argv[0], path, sizeof path);
    if (access(path, F_OK) == 0)
        code = context_load(o, argv[0], &c);
    if (code == CTL_DONE)
        (void)snprintf(c.name, sizeof c.name, "%s", argv[0]);
    if (code == CTL_DONE && o->url == NULL && c.url[0] == '\0')
        code = ctl_fail(o, CTL_USAGE, "a new context needs --url");
    if (code == CTL_DONE)
        code = change_context(o, &c);
    if (code == CTL_DONE) {
        json_write_begin(&w, &json);
        json_object_begin(&w, NULL);
        put_context(&w, &c, true);
        json_object_end(&w);
        bytes_put_u8(&json, '\n');
        code = write_private(o, path, slice_of(json.data, json.size));
        explicit_bzero(json.data, json.capacity);
        bytes_fini(&json);
    }
    if (code == CTL_DONE)
        print_context(o, &c);
    context_fini(&c);
    return code;
}

static void
say_deleted(const struct options *o, const char *name, bool was_used)
{
    struct bytes json = {0};
    struct bytes text = {0};
    struct json_writer w;
    json_write_begin(&w, &json);
    json_object_begin(&w, NULL);
    json_put_string(&w, "context", name);
    json_put_bool(&w, "deleted", true);
    json_put_bool(&w, "used", was_used);
    json_object_end(&w);
    bytes_printf(&text, "context %s is deleted%s", name,
                 was_used ? "; none is in use now" : "");
    ctl_answer(o, slice_of(json.data, json.size), slice_of(text.data, text.size));
    bytes_fini(&json);
    bytes_fini(&text);
}

enum ctl_exit
ctl_context_delete(const struct options *o, int argc, char **argv)
{
    char path[PATH_MAX];
    char current[NAME_MAX_BYTES + 1];
    (void)argc;
    enum ctl_exit code = check_name(o, argv[0]);
    if (code != CTL_DONE)
        return code;
    context_path(argv[0], path, sizeof path);
    if (unlink(path) != 0)
        return errno == ENOENT
                   ? ctl_fail(o, CTL_NOT_FOUND, "there is no context '%s'", argv[0])
                   : ctl_fail_file(o, path);
    read_current(current, sizeof current);
    folder_path("/current", path, sizeof path);
    if (strcmp(current, argv[0]) == 0 && unlink(path) != 0 && errno != ENOENT)
        return ctl_fail(o, CTL_DENIED, "%s: %s", path, strerror(errno));
    say_deleted(o, argv[0], strcmp(current, argv[0]) == 0);
    return CTL_DONE;
}
