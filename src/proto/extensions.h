/* Extensions: the offers in Sec-WebSocket-Extensions (RFC 6455 section 9.1), of which
 * only permessage-deflate (RFC 7692 section 7.1) can be taken. Private to http.c. Pure.
 */
#ifndef HF_PROTO_EXTENSIONS_H
#define HF_PROTO_EXTENSIONS_H

#include "base/bytes.h"

/* RFC 7230's token characters. */
bool http_is_token_char(uint8_t c);
/* ASCII letters of any case are the same. */
bool http_is_same_word(struct slice word, const char *lower_case);

struct deflate_offer {
    bool is_taken;
    bool has_server_bits; /* server_max_window_bits stood in the offer */
    uint8_t server_bits;  /* 9..15 */
};

/* One header's value. The first offer that we can take goes to *offer, unless one is
 * there already (from an earlier header). A value that breaks the grammar offers
 * nothing at all. */
void extensions_read(struct slice value, struct deflate_offer *offer);

#endif
