/* Transcript: what a decoder makes of some input, as a line of text. */
#ifndef HF_TESTS_PROTO_TRANSCRIPT_H
#define HF_TESTS_PROTO_TRANSCRIPT_H

#include "base/bytes.h"

struct transcript_options {
    bool may_compress;
    size_t max_bytes; /* 0: 65536 */
    size_t first;     /* bytes of the first piece; 0: all in one */
    size_t piece;     /* bytes of each piece; 0: no pieces */
};

/* "text:hello binary:3 ping:mid pong: close:1000 error:1002 | within": payloads are
 * shown when they are short text, else their size. Behind the last event "within" tells
 * that a message has begun. The text is valid until the next call. */
const char *transcript(struct slice input, struct transcript_options options);

#endif
