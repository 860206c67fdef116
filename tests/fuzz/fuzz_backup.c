/* Fuzz target of server/backup_file: a backup.
 *
 *   0  u8   bit 0: the checksums are put right; the rest: size of a piece, less one
 *   1  ...  the file
 *
 * Besides not crashing: in pieces or whole is the same; what is refused says where;
 * what is taken gave out as many bytes as its head says, and is byte for byte what the
 * writer makes of them; and no more memory is held than one piece and what came. */
#include "base/crc32c.h"
#include "base/mem.h"
#include "raft/disk_format.h"
#include "server/backup_file.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

#define MEMORY_PLUS (64u << 10)

static enum status
take_cb(void *ctx, struct slice image)
{
    struct bytes *out = ctx;
    bytes_put_slice(out, image);
    return ST_OK;
}

/* Head, pieces and end get the checksums of what is in them. */
static void
fix(struct bytes *file)
{
    uint64_t chunk = 0;
    size_t at = BACKUP_HEAD_BYTES;
    if (file->size < BACKUP_HEAD_BYTES)
        return;
    uint64_t left = get_u64(file->data + 72);
    uint32_t image_crc = 0;
    while (left > 0 && at + IMAGE_CHUNK_HEAD < file->size) {
        size_t size = left < IMAGE_CHUNK_BYTES ? (size_t)left : IMAGE_CHUNK_BYTES;
        uint8_t *data = file->data + at + IMAGE_CHUNK_HEAD;
        if (size > file->size - at - IMAGE_CHUNK_HEAD)
            break;
        image_chunk_put(file->data + at, chunk++, data, (uint32_t)size);
        image_crc = crc32c(image_crc, data, size);
        at += IMAGE_CHUNK_HEAD + size;
        left -= size;
    }
    put_u32(file->data + 80, image_crc);
    put_u32(file->data + BACKUP_HEAD_BYTES - 4,
            crc32c(0, file->data, BACKUP_HEAD_BYTES - 4));
    if (file->size - at < BACKUP_END_BYTES)
        return;
    put_u32(file->data + at + 56, crc32c(0, file->data, at));
    put_u32(file->data + at + 60, crc32c(0, file->data + at, 60));
}

static enum status
read_file(struct slice file,
          size_t piece,
          struct bytes *image,
          struct backup_info *info)
{
    size_t before = allocated_bytes();
    struct backup_reader *r = backup_reader_new(take_cb, image);
    enum status fed = ST_OK;
    for (size_t at = 0; at < file.size && fed == ST_OK; at += piece) {
        size_t left = file.size - at;
        fed = backup_reader_feed(r,
                                 slice_of(file.data + at, left < piece ? left : piece));
    }
    require(allocated_bytes() <=
            before + 4 * file.size + 2 * LIMIT_SNAPSHOT_CHUNK + MEMORY_PLUS);
    enum status st = backup_reader_finish(r);
    require(fed == ST_OK || st == fed);
    require(st == ST_OK || st == ST_CORRUPT || st == ST_VERSION);
    require((st == ST_OK) == (backup_reader_why(r)[0] == '\0'));
    require(st == ST_OK || strncmp(backup_reader_why(r), "at offset ", 10) == 0);
    if (backup_reader_info(r) != NULL)
        *info = *backup_reader_info(r);
    backup_reader_free(r);
    return st;
}

/* Written again it is the same, but for the counts, which are whatever it said. */
static void
check_again(struct slice file,
            const struct bytes *image,
            const struct backup_info *info)
{
    struct backup_writer w;
    struct bytes again = {0};
    require(image->size == info->image_bytes);
    backup_put_head(&w, info, &again);
    for (size_t at = 0; at < image->size; at += LIMIT_SNAPSHOT_CHUNK) {
        size_t left = image->size - at;
        backup_put_chunk(&w,
                         slice_of(image->data + at, left < LIMIT_SNAPSHOT_CHUNK
                                                        ? left
                                                        : LIMIT_SNAPSHOT_CHUNK),
                         &again);
    }
    require(
        slice_equal(slice_of(again.data, again.size), slice_of(file.data, again.size)));
    backup_put_end(&w, &again);
    require(again.size == file.size && again.size == backup_file_bytes(image->size));
    bytes_fini(&again);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    struct bytes copy = {0};
    struct bytes whole = {0};
    struct bytes cut = {0};
    struct backup_info info = {0};
    bytes_put(&copy, data + 1, size - 1);
    if ((data[0] & 1) != 0)
        fix(&copy);
    struct slice file = slice_of(copy.data, copy.size);
    enum status st = read_file(file, copy.size + 1, &whole, &info);
    require(read_file(file, (size_t)(data[0] >> 1) + 1, &cut, &info) == st);
    require(
        slice_equal(slice_of(whole.data, whole.size), slice_of(cut.data, cut.size)));
    if (st == ST_OK)
        check_again(file, &whole, &info);
    bytes_fini(&copy);
    bytes_fini(&whole);
    bytes_fini(&cut);
    return 0;
}
