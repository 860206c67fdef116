/* The image's format, as image.c writes and image_loader.c reads it. For src/queue
 * alone; the byte tables are in man/holdfast-files.5. */
#ifndef HF_QUEUE_IMAGE_FORMAT_H
#define HF_QUEUE_IMAGE_FORMAT_H

#include "base/limits.h"

#include <stdint.h>

#define IMAGE_MAGIC         "HFIMAGE1"
#define IMAGE_MAGIC_BYTES   8
#define IMAGE_VERSION_FIRST 1 /* of level 1 */
#define IMAGE_VERSION       2 /* of the levels above, says which */

#define IMAGE_HEADER_BYTES       48
#define IMAGE_FRAME_HEAD_BYTES   5 /* u8 type, u32 size of what follows */
#define IMAGE_MESSAGE_HEAD_BYTES 80
#define IMAGE_FRAME_BYTES_MAX    (LIMIT_ENTRY_BYTES + 1024)

/* In this order of first appearance: the level (version 2), each queue with its
 * sessions and history, then all messages in any order, each with its trail (version 2)
 * behind it, then the trailer. */
enum image_frame {
    IMAGE_QUEUE = 1,
    IMAGE_SESSION = 2,
    IMAGE_HISTORY = 3,
    IMAGE_MESSAGE = 4,
    IMAGE_TRAILER = 5,
    IMAGE_LEVEL = 6,
    IMAGE_TRAIL = 7,
};

struct image_counts {
    uint64_t queues;
    uint64_t sessions;
    uint64_t blocks;
    uint64_t messages;
};

#endif
