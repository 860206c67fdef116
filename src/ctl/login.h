/* Login: where the queue is and who asks, and the login itself. Names and passwords
 * come from a file, a context, the environment or a prompt, never from argv. */
#ifndef HF_CTL_LOGIN_H
#define HF_CTL_LOGIN_H

#include "base/json.h"
#include "ctl/options.h"
#include "ctl/wsclient.h"

struct login {
    char username[129];
    char password[129];
};

/* UTF-8 and a JSON object: o is filled (json_object_init was called). */
bool login_parse(struct slice text, struct json_object *o);
/* The text of a member; empty when there is none. False: it is no text, or too long. */
bool login_text(const struct json_object *o, const char *key, char *out, size_t size);
/* role: "publisher", "subscriber", "admin". text: the JSON of queue create, its
 * "logins" alone, or the JSON of login rotate. False: there is no such login in it. */
bool login_of_role(struct slice text, const char *role, struct login *ret_login);
/* Puts the logins of a file into logins (as under "logins", or empty): those of the
 * other roles stay. On a failure, which was said, all stay. */
enum ctl_exit login_merge_file(const struct options *o,
                               const char *path,
                               struct bytes *logins) MUST_USE;

/* Connects and logs in; extra is put behind the login's fields (",\"capacity\":5" or
 * ""). Address and login are the first that is there of: options, --context, the
 * environment (HOLDFAST_URL, _CA, _HOST, _USERNAME, _PASSWORD), the context in use, a
 * prompt. CTL_DONE, or what to exit with; it was said then. */
enum ctl_exit login_connect(const struct options *o,
                            const char *role,
                            const char *extra,
                            struct wsclient **ret_client) MUST_USE;

/* A reply's code, 0 for success. */
uint16_t reply_code(const struct json_object *reply);
/* Says what the server refused; returns what to exit with. */
enum ctl_exit reply_complain(const struct options *o, const struct json_object *reply);
bool reply_has(const struct json_object *reply, const char *key);

#endif
