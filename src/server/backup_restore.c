/* Backup: a new cluster's data directory out of one: see backup.h. */
#include "raft/disk_seed.h"
#include "raft/members.h"
#include "server/backup_load.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct planter {
    const struct backup_options *options;
    struct disk_seed *seed;
    struct disk_error error;
    EVP_MD_CTX *digest;
};

static void
add_to_origin(struct planter *p, const void *data, size_t size)
{
    if (EVP_DigestUpdate(p->digest, data, size) != 1)
        abort(); /* SHA-256 cannot fail but for memory */
}

static int
plant(void *ctx, struct slice piece)
{
    struct planter *p = ctx;
    add_to_origin(p, piece.data, piece.size);
    if (disk_seed_write(p->seed, piece, &p->error) == ST_OK)
        return 0;
    return backup_fail(p->options, EXIT_FAILED, "%s", p->error.text);
}

/* What nodes must have in common to become one cluster: the state, where it stands in
 * the log, and the members. */
static void
begin_origin(struct planter *p, const struct disk_seed_options *o)
{
    struct bytes head = {0};
    struct rlog_members members = o->members;
    rlog_members_sort(&members);
    bytes_put_u64(&head, o->index);
    bytes_put_u64(&head, o->term);
    bytes_put_u64(&head, o->chain);
    rlog_members_encode(&members, &head);
    p->digest = EVP_MD_CTX_new();
    if (p->digest == NULL || EVP_DigestInit_ex(p->digest, EVP_sha256(), NULL) != 1)
        abort();
    add_to_origin(p, head.data, head.size);
    bytes_fini(&head);
}

static int
finish_planting(struct planter *p, uint8_t ret_origin[DISK_ORIGIN_BYTES])
{
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    if (EVP_DigestFinal_ex(p->digest, digest, &size) != 1 || size < DISK_ORIGIN_BYTES)
        abort();
    memcpy(ret_origin, digest, DISK_ORIGIN_BYTES);
    enum status st = disk_seed_finish(p->seed, ret_origin, &p->error);
    p->seed = NULL;
    return st == ST_OK ? 0 : backup_fail(p->options, EXIT_FAILED, "%s", p->error.text);
}

static int
make_directory(const struct backup_options *o, struct loaded *l, uint8_t *ret_origin)
{
    struct planter p = {.options = o};
    struct disk_seed_options seed = {
        .dir = o->config->data_dir,
        .node_id = o->config->node_id,
        .members = o->config->initial_cluster,
        .index = l->info.index,
        .term = l->info.term,
        .chain = l->info.chain,
    };
    config_cluster_id(o->config, seed.cluster_id);
    enum status st = disk_seed_begin(&seed, &p.seed, &p.error);
    if (st != ST_OK)
        return backup_fail(o, st == ST_EXISTS ? EXIT_EXISTS : EXIT_FAILED, "%s",
                           p.error.text);
    begin_origin(&p, &seed);
    int code = backup_each_piece(l->state, plant, &p);
    if (code == 0)
        code = finish_planting(&p, ret_origin);
    disk_seed_abandon(p.seed);
    EVP_MD_CTX_free(p.digest);
    return code;
}

/* What can be known before the backup is read, which takes its time. */
static int
check_node(const struct backup_options *o)
{
    const struct config *c = o->config;
    struct disk_error error = {0};
    const struct rlog_member *self = rlog_members_find(&c->initial_cluster, c->node_id);
    if (self == NULL)
        return backup_fail(o, EXIT_FAILED, "%s: node-id %llu is not in initial-cluster",
                           c->file, (unsigned long long)c->node_id);
    enum status st = disk_check_unused(c->data_dir, &error);
    if (st == ST_OK)
        return EXIT_DONE;
    return backup_fail(o, st == ST_EXISTS ? EXIT_EXISTS : EXIT_FAILED,
                       "%s; a restore makes a new data directory", error.text);
}

static int
check_cluster(const struct backup_options *o, const struct loaded *l)
{
    uint8_t id[16];
    config_cluster_id(o->config, id);
    if (memcmp(id, l->info.cluster_id, sizeof id) != 0)
        return EXIT_DONE;
    return backup_fail(
        o, EXIT_FAILED,
        "%s: the backup comes from the cluster of this cluster-token. Choose "
        "another token: with two clusters of one name, a node of the old one "
        "that is still somewhere would count in the new one",
        o->config->file);
}

int
backup_restore(const struct backup_options *options)
{
    struct loaded l = {0};
    uint8_t origin[DISK_ORIGIN_BYTES] = {0};
    char text[2 * DISK_ORIGIN_BYTES + 1];
    int code = check_node(options);
    if (code == EXIT_DONE)
        code = backup_load(options, &l);
    if (code != EXIT_DONE)
        return code;
    code = check_cluster(options, &l);
    if (code == EXIT_DONE)
        code = backup_keep_queue(options, &l);
    if (code == EXIT_DONE)
        code = make_directory(options, &l, origin);
    if (code == EXIT_DONE) {
        backup_hex(origin, sizeof origin, text);
        if (options->is_json)
            backup_print_json(options, &l, text);
        else
            (void)printf("node %llu: %s is made of entry %llu\n"
                         "origin %s: it must be the same on every node\n",
                         (unsigned long long)options->config->node_id,
                         options->config->data_dir, (unsigned long long)l.info.index,
                         text);
    }
    state_free(l.state);
    return code;
}
