/* Failure: see failure.h. */
#include "ctl/failure.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define CODE_LOGIN_FIRST 103 /* name, password, role: the manual's codes */
#define CODE_LOGIN_LAST  107
#define CODE_ID          301
#define CODE_NO_SETTING  416

static const struct {
    uint16_t code;
    enum ctl_exit exit;
    const char *text;
} CLOSES[] = {
    {1002, CTL_REFUSED, "what it got was no WebSocket"},
    {1007, CTL_REFUSED, "the message is no UTF-8 text"},
    {1008, CTL_REFUSED,
     "the message did not come whole in time (message-timeout-secs)"},
    {1009, CTL_REFUSED, "the message is too long for the queue (max-ws-msg-len)"},
    {1011, CTL_REFUSED, "it could not put the message together"},
    {1000, CTL_UNREACHABLE, "it ended the session"},
    {1005, CTL_UNREACHABLE, "it said nothing"},
    {1006, CTL_UNREACHABLE, "the leader changed, or the node stopped"},
};

enum ctl_exit
failure_of_errno(int error)
{
    switch (error) {
    case ENOENT:
    case ENOTDIR:
        return CTL_NOT_FOUND;
    case EACCES:
    case EPERM:
        return CTL_DENIED;
    case EEXIST:
        return CTL_EXISTS;
    default:
        return CTL_FAILED;
    }
}

enum ctl_exit
failure_of_reply(uint16_t code)
{
    if (code == 0)
        return CTL_DONE;
    if (code >= CODE_LOGIN_FIRST && code <= CODE_LOGIN_LAST)
        return CTL_DENIED;
    return code == CODE_ID || code == CODE_NO_SETTING ? CTL_NOT_FOUND : CTL_REFUSED;
}

enum ctl_exit
failure_of_close(uint16_t code)
{
    for (size_t i = 0; i < sizeof CLOSES / sizeof CLOSES[0]; i++)
        if (CLOSES[i].code == code)
            return CLOSES[i].exit;
    return CTL_UNREACHABLE;
}

const char *
failure_close_text(uint16_t code)
{
    for (size_t i = 0; i < sizeof CLOSES / sizeof CLOSES[0]; i++)
        if (CLOSES[i].code == code)
            return CLOSES[i].text;
    return "it did not say why";
}

enum ctl_exit
failure_of_connect(enum status status)
{
    switch ((unsigned)status) {
    case ST_OK:
        return CTL_DONE;
    case ST_INVALID: /* the URL */
        return CTL_USAGE;
    case ST_CORRUPT: /* the authority's file */
        return CTL_FAILED;
    case ST_NOTLEADER: /* taken, and ended before a word was said */
        return CTL_NO_LEADER;
    case ST_DENIED: /* an answer, but no WebSocket */
        return CTL_REFUSED;
    case ST_TIMEOUT:
        return CTL_TIMEOUT;
    default:
        return CTL_UNREACHABLE;
    }
}

enum ctl_exit
ctl_fail_file(const struct options *o, const char *path)
{
    int error = errno;
    return ctl_fail(o, failure_of_errno(error), "%s: %s", path, strerror(error));
}

enum ctl_exit
ctl_check_file(const struct options *o, const char *path)
{
    int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    if (path != NULL && fd < 0)
        return ctl_fail_file(o, path);
    if (fd >= 0)
        (void)close(fd);
    return CTL_DONE;
}

enum ctl_exit
ctl_fail_reply(const struct options *o,
               enum status status,
               uint16_t close_code,
               const char *unsure)
{
    enum ctl_exit exit = failure_of_close(close_code);
    if (status == ST_TIMEOUT)
        return ctl_fail(o, CTL_TIMEOUT, "no answer in time: %s", unsure);
    return ctl_fail(o, exit, "the server closed the connection (code %u): %s%s%s",
                    close_code, failure_close_text(close_code),
                    exit == CTL_REFUSED ? "" : "; ", exit == CTL_REFUSED ? "" : unsure);
}
