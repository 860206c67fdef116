/* Salvage: see the header.
 *
 * Only publish records have checksums of their own. But the checksum of the whole can
 * be worked out from that of each piece, and a publish record says what the checksum of
 * its body was: with it in the place of the body's present one, the result is that of
 * the entry as it was written, if and only if everything else is. */
#include "queue/salvage.h"

#include "base/crc32c.h"
#include "queue/record.h"

bool
entry_has_damaged_bodies(struct slice entry, uint32_t crc)
{
    struct entry_reader reader;
    struct record record;
    enum status status;
    const uint8_t *done = entry.data;
    uint32_t sum = 0;
    bool has_damaged = false;
    if (entry_open(&reader, entry) != ST_OK)
        return false;
    while ((status = entry_next(&reader, &record)) == ST_OK) {
        if (record.type != RECORD_PUBLISH || record.publish.body.size == 0)
            continue;
        struct slice body = record.publish.body;
        sum = crc32c(sum, done, (size_t)(body.data - done));
        sum = crc32c_join(sum, record.publish.body_crc, body.size);
        done = slice_end(body);
        has_damaged = has_damaged || !record_publish_is_whole(&record.publish);
    }
    sum = crc32c(sum, done, (size_t)(slice_end(entry) - done));
    return status == ST_NOTFOUND && has_damaged && sum == crc;
}
