/* Data: see data.h. */
#include "server/data.h"

#include "base/json.h"
#include "queue/salvage.h"
#include "raft/disk_check.h"
#include "server/exit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const KIND_NAMES[] = {"meta", "boot", "segment", "snapshot",
                                         "aside"};

int
data_fail(enum status st, const struct disk_error *e)
{
    (void)fprintf(stderr, "holdfastd: %s\n", e->text);
    if (st == ST_NOTFOUND)
        return EXIT_NOT_FOUND;
    return st == ST_EXISTS ? EXIT_EXISTS : EXIT_FAILED;
}

/* boot_id has DISK_BOOT_ID_MAX + 1 bytes. One that cannot be read is nobody's: then a
 * process that was killed counts as a machine that crashed. */
static struct disk_options
disk_options_of(const struct data_options *o, char *boot_id)
{
    struct disk_options d = {
        .dir = o->dir, .boot_id = boot_id, .salvage_cb = entry_has_damaged_bodies};
    const char *file =
        o->config != NULL ? o->config->boot_id_file : CONFIG_BOOT_ID_FILE;
    if (config_boot_id(file, boot_id, DISK_BOOT_ID_MAX + 1) != ST_OK)
        boot_id[0] = '\0';
    if (o->config != NULL) {
        d.node_id = o->config->node_id;
        config_cluster_id(o->config, d.cluster_id);
    }
    return d;
}

static void
print_json(struct bytes *out)
{
    (void)printf("%.*s\n", (int)out->size, (const char *)out->data);
    bytes_fini(out);
}

/* --- check --- */

struct listing {
    bool is_json;
    struct bytes out;
    struct json_writer w;
};

static void
found_cb(void *ctx, const struct disk_finding *f)
{
    struct listing *l = ctx;
    if (!l->is_json) {
        (void)printf("%-40s %-8s %s\n", f->file, f->is_damaged ? "DAMAGED" : "good",
                     f->what);
        return;
    }
    json_object_begin(&l->w, NULL);
    json_put_string(&l->w, "file", f->file);
    json_put_string(&l->w, "kind", KIND_NAMES[f->kind]);
    json_put_bool(&l->w, "good", !f->is_damaged);
    json_put_string(&l->w, "what", f->what);
    if (f->kind == DISK_FILE_SEGMENT) {
        json_put_u64(&l->w, "records", f->records);
        json_put_u64(&l->w, "first_index", f->first_index);
    }
    if (f->kind == DISK_FILE_SEGMENT || f->kind == DISK_FILE_SNAPSHOT) {
        json_put_u64(&l->w, "last_index", f->last_index);
        json_put_u64(&l->w, "term", f->term);
        json_put_u64(&l->w, "size_bytes", f->size_bytes);
    }
    if (f->has_offset)
        json_put_u64(&l->w, "offset", f->offset);
    json_object_end(&l->w);
}

static void
end_json(struct listing *l, const struct disk_verdict *v)
{
    struct json_writer *w = &l->w;
    json_array_end(w);
    json_put_bool(w, "good", v->why == ST_OK && v->damaged_files == 0);
    json_put_bool(w, "starts", v->why == ST_OK);
    if (v->why != ST_OK)
        json_put_string(w, "damage", v->error.text);
    json_put_u64(w, "node", v->node_id);
    json_put_u64(w, "members", v->members.count);
    json_put_u64(w, "term", v->term);
    json_put_u64(w, "vote", v->vote);
    json_put_u64(w, "first_index", v->first_index);
    json_put_u64(w, "last_index", v->last_index);
    json_put_u64(w, "snapshot_index", v->snapshot_index);
    json_put_u64(w, "damaged_bodies", v->damaged_bodies);
    json_put_bool(w, "torn_tail", v->is_torn);
    json_put_bool(w, "gated", v->is_crashed);
    json_put_bool(w, "rejoining", v->is_rejoining);
    json_object_end(w);
    print_json(&l->out);
}

static void
print_verdict(const struct disk_verdict *v)
{
    (void)printf("node %llu, term %llu, %u member%s, snapshot up to %llu, log %llu to "
                 "%llu%s%s\n",
                 (unsigned long long)v->node_id, (unsigned long long)v->term,
                 v->members.count, v->members.count == 1 ? "" : "s",
                 (unsigned long long)v->snapshot_index,
                 (unsigned long long)v->first_index, (unsigned long long)v->last_index,
                 v->is_torn ? ", then a torn tail, to be cut" : "",
                 v->is_rejoining ? ", rejoining" : "");
    if (v->damaged_bodies > 0)
        (void)printf("%u entries hold messages with damaged bodies: the node starts, "
                     "and shows them as damaged in the dead letter queue\n",
                     v->damaged_bodies);
    if (v->why != ST_OK)
        (void)printf("damaged: %s\n", v->error.text);
    else if (v->damaged_files > 0)
        (void)printf("damaged, but the node starts without what is damaged\n");
    else
        (void)printf("good\n");
}

int
data_check(const struct data_options *options)
{
    char boot_id[DISK_BOOT_ID_MAX + 1];
    struct disk_options disk = disk_options_of(options, boot_id);
    struct disk_verdict v;
    struct listing l = {.is_json = options->is_json};
    json_write_begin(&l.w, &l.out);
    json_object_begin(&l.w, NULL);
    json_put_string(&l.w, "dir", options->dir);
    json_array_begin(&l.w, "files");
    enum status st = disk_check(&disk, found_cb, &l, &v);
    if (st != ST_OK) {
        bytes_fini(&l.out);
        return data_fail(st, &v.error);
    }
    if (options->is_json) {
        end_json(&l, &v);
    } else {
        bytes_fini(&l.out);
        print_verdict(&v);
    }
    return v.why == ST_OK && v.damaged_files == 0 ? EXIT_DONE : EXIT_FAILED;
}

/* --- repair --- */

static bool
is_nothing(const struct disk_mend *m)
{
    return m->is_possible && !m->is_meta && !m->drops_images && m->drop_below == 0 &&
           m->cut_segment == 0 && !m->is_boot;
}

static void
say_lost(const struct disk_mend *m)
{
    if (m->lost_first == 0)
        (void)fprintf(stderr, "Nothing is lost.\n");
    else if (m->lost_last == 0)
        (void)fprintf(stderr,
                      "Entries from %llu on are LOST, it cannot be seen how many: "
                      "messages, acknowledgements and settings that were confirmed.\n",
                      (unsigned long long)m->lost_first);
    else
        (void)fprintf(stderr,
                      "Entries %llu to %llu are LOST: messages, acknowledgements and "
                      "settings that were confirmed. Where there is a second member "
                      "that has them, they come back from it.\n",
                      (unsigned long long)m->lost_first,
                      (unsigned long long)m->lost_last);
}

static void
say_plan(const struct disk_mend *m, const char *dir)
{
    (void)fprintf(stderr, "%s: %s\n", dir, m->why);
    if (m->is_meta)
        (void)fprintf(
            stderr, "Both copies of meta are made anew, with term %llu and no vote.\n",
            (unsigned long long)m->term);
    if (m->drops_images && m->keep_image == 0)
        (void)fprintf(stderr, "The damaged snapshot is given up; the log has all.\n");
    else if (m->drops_images)
        (void)fprintf(
            stderr,
            "The damaged snapshot is given up; the one before it, up to entry "
            "%llu, and the log have all.\n",
            (unsigned long long)m->keep_image);
    if (m->drop_below != 0)
        (void)fprintf(stderr,
                      "The damaged part of the log is older than the snapshot and is "
                      "given up.\n");
    if (m->cut_segment != 0)
        (void)fprintf(stderr, "The log is cut at log/%016llx.seg, offset %llu.\n",
                      (unsigned long long)m->cut_segment,
                      (unsigned long long)m->cut_offset);
    say_lost(m);
    (void)fprintf(
        stderr, "Log and snapshots as they are now are kept in %s/aside-DATE.\n", dir);
}

bool
data_is_confirmed(bool is_sure)
{
    char answer[8] = "";
    if (is_sure)
        return true;
    if (!isatty(STDIN_FILENO)) {
        (void)fprintf(stderr, "Nothing was changed: --yes is wanted.\n");
        return false;
    }
    (void)fprintf(stderr, "Go on? [y/N] ");
    if (fgets(answer, sizeof answer, stdin) == NULL ||
        (answer[0] != 'y' && answer[0] != 'Y')) {
        (void)fprintf(stderr, "Nothing was changed.\n");
        return false;
    }
    return true;
}

static void
report_json(const struct data_options *o,
            const struct disk_mend *m,
            const char *aside,
            bool is_done)
{
    struct bytes out = {0};
    struct json_writer w;
    if (!o->is_json)
        return;
    json_write_begin(&w, &out);
    json_object_begin(&w, NULL);
    json_put_string(&w, "dir", o->dir);
    json_put_bool(&w, "possible", m->is_possible && !m->by_others);
    json_put_bool(&w, "done", is_done);
    json_put_string(&w, "why", m->why);
    json_put_u64(&w, "lost_first", m->lost_first);
    json_put_u64(&w, "lost_last", m->lost_last);
    json_put_string(&w, "aside", aside);
    json_object_end(&w);
    print_json(&out);
}

/* Why there is nothing to do here; -1: there is. */
static int
check_plan(const struct data_options *o, const struct disk_mend *m)
{
    if (is_nothing(m)) {
        (void)fprintf(stderr, "%s: nothing to repair\n", o->dir);
        return EXIT_DONE;
    }
    if (m->by_others)
        (void)fprintf(
            stderr,
            "%s: %s\nNot repaired: the other members have all of it. Start "
            "the node: it sets its data aside and gets everything from them.\n",
            o->dir, m->why);
    else if (!m->is_possible)
        (void)fprintf(stderr,
                      "%s: %s\nIt cannot be repaired. What is whole is in the files "
                      "that data check calls good; restore a backup.\n",
                      o->dir, m->why);
    return m->by_others || !m->is_possible ? EXIT_FAILED : -1;
}

int
data_repair(const struct data_options *options)
{
    char boot_id[DISK_BOOT_ID_MAX + 1];
    char aside[DISK_ASIDE_NAME_BYTES] = "";
    struct disk_options disk = disk_options_of(options, boot_id);
    struct disk_error error;
    struct disk_mend m;
    enum status st = disk_mend_plan(&disk, &m, &error);
    if (st != ST_OK)
        return data_fail(st, &error);
    int code = check_plan(options, &m);
    if (code < 0) {
        say_plan(&m, options->dir);
        code = data_is_confirmed(options->is_sure) ? EXIT_DONE : EXIT_USAGE;
        if (code == EXIT_DONE && disk_mend_do(&disk, &m, aside, &error) != ST_OK)
            code = data_fail(ST_IO, &error);
        else if (code == EXIT_DONE)
            (void)fprintf(stderr, "Repaired. What it was before is in %s/%s.\n",
                          options->dir, aside);
    }
    report_json(options, &m, aside, aside[0] != '\0' && code == EXIT_DONE);
    return code;
}
