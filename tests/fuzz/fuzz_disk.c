/* Fuzz target of raft/disk_format and raft/disk_scan: the files of the log.
 *
 *   0  u8   bits 0 and 1: what follows; bit 2: checksums are put right; bit 3: the
 *           machine crashed; bit 4: the last stop was clean
 *
 * 0: one small file or head; what is taken comes back when it is written again.
 * 1: u16, bytes of the first segment, then of the second; whatever a scan takes is in
 *    order and lies where it says.
 * 2: u8 damage, u8 segment, u16 offset, u8 size, then a script of logmaker.h: the scan
 *    finds exactly what it may, and refuses exactly when something is lost that was
 *    synced. */
#include "base/crc32c.h"
#include "base/mem.h"
#include "raft/disk_scan.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/logmaker.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FORMATS        5
#define FORMAT_VERSION 1

static struct disk disk = {.log_fd = -1};
static char dir[] = "/tmp/holdfast-fuzz-XXXXXX";
static uint32_t files; /* segments that are in the directory */

static void
remove_files(void)
{
    char name[DISK_NAME_MAX];
    for (; files > 0; files--) {
        disk_segment_name(files, name);
        require(unlinkat(disk.log_fd, name, 0) == 0);
    }
}

static void
remove_dir(void)
{
    remove_files();
    (void)rmdir(dir);
}

static void
open_dir(void)
{
    require(mkdtemp(dir) != NULL);
    disk.dir = dir;
    disk.cluster = MAKER_CLUSTER;
    disk.node_id = MAKER_NODE;
    disk.log_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    require(disk.log_fd >= 0 && atexit(remove_dir) == 0);
}

static void
add_file(const struct bytes *b)
{
    char name[DISK_NAME_MAX];
    disk_segment_name(++files, name);
    int fd = openat(disk.log_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    require(fd >= 0 && write(fd, b->data, b->size) == (ssize_t)b->size);
    require(close(fd) == 0);
}

/* The entries a scan found are in order, and each lies whole where it says. */
static void
check_entries(const struct disk_scan *s, const struct bytes *segments)
{
    uint64_t term = 0;
    for (uint64_t i = 0; i < s->count; i++) {
        const struct disk_scan_entry *e = &s->entries[i];
        const struct bytes *b = &segments[e->place.segment - 1];
        struct record_head h;
        require(e->place.segment >= 1 && e->place.segment <= files);
        require(e->place.offset + RECORD_HEAD_BYTES + e->place.size <= b->size);
        uint64_t salt = get_u64(b->data + 24);
        const uint8_t *at = b->data + e->place.offset;
        require(record_head_get(at, salt, &h));
        require(h.index == s->first + i && h.term == e->term && h.type == e->type);
        require(h.size == e->place.size && h.is_sync == e->is_sync);
        require(crc32c(0, at + RECORD_HEAD_BYTES, h.size) == h.crc);
        require(h.term >= term && h.number <= s->number);
        term = h.term;
    }
}

static enum status
scan(const struct bytes *segments, uint32_t count, struct disk_scan *ret_scan)
{
    struct disk_error error = {.text = ""};
    for (uint32_t i = 0; i < count; i++)
        add_file(&segments[i]);
    enum status status = disk_scan_log(&disk, ret_scan, &error);
    if (status == ST_OK) {
        require(ret_scan->segment_count == count);
        require(ret_scan->marked <= ret_scan->number);
        check_entries(ret_scan, segments);
    } else {
        require(status == ST_CORRUPT || status == ST_VERSION || status == ST_DENIED);
        require(strncmp(error.text, dir, strlen(dir)) == 0);
    }
    remove_files();
    return status;
}

static void
fix_segment(struct bytes *b, uint64_t number)
{
    if (b->size < SEGMENT_HEAD_BYTES)
        return;
    struct segment_head head = {.number = number,
                                .salt = get_u64(b->data + 24),
                                .cluster = MAKER_CLUSTER,
                                .node_id = MAKER_NODE};
    segment_head_put(b->data, &head);
    size_t at = SEGMENT_HEAD_BYTES;
    while (at + RECORD_HEAD_BYTES <= b->size) {
        uint8_t *record = b->data + at;
        uint8_t salt[8];
        size_t left = b->size - at - RECORD_HEAD_BYTES;
        size_t size = get_u32(record + 4);
        if (size > left)
            break;
        put_u64(salt, head.salt);
        put_u32(record + 8, crc32c(0, record + RECORD_HEAD_BYTES, size));
        uint32_t crc = crc32c(0, salt, sizeof salt);
        put_u32(record, crc32c(crc, record + 4, RECORD_HEAD_BYTES - 4));
        at += record_bytes(size);
    }
}

static void
check_segments(struct reader *r, bool is_fixed)
{
    struct bytes segments[2] = {{0}};
    struct disk_scan found;
    size_t first = read_u16(r);
    if (first > reader_left(r))
        first = reader_left(r);
    bytes_put_slice(&segments[0], read_slice(r, first));
    bytes_put_slice(&segments[1], read_slice(r, reader_left(r)));
    for (uint64_t i = 0; i < 2 && is_fixed; i++)
        fix_segment(&segments[i], i + 1);
    if (scan(segments, 2, &found) == ST_OK)
        disk_scan_fini(&found);
    bytes_fini(&segments[0]);
    bytes_fini(&segments[1]);
}

/* The found entries are those that the first count records leave. */
static void
check_found(const struct disk_scan *found, const struct logmaker *m, uint32_t count)
{
    require(found->number == count);
    if (count == 0) {
        require(found->count == 0);
        return;
    }
    const struct record_head *last = &m->records[count - 1].head;
    require(found->first + found->count - 1 == last->index);
    for (uint32_t i = 0; i < count; i++) {
        const struct made_record *made = &m->records[i];
        bool is_replaced = false;
        for (uint32_t j = i + 1; j < count; j++)
            is_replaced = is_replaced || m->records[j].head.index <= made->head.index;
        if (is_replaced)
            continue;
        const struct disk_scan_entry *e =
            &found->entries[made->head.index - found->first];
        require(e->place.segment == made->segment + 1);
        require(e->place.offset == made->offset && e->term == made->head.term);
    }
}

static void
check_script(struct reader *r)
{
    struct damage_at at = {.kind = (enum damage)(read_u8(r) % 4)};
    at.segment = read_u8(r);
    at.offset = read_u16(r);
    at.size = read_u8(r);
    struct logmaker m;
    struct disk_scan found;
    logmaker_init(&m, read_slice(r, reader_left(r)));
    logmaker_damage(&m, &at);
    if (disk.boot.is_clean)
        disk.boot.number = m.count;
    uint32_t expected = logmaker_expected(&m, disk.boot.is_crashed, disk.boot.number);
    enum status status = scan(m.segments, m.segment_count, &found);
    if (status == ST_OK && found.has_record && found.first != 1) {
        /* What is missing in front is for disk_repair.c to see, which refuses too. */
        disk_scan_fini(&found);
        status = ST_CORRUPT;
    }
    require((status == ST_OK) == (expected != UINT32_MAX));
    require(status == ST_OK || status == ST_CORRUPT);
    if (status == ST_OK) {
        check_found(&found, &m, expected);
        disk_scan_fini(&found);
    }
    logmaker_fini(&m);
}

static void
fix_frame(uint8_t *in, size_t size, const char *magic)
{
    memcpy(in, magic, 8);
    put_u32(in + 8, FORMAT_VERSION);
    put_u32(in + size - 4, crc32c(0, in, size - 4));
}

static enum status
meta_again(const uint8_t *in, uint8_t *out)
{
    struct disk_meta m;
    enum status status = disk_meta_get(in, &m);
    if (status == ST_OK)
        disk_meta_put(out, &m);
    return status;
}

static enum status
boot_again(const uint8_t *in, uint8_t *out)
{
    struct disk_boot b;
    enum status status = disk_boot_get(in, &b);
    if (status == ST_OK) {
        require(memchr(b.boot_id, 0, sizeof b.boot_id) != NULL);
        disk_boot_put(out, &b);
    }
    return status;
}

static enum status
segment_again(const uint8_t *in, uint8_t *out)
{
    struct segment_head h;
    enum status status = segment_head_get(in, &h);
    if (status == ST_OK)
        segment_head_put(out, &h);
    return status;
}

static enum status
image_again(const uint8_t *in, uint8_t *out)
{
    struct rlog_snapshot_meta m;
    uint64_t cluster;
    enum status status = image_head_get(in, &m, &cluster);
    if (status == ST_OK)
        image_head_put(out, &m, cluster);
    return status;
}

static enum status
record_again(const uint8_t *in, uint8_t *out)
{
    struct record_head h;
    if (!record_head_get(in, 5, &h))
        return ST_CORRUPT;
    require(h.size <= LIMIT_ENTRY_BYTES);
    record_head_put(out, &h, 5);
    return ST_OK;
}

/* What is written of what was taken is taken, and is written the same again. */
static void
check_format(struct reader *r, bool is_fixed)
{
    static const struct {
        size_t size;
        const char *magic;
        enum status (*again)(const uint8_t *in, uint8_t *out);
        size_t from; /* bytes that are as they were: fields, without what is unused */
        size_t to;
    } formats[FORMATS] = {
        {META_BYTES, "HFMETADT", meta_again, 16, 65},
        {BOOT_BYTES, "HFBOOTID", boot_again, 24, 32},
        {SEGMENT_HEAD_BYTES, "HFSEGMNT", segment_again, 16, 48},
        {IMAGE_HEAD_BYTES, "HFSNAPSH", image_again, 12, 28},
        {RECORD_HEAD_BYTES, NULL, record_again, 16, 48},
    };
    unsigned kind = read_u8(r) % FORMATS;
    size_t size = formats[kind].size;
    uint8_t *in = mem_calloc(3, size); /* exact, for the address sanitizer */
    uint8_t *once = in + size;
    uint8_t *twice = once + size;
    size_t count = reader_left(r) < size ? reader_left(r) : size;
    read_copy(r, in, count);
    if (is_fixed && formats[kind].magic != NULL)
        fix_frame(in, size, formats[kind].magic);
    if (formats[kind].again(in, once) == ST_OK) {
        require(formats[kind].again(once, twice) == ST_OK);
        require(memcmp(once, twice, size) == 0);
        size_t from = formats[kind].from;
        require(memcmp(once + from, in + from, formats[kind].to - from) == 0);
    }
    mem_free(in);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    if (disk.log_fd < 0)
        open_dir();
    struct reader r = reader_of(slice_of(data + 1, size - 1));
    bool is_fixed = (data[0] & 4) != 0;
    memset(&disk.boot, 0, sizeof disk.boot);
    disk.boot.is_crashed = (data[0] & 8) != 0;
    disk.boot.is_clean = (data[0] & 16) != 0;
    if ((data[0] & 3) == 0)
        check_format(&r, is_fixed);
    else if ((data[0] & 3) == 1)
        check_segments(&r, is_fixed);
    else
        check_script(&r);
    return 0;
}
