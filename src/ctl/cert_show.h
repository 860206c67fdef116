/* What a certificate says, for cert show and for whoever has just made one. */
#ifndef HF_CTL_CERT_SHOW_H
#define HF_CTL_CERT_SHOW_H

#include "base/json.h"

/* Describes every certificate of a PEM text: an array of objects named key goes to w,
 * and lines for people to text. How many there were; 0: it has none. */
size_t cert_describe(const char *pem,
                     const char *key,
                     struct json_writer *w,
                     struct bytes *text);

#endif
