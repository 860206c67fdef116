/* Status codes: their names.
 *
 * Not messages for clients: those are the manual's codes, made in src/broker and
 * src/proto. The names go into logs and test output only. */
#include "base/status.h"

const char *
status_name(enum status status)
{
    switch (status) {
    case ST_OK:
        return "ok";
    case ST_AGAIN:
        return "try again";
    case ST_NOMEM:
        return "out of memory";
    case ST_INVALID:
        return "invalid";
    case ST_RANGE:
        return "out of range";
    case ST_EXISTS:
        return "exists already";
    case ST_NOTFOUND:
        return "not found";
    case ST_NOTLEADER:
        return "not the leader";
    case ST_CLOSED:
        return "closed";
    case ST_TIMEOUT:
        return "timed out";
    case ST_DENIED:
        return "denied";
    case ST_FULL:
        return "no space left";
    case ST_CORRUPT:
        return "corrupt";
    case ST_CONFLICT:
        return "conflict";
    case ST_VERSION:
        return "unknown version";
    case ST_IO:
        return "input/output error";
    }
    return "unknown status";
}
