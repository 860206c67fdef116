/* Login: names and passwords from a file (never from argv), and the login itself. */
#ifndef HF_CTL_LOGIN_H
#define HF_CTL_LOGIN_H

#include "base/json.h"
#include "ctl/options.h"
#include "ctl/wsclient.h"

struct login {
    char username[129];
    char password[129];
};

/* role: "publisher", "subscriber", "admin". The file is the JSON of queue create, or
 * its "logins" alone. Says on stderr what is wrong. */
enum status
login_read(const char *file, const char *role, struct login *ret_login) MUST_USE;

/* Connects and logs in with --url, --ca, --host, --login-file; extra is put behind the
 * login's fields (",\"capacity\":5" or ""). CTL_DONE, or what to exit with; it was said
 * on stderr then. */
enum ctl_exit login_connect(const struct options *o,
                            const char *role,
                            const char *extra,
                            struct wsclient **ret_client) MUST_USE;

/* A reply: its code (0 success) and reason printed to stderr when it failed. */
uint16_t reply_code(const struct json_object *reply);
/* Says on stderr what the server refused. */
void reply_complain(const struct json_object *reply);
bool reply_has(const struct json_object *reply, const char *key);

#endif
