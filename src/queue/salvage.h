/* Salvage: what can still be made of an entry that a disk gave back damaged. */
#ifndef HF_QUEUE_SALVAGE_H
#define HF_QUEUE_SALVAGE_H

#include "base/bytes.h"

#include <stdbool.h>

/* entry: as it is; crc: CRC-32C of it as it was written, not the one it has now. True
 * when bodies of publish records are damaged and nothing else is. Then it can be
 * applied: such a message is marked (message.is_damaged), and the leader moves it to
 * the DLQ. */
bool entry_has_damaged_bodies(struct slice entry, uint32_t crc);

#endif
