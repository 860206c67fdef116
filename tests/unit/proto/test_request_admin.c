/* Tests of proto/request_admin: the administrators' commands. */
#include "parse.h"

#define ROLE ROLE_ADMIN
#define TYPE QUEUE_DISTRIBUTE
#define ID   "01a1c09f-62da-7000-a30b-0817c9a42e3f"

static struct request *
command(const char *text)
{
    struct request *r = parse_text(ROLE, TYPE, text);
    ck_assert_int_eq(r->parcel.kind, PARCEL_ADMIN);
    return r;
}

static const char *
code_of(const char *format, const char *text)
{
    return parse_code(ROLE, TYPE, fill(format, text));
}

START_TEST(every_command_is_known)
{
    static const char *const names[] = {
        [ADMIN_GETLIVESTATS] = "getlivestats",
        [ADMIN_GETSTATS] = "getstats",
        [ADMIN_GETUSAGE] = "getusage",
        [ADMIN_GETMSGS] = "getmsgs",
        [ADMIN_GETMSG] = "getmsg",
        [ADMIN_ADDMSG] = "addmsg",
        [ADMIN_DELMSG] = "delmsg",
        [ADMIN_MOVETODLQ] = "movetodlq",
        [ADMIN_GETDLQMSGS] = "getdlqmsgs",
        [ADMIN_GETDLQMSG] = "getdlqmsg",
        [ADMIN_DELDLQMSG] = "deldlqmsg",
        [ADMIN_GETCFG] = "getcfg",
        [ADMIN_SETCFG] = "setcfg",
        [ADMIN_REDRIVE] = "redrive",
        [ADMIN_PURGE] = "purge",
        [ADMIN_HISTORY] = "history",
    };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct request *r = command(fill("{\"cmd\":\"%s\",\"context\":5}", names[i]));
        ck_assert_int_eq(r->admin->command, (int)i);
        ck_assert_uint_eq(r->context_size, 1);
        parse_free(r);
    }
}
END_TEST

START_TEST(other_commands_are_400_and_the_connection_stays)
{
    static const struct code_case cases[] = {
        {"{\"cmd\":\"nothing\"}", "400"},
        {"{\"cmd\":\"\"}", "400"},
        {"{\"cmd\":\"GetCfg\"}", "400"},
        {"{\"cmd\":5}", "400"},
        {"{\"cmd\":null}", "400"},
        {"{\"cmd\":[\"getcfg\"]}", "400"},
        {"{}", "400"},
        {"{\"body\":\"x\"}", "400"},
        {"[]", "400"},
        {"7", "400"},
        {"\"getcfg\"", "400"},
        {"null", "400"},
        {"{\"cmd\":\"getcfg\\u0000\"}", "400"},
        {"{\"cmd\":\"nothing\",\"context\":true}", "101"},
        {"{\"cmd\":\"getcfg\",\"context\":true}", "101"},
    };
    CHECK_CODES(cases, ROLE, TYPE);
    struct request *r = parse_text(ROLE, TYPE, "{\"cmd\":\"nothing\",\"context\":1.5}");
    ck_assert_int_eq(r->parcel.kind, PARCEL_REFUSED);
    ck_assert_slice_eq(slice_of(r->context, r->context_size), LITERAL("1.5"));
    parse_free(r);
}
END_TEST

START_TEST(what_is_not_json_is_100_and_ends)
{
    static const char *const texts[] = {"Hello", "{\"cmd\":", "{cmd:'getcfg'}", "",
                                        "{\"cmd\":\"getcfg\",\"cmd\":\"getcfg\"}"};
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        ck_assert_str_eq(parse_code(ROLE, TYPE, texts[i]), "100 ends");
    struct request *r = parse_bytes(ROLE, TYPE, false, LITERAL("{\"cmd\":\"getcfg\"}"));
    ck_assert(r->code == 100 && r->ends);
    parse_free(r);
}
END_TEST

START_TEST(a_subscription_is_0_or_from_30_to_900)
{
    static const char *const bad[] = {"29",     "1",    "-1",   "901", "30.5",
                                      "\"30\"", "null", "true", "[]"};
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        ck_assert_str_eq(code_of("{\"cmd\":\"getlivestats\",\"subscribe\":%s}", bad[i]),
                         "401");
    static const uint32_t good[] = {0, 30, 900};
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        char number[20];
        snprintf(number, sizeof(number), "%u", good[i]);
        struct request *r =
            command(fill("{\"cmd\":\"getlivestats\",\"subscribe\":%s}", number));
        ck_assert(r->code == 0 && r->admin->has_subscribe &&
                  r->admin->subscribe_secs == good[i]);
        parse_free(r);
    }
    struct request *r = command("{\"cmd\":\"getlivestats\"}");
    ck_assert(r->code == 0 && !r->admin->has_subscribe);
    parse_free(r);
}
END_TEST

START_TEST(a_day_of_history_is_checked_by_the_calendar)
{
    static const struct {
        const char *date;
        uint64_t day;
    } good[] = {
        {"\"year\":1970,\"month\":1,\"day\":1", 0},
        {"\"year\":1972,\"month\":2,\"day\":29", 789},
        {"\"year\":2000,\"month\":2,\"day\":29", 11016},
        {"\"year\":2026,\"month\":11,\"day\":9", 20766},
        {"\"year\":2026.0,\"month\":12,\"day\":31", 20818},
        {"\"year\":9999,\"month\":12,\"day\":31", 2932896},
    };
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        struct request *r =
            command(fill("{\"cmd\":\"getstats\",\"average\":true,%s}", good[i].date));
        ck_assert(r->code == 0 && r->admin->has_date && r->admin->flag);
        ck_assert_uint_eq(r->admin->day, good[i].day);
        parse_free(r);
    }
    static const struct code_case bad[] = {
        {"\"month\":1,\"day\":1", "404"},
        {"\"year\":\"2026\",\"month\":1,\"day\":1", "404"},
        {"\"year\":null,\"month\":0,\"day\":99", "404"},
        {"\"year\":1969,\"month\":1,\"day\":1", "404"},
        {"\"year\":10000,\"month\":1,\"day\":1", "404"},
        {"\"year\":2026.5,\"month\":1,\"day\":1", "404"},
        {"\"year\":2026,\"day\":1", "405"},
        {"\"year\":2026,\"month\":0,\"day\":1", "405"},
        {"\"year\":2026,\"month\":13,\"day\":1", "405"},
        {"\"year\":2026,\"month\":\"1\",\"day\":1", "405"},
        {"\"year\":2026,\"month\":1", "406"},
        {"\"year\":2026,\"month\":1,\"day\":0", "406"},
        {"\"year\":2026,\"month\":1,\"day\":32", "406"},
        {"\"year\":2026,\"month\":1,\"day\":1.5", "406"},
        {"\"year\":2026,\"month\":2,\"day\":29", "406"},
        {"\"year\":1900,\"month\":2,\"day\":29", "404"},
        {"\"year\":2100,\"month\":2,\"day\":29", "406"},
        {"\"year\":2024,\"month\":2,\"day\":30", "406"},
        {"\"year\":2026,\"month\":4,\"day\":31", "406"},
        {"\"year\":2026,\"month\":6,\"day\":31", "406"},
        {"\"year\":2026,\"month\":9,\"day\":31", "406"},
        {"\"year\":2026,\"month\":11,\"day\":31", "406"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        ck_assert_str_eq(
            code_of("{\"cmd\":\"getstats\",\"average\":false,%s}", bad[i].text),
            bad[i].code);
        ck_assert_str_eq(code_of("{\"cmd\":\"getusage\",%s}", bad[i].text),
                         bad[i].code);
    }
}
END_TEST

START_TEST(average_and_totals_are_booleans)
{
    static const char *const bad[] = {"\"true\"", "0", "1", "null", "[]"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct request *r = command(fill("{\"cmd\":\"getstats\",\"average\":%s,"
                                         "\"year\":2026,\"month\":1,\"day\":1}",
                                         bad[i]));
        ck_assert(r->code == 408 && r->admin->has_date && r->reply.number == 1);
        parse_free(r);
    }
    /* Each has its own name. */
    struct request *r = command("{\"cmd\":\"getusage\",\"average\":true,\"year\":2026,"
                                "\"month\":1,\"day\":1}");
    ck_assert(r->code == 408 && r->reply.number == 0);
    parse_free(r);
    r = command("{\"cmd\":\"getusage\",\"totals\":false,\"year\":2026,\"month\":1,"
                "\"day\":1}");
    ck_assert(r->code == 0 && !r->admin->flag);
    parse_free(r);
}
END_TEST

START_TEST(a_page_begins_after_or_before_an_id)
{
    struct request *r = command("{\"cmd\":\"getmsgs\",\"after\":\"\",\"count\":20}");
    ck_assert(r->code == 0 && !r->admin->is_before && r->admin->is_open);
    ck_assert(!r->admin->has_id && r->admin->count == 20);
    parse_free(r);
    r = command("{\"cmd\":\"getdlqmsgs\",\"before\":\"" ID "\",\"count\":1600}");
    ck_assert(r->code == 0 && r->admin->is_before && !r->admin->is_open);
    ck_assert(r->admin->has_id && r->admin->id.b[0] == 1 && r->admin->count == 1600);
    parse_free(r);
    static const char *const bad[] = {"5",       "null", "true", "\"nonsense\"",
                                      "[\"x\"]", "\" \""};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        ck_assert_str_eq(
            code_of("{\"cmd\":\"getmsgs\",\"count\":5,\"before\":%s}", bad[i]), "410");
        ck_assert_str_eq(
            code_of("{\"cmd\":\"getdlqmsgs\",\"count\":5,\"after\":%s}", bad[i]),
            "411");
    }
    static const struct code_case cases[] = {
        {"{\"cmd\":\"getmsgs\",\"count\":5}", "409"},
        {"{\"cmd\":\"getmsgs\"}", "409"},
        {"{\"cmd\":\"getmsgs\",\"after\":\"\",\"before\":\"\",\"count\":5}", "409"},
        {"{\"cmd\":\"getmsgs\",\"after\":null,\"before\":5,\"count\":0}", "409"},
        {"{\"cmd\":\"getmsgs\",\"after\":7,\"count\":0}", "411"},
    };
    CHECK_CODES(cases, ROLE, TYPE);
}
END_TEST

START_TEST(counts_are_from_1_to_1600)
{
    static const struct {
        const char *count;
        uint64_t was_number;
    } bad[] = {{"0", 1},     {"-1", 1},   {"1601", 1}, {"1.5", 1},
               {"\"5\"", 0}, {"null", 0}, {"true", 0}, {"1e99", 1}};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct request *r = command(
            fill("{\"cmd\":\"getmsgs\",\"after\":\"\",\"count\":%s}", bad[i].count));
        ck_assert(r->code == 412 && r->reply.number == bad[i].was_number);
        parse_free(r);
    }
    ck_assert_str_eq(parse_code(ROLE, TYPE, "{\"cmd\":\"getdlqmsgs\",\"before\":\"\"}"),
                     "412");
}
END_TEST

START_TEST(a_message_has_an_id_or_the_broker_says_so)
{
    static const char *const names[] = {"getmsg", "getdlqmsg", "delmsg", "movetodlq",
                                        "deldlqmsg"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct request *r =
            command(fill("{\"cmd\":\"%s\",\"id\":\"" ID "\"}", names[i]));
        ck_assert(r->code == 0 && r->admin->has_id);
        parse_free(r);
        r = command(fill("{\"cmd\":\"%s\",\"id\":\"nonsense\"}", names[i]));
        ck_assert(r->code == 0 && !r->admin->has_id);
        parse_free(r);
        r = command(fill("{\"cmd\":\"%s\"}", names[i]));
        ck_assert(r->code == 0 && !r->admin->has_id);
        parse_free(r);
    }
}
END_TEST

START_TEST(addmsg_has_the_fields_of_a_publish)
{
    struct request *r = command("{\"cmd\":\"addmsg\",\"body\":\"aGVsbG8=\",\"type\":2,"
                                "\"durability\":0,\"publisherkey\":\"adm:1\","
                                "\"delay\":9,\"context\":3}");
    const struct publish_fields *f = &r->admin->publish;
    ck_assert_uint_eq(r->code, 0);
    ck_assert_slice_eq(slice_of(f->body->data, f->body->size),
                       LITERAL("aGVsbG8=adm:1"));
    ck_assert(f->type == 2 && f->durability == 0 && f->delay_secs == 9);
    parse_free(r);
    static const struct code_case cases[] = {
        {"{\"cmd\":\"addmsg\"}", "206"},
        {"{\"cmd\":\"addmsg\",\"body\":5}", "200"},
        {"{\"cmd\":\"addmsg\",\"body\":\"x\",\"type\":0}", "201"},
        {"{\"cmd\":\"addmsg\",\"body\":\"?\",\"type\":2}", "202"},
        {"{\"cmd\":\"addmsg\",\"body\":\"x\",\"delay\":-1}", "203"},
        {"{\"cmd\":\"addmsg\",\"body\":\"x\",\"durability\":3}", "204"},
        {"{\"cmd\":\"addmsg\",\"body\":\"x\",\"publisherkey\":\"\"}", "205"},
    };
    CHECK_CODES(cases, ROLE, TYPE);
}
END_TEST

START_TEST(every_writable_setting_has_its_range)
{
    for (int i = 0; i < SETTING_COUNT; i++) {
        const struct setting_info *info = setting_info((enum setting_id)i);
        if (!info->is_writable)
            continue;
        uint64_t values[] = {info->least - 1, info->least, info->most, info->most + 1};
        for (size_t k = 0; k < COUNT_OF(values); k++) {
            char text[100];
            snprintf(text, sizeof(text), "{\"cmd\":\"setcfg\",\"%s\":%llu}", info->name,
                     (unsigned long long)values[k]);
            struct request *r = command(text);
            bool is_good = k == 1 || k == 2;
            ck_assert_uint_eq(r->code, is_good ? 0 : 414);
            if (is_good) {
                ck_assert_uint_eq(r->admin->settings.count, 1);
                ck_assert_int_eq(r->admin->settings.items[0].id, i);
                ck_assert_uint_eq(r->admin->settings.items[0].value, values[k]);
            } else {
                ck_assert_int_eq(r->reply.setting, i);
            }
            parse_free(r);
        }
    }
}
END_TEST

START_TEST(only_plain_integers_are_settings)
{
    static const char *const bad[] = {"\"10\"", "null", "true",         "10.5",
                                      "10.0",   "1e1",  "-1",           "-0",
                                      "[10]",   "1e99", "1099511627776"};
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        ck_assert_str_eq(
            code_of("{\"cmd\":\"setcfg\",\"saved-session-timeout-secs\":%s}", bad[i]),
            "414");
}
END_TEST

START_TEST(read_only_settings_are_415)
{
    static const char *const names[] = {
        "max-tasks",
        "max-messages",
        "max-messages-memory",
        "messages-memory-used",
        "max-write-queue-bytes",
        "message-timeout-secs",
        "log-level",
    };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct request *r = command(fill("{\"cmd\":\"setcfg\",\"%s\":1000}", names[i]));
        ck_assert_uint_eq(r->code, 415);
        ck_assert_int_eq(r->reply.setting, setting_find(slice_from_text(names[i])));
        parse_free(r);
    }
    ck_assert_str_eq(code_of("{\"cmd\":\"setcfg\",\"log-level\":%s}", "\"debug\""),
                     "415");
}
END_TEST

START_TEST(of_several_settings_the_lowest_code_counts)
{
    static const struct code_case cases[] = {
        {"{\"cmd\":\"setcfg\"}", "416"},
        {"{\"cmd\":\"setcfg\",\"no-such-setting\":5}", "416"},
        {"{\"cmd\":\"setcfg\",\"MAX-WS-MSG-LEN\":5000}", "416"},
        {"{\"cmd\":\"setcfg\",\"no-such\":5,\"max-ws-msg-len\":5000}", "0"},
        {"{\"cmd\":\"setcfg\",\"max-ws-msg-len\":5000,\"max-tasks\":5}", "415"},
        {"{\"cmd\":\"setcfg\",\"max-tasks\":5,\"max-ws-msg-len\":1}", "414"},
        {"{\"cmd\":\"setcfg\",\"max-ws-msg-len\":1,\"max-tasks\":5}", "414"},
        {"{\"cmd\":\"setcfg\",\"max-ws-msg-len\":1,\"context\":true}", "101"},
    };
    CHECK_CODES(cases, ROLE, TYPE);
    struct request *r =
        command("{\"cmd\":\"setcfg\",\"max-tasks\":5,\"stats-frequency-secs\":1,"
                "\"max-ws-msg-len\":1}");
    ck_assert_int_eq(r->reply.setting, SETTING_STATS_FREQUENCY_SECS);
    parse_free(r);
    r = command("{\"cmd\":\"setcfg\",\"saved-session-timeout-secs\":61,"
                "\"no-reply-timeout-secs\":31,\"stats-frequency-secs\":301}");
    ck_assert(r->code == 0 && r->admin->settings.count == 3);
    ck_assert_int_eq(r->admin->settings.items[2].id, SETTING_STATS_FREQUENCY_SECS);
    ck_assert_uint_eq(r->admin->settings.items[2].value, 301);
    parse_free(r);
}
END_TEST

START_TEST(a_redrive_is_of_one_or_of_many)
{
    struct request *r = command(
        "{\"cmd\":\"redrive\",\"id\":\"01a1c09f-62da-7000-a30b-0817c9a42e3f\"}");
    ck_assert(r->code == 0 && r->admin->bulk.is_one && r->admin->has_id);
    parse_free(r);
    r = command("{\"cmd\":\"redrive\",\"id\":\"x\"}"); /* 301 by the broker */
    ck_assert(r->code == 0 && r->admin->bulk.is_one && !r->admin->has_id);
    parse_free(r);
    r = command("{\"cmd\":\"redrive\",\"count\":10000,\"reason\":\"nack\",\"older\":60,"
                "\"publisherkey\":\"k-1\",\"dryrun\":true,"
                "\"after\":\"01a1c09f-62da-7000-a30b-0817c9a42e3f\"}");
    const struct admin_bulk *bulk = &r->admin->bulk;
    ck_assert(r->code == 0 && !bulk->is_one && bulk->is_dry && bulk->has_after);
    ck_assert(bulk->place == BULK_DLQ && bulk->reasons == 1u << DEAD_NACK);
    ck_assert_uint_eq(r->admin->count, 10000);
    ck_assert_uint_eq(bulk->older_secs, 60);
    ck_assert_slice_eq(slice_of(bulk->key, bulk->key_size), LITERAL("k-1"));
    parse_free(r);
    static const struct code_case bad[] = {
        {"{\"cmd\":\"redrive\"}", "412"},
        {"{\"cmd\":\"redrive\",\"count\":0}", "412"},
        {"{\"cmd\":\"redrive\",\"count\":10001}", "412"},
        {"{\"cmd\":\"redrive\",\"count\":\"1\"}", "412"},
        {"{\"cmd\":\"redrive\",\"count\":1,\"after\":\"\"}", "411"},
        {"{\"cmd\":\"redrive\",\"count\":1,\"reason\":\"late\"}", "418"},
        {"{\"cmd\":\"redrive\",\"count\":1,\"reason\":1}", "418"},
        {"{\"cmd\":\"redrive\",\"count\":1,\"older\":0}", "418"},
        {"{\"cmd\":\"redrive\",\"count\":1,\"publisherkey\":\"\"}", "418"},
        {"{\"cmd\":\"redrive\",\"count\":1,\"dryrun\":1}", "418"},
        {"{\"cmd\":\"redrive\",\"dryrun\":1}", "412"},
    };
    CHECK_CODES(bad, ROLE, TYPE);
}
END_TEST

START_TEST(a_purge_says_of_what)
{
    static const char *const places[] = {
        [BULK_WAITING] = "waiting", [BULK_ALL] = "all", [BULK_DLQ] = "dlq"};
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        struct request *r = command(
            fill("{\"cmd\":\"purge\",\"place\":\"%s\",\"count\":5}", places[i]));
        ck_assert(r->code == 0 && r->admin->bulk.place == (enum bulk_place)i);
        parse_free(r);
    }
    static const struct code_case bad[] = {
        {"{\"cmd\":\"purge\",\"count\":1}", "417"},
        {"{\"cmd\":\"purge\",\"place\":\"DLQ\",\"count\":1}", "417"},
        {"{\"cmd\":\"purge\",\"place\":true}", "412"},
        {"{\"cmd\":\"purge\",\"place\":\"dlq\"}", "412"},
        {"{\"cmd\":\"purge\",\"place\":\"all\",\"count\":1,\"older\":5}", "418"},
        {"{\"cmd\":\"purge\",\"place\":\"waiting\",\"count\":1,\"reason\":\"nack\"}",
         "418"},
    };
    CHECK_CODES(bad, ROLE, TYPE);
}
END_TEST

Suite *
suite_request_admin(void)
{
    const TTest *const tests[] = {
        every_command_is_known,
        other_commands_are_400_and_the_connection_stays,
        what_is_not_json_is_100_and_ends,
        a_subscription_is_0_or_from_30_to_900,
        a_day_of_history_is_checked_by_the_calendar,
        average_and_totals_are_booleans,
        a_page_begins_after_or_before_an_id,
        counts_are_from_1_to_1600,
        a_message_has_an_id_or_the_broker_says_so,
        addmsg_has_the_fields_of_a_publish,
        every_writable_setting_has_its_range,
        only_plain_integers_are_settings,
        read_only_settings_are_415,
        of_several_settings_the_lowest_code_counts,
        a_redrive_is_of_one_or_of_many,
        a_purge_says_of_what,
    };
    return suite_of("request_admin", tests, COUNT_OF(tests));
}
