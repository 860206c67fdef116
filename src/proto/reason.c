/* Reasons: the manual's texts for its failure codes. They are for people: programs use
 * the code, so the words may change. */
#include "proto/reason.h"

#include "proto/reply.h"

static const struct {
    uint16_t code;
    const char *text;
} reasons[] = {
    {100, "Invalid json."},
    {101, "Invalid context."},
    {102, "Login message must be of type text, not binary."},
    {103, "Invalid username."},
    {104, "Invalid password."},
    {105, "Invalid role."},
    {106, "Invalid queue type."},
    {107, "Authentication failed. Invalid combination of username, password and role."},
    {108, "Admin login is only allowed for distribute type queue."},
    {109, "Invalid session id."},
    {110, "Invalid \"replay\"."},
    {200, "Invalid message body."},
    {201, "Invalid message type."},
    {202, "Body must be base64 encoded for binary messages."},
    {203, "Invalid delay."},
    {204, "Invalid durability."},
    {205, "Invalid publisher key."},
    {206, "Cannot publish: a JSON object must have a body field. To send JSON as the "
          "message, put it in body as a string."},
    {207, "Delay is only allowed for distribute type queue."},
    {208, "Durability is only allowed for distribute type queue."},
    {209, "Publisher key is only allowed for distribute type queue."},
    {210, "Max allowed message count exceeded."},
    {211, "Max allowed message memory exceeded."},
    {300, "Invalid capacity."},
    {301, "Invalid message id."},
    {302, "Invalid ack."},
    {303, "Invalid logout."},
    {304, "Invalid message. Expecting ack or logout or capacity update."},
    {305,
     "Cannot nack: a message with durability 0 is not on the disk, so it cannot go "
     "to the dead letter queue. Ack it instead."},
    {306, "No incoming messages are allowed after successful login for copy queue "
          "subscribers."},
    {400, "Invalid command (cmd)."},
    {401, "Invalid subscription period. Must be zero, or between 30 and 900 "
          "(inclusive)."},
    {402, "A subscription is already active. Cancel it first by using value 0 for "
          "subscribe."},
    {403, "No active subscription to cancel."},
    {404, "Invalid year."},
    {405, "Invalid month."},
    {406, "Invalid day."},
    {407, "Invalid date, don't have data before that."},
    {408, "Invalid average or totals."},
    {409, "Exactly one of before/after must be specified."},
    {410, "Invalid before."},
    {411, "Invalid after."},
    {412, "Invalid message count."},
    {413,
     "Cannot move: a message with durability 0 is not on the disk, so it cannot go "
     "to the dead letter queue. Use delmsg instead."},
    {414, "Invalid setting."},
    {415, "Read only parameter specified."},
    {416, "No valid parameter with write permission specified."},
    {417, "Invalid place. Must be waiting, all or dlq."},
    {418, "Invalid filter (reason, publisherkey, older or dryrun)."},
    {419, "Not possible yet: the cluster is at a level that does not have it. Ask its "
          "operator to raise the level."},
    {420, "Cannot redrive: the body of the message is damaged."},
    {500, "Internal error."},
    {501, "Out of memory."},
    {502, "Database is down."},
    {503, "Database server did not respond in time."},
    {504, "Unknown failure."},
    {505, "Could not save the settings. Nothing has changed."},
    {506, "Settings changed, but the save may not survive a machine crash."},
    {507, "Sync to file failed. This operation has eventual durability."},
};

const char *
reason_text(uint16_t code)
{
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
        if (reasons[i].code == code)
            return reasons[i].text;
    return "Unknown failure.";
}

const char *
reason_setting_name(enum setting_id id)
{
    return id < SETTING_COUNT ? setting_info(id)->name : "messages-memory-used";
}

/* "2026-11-30T12:00:00Z". The civil date by counting days in eras of 400 years that
 * begin on 1 March. */
static void
put_time(struct bytes *out, uint64_t secs)
{
    uint64_t days = secs / 86400 + 719468; /* from 1 March of the year 0 */
    uint64_t of_era = days % 146097;
    uint64_t year_of_era =
        (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    uint64_t of_year =
        of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    uint64_t month = (5 * of_year + 2) / 153; /* 0 is March */
    uint64_t day = of_year - (153 * month + 2) / 5 + 1;
    uint64_t year = days / 146097 * 400 + year_of_era + (month >= 10 ? 1 : 0);
    month = month >= 10 ? month - 9 : month + 3;
    bytes_printf(out, "%04u-%02u-%02uT%02u:%02u:%02uZ", (unsigned)year, (unsigned)month,
                 (unsigned)day, (unsigned)(secs / 3600 % 24),
                 (unsigned)(secs / 60 % 60), (unsigned)(secs % 60));
}

static bool
is_command(const struct request *r, enum admin_command command)
{
    return r->parcel.kind == PARCEL_ADMIN && r->admin->command == command;
}

static bool
is_bulk(const struct request *r)
{
    return is_command(r, ADMIN_REDRIVE) || is_command(r, ADMIN_PURGE);
}

static void
put_setting_range(const struct reply *reply, struct bytes *out)
{
    if (reply->setting >= SETTING_COUNT)
        return;
    const struct setting_info *info = setting_info(reply->setting);
    bytes_printf(out, "Invalid %s. Must be between %llu and %llu.", info->name,
                 (unsigned long long)info->least, (unsigned long long)info->most);
}

void
reason_put(const struct request *request, struct bytes *out)
{
    const struct reply *reply = &request->reply;
    size_t before = out->size;
    switch (reply->code) {
    case 407:
        bytes_put_text(out, "Invalid date, don't have data before ");
        put_time(out, reply->number / 1000);
        bytes_put_text(out, ".");
        break;
    case 408:
        bytes_put_text(out, is_command(request, ADMIN_GETUSAGE) ? "Invalid totals, "
                                                                : "Invalid average, ");
        bytes_put_text(out, reply->number == 0 ? "not specified." : "must be boolean.");
        break;
    case 412:
        if (reply->number != 0)
            bytes_printf(out,
                         "Count must be a value between 1 and %d (both inclusive).",
                         is_bulk(request) ? LIMIT_SWEEP_MESSAGES : LIMIT_LIST_COUNT);
        break;
    case 414:
        put_setting_range(reply, out);
        break;
    case 415:
        bytes_printf(out, "Read only parameter %s specified.",
                     reason_setting_name(reply->setting));
        break;
    default:
        break;
    }
    if (out->size == before)
        bytes_put_text(out, reason_text(reply->code));
}
