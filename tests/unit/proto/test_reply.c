/* Tests of proto/reply: every shape, as the manual shows it. */
#include "proto/reply.h"

#include "base/log.h"
#include "base/mem.h"
#include "suites.h"

#define ID "01a1c09f-62da-7000-a30b-0817c9a42e3f"

static struct bytes out;

static struct request *
request_with(const char *context)
{
    struct request *r = request_new(PARCEL_PUBLISH, 1, slice_from_text(context));
    ck_assert_ptr_nonnull(r);
    ck_assert_int_eq(uuid_parse(LITERAL(ID), &r->reply.id), ST_OK);
    return r;
}

/* The reply's text; the request is freed. */
static const char *
format(struct request *r)
{
    static const struct reply_names names = {"m4.xlarge", "us-east-1"};
    bytes_clear(&out);
    reply_format(r, &names, &out);
    parcel_free(&r->parcel);
    return text_of(&out);
}

static const char *
format_shape(enum reply_shape shape, const char *context)
{
    struct request *r = request_with(context);
    r->reply.shape = shape;
    r->reply.number = 3;
    for (unsigned i = 0; i < STATS_COLUMNS; i++)
        r->reply.live[i] = i * 10;
    return format(r);
}

START_TEST(short_replies_are_as_in_the_manual)
{
    ck_assert_str_eq(format_shape(REPLY_STATUS, ""), "{\"status\":\"Success.\"}");
    ck_assert_str_eq(format_shape(REPLY_ID, ""),
                     "{\"id\":\"" ID "\",\"status\":\"Success.\"}");
    ck_assert_str_eq(format_shape(REPLY_SESSION, ""),
                     "{\"status\":\"Success.\",\"sessionid\":\"" ID "\"}");
    ck_assert_str_eq(format_shape(REPLY_SUBSCRIBERS, ""),
                     "{\"status\":\"Success.\",\"subscribers\":3}");
    ck_assert_str_eq(format_shape(REPLY_LOGOUT, ""),
                     "{\"status\":\"Logout Success.\"}");
    ck_assert_str_eq(format_shape(REPLY_LIVESTATS, ""),
                     "{\"status\":\"Success.\",\"csv\":\"0,10,20,30,40,50,60,70,80\"}");
}
END_TEST

START_TEST(the_context_comes_first)
{
    ck_assert_str_eq(format_shape(REPLY_ID, "7"),
                     "{\"context\":7,\"id\":\"" ID "\",\"status\":\"Success.\"}");
    ck_assert_str_eq(format_shape(REPLY_STATUS, "\"a\\\"\""),
                     "{\"context\":\"a\\\"\",\"status\":\"Success.\"}");
    ck_assert_str_eq(format_shape(REPLY_LOGOUT, "-1.50"),
                     "{\"context\":-1.50,\"status\":\"Logout Success.\"}");
    struct request *r = request_with("9");
    r->reply.code = 203;
    ck_assert_str_eq(format(r), "{\"context\":9,\"status\":\"Failure.\",\"code\":203,"
                                "\"reason\":\"Invalid delay.\"}");
}
END_TEST

START_TEST(a_failure_has_a_code_and_a_reason_whatever_the_shape)
{
    struct request *r = request_with("");
    r->reply.shape = REPLY_ID;
    r->reply.code = 301;
    ck_assert_str_eq(format(r), "{\"status\":\"Failure.\",\"code\":301,"
                                "\"reason\":\"Invalid message id.\"}");
    r = request_with("");
    r->reply.code = 110;
    ck_assert_str_eq(format(r), "{\"status\":\"Failure.\",\"code\":110,"
                                "\"reason\":\"Invalid \\\"replay\\\".\"}");
}
END_TEST

static struct message_view
example_view(void)
{
    struct message_view v = {.received_ms = 1794233033123,
                             .body_size = 5,
                             .delay_secs = 0,
                             .type = 1,
                             .durability = 1};
    ck_assert_int_eq(uuid_parse(LITERAL(ID), &v.id), ST_OK);
    return v;
}

START_TEST(a_list_has_a_line_for_each_message)
{
    struct request *r = request_with("");
    r->reply.shape = REPLY_LIST;
    ck_assert_str_eq(format(r), "{\"status\":\"Success.\",\"csv\":\"\"}");
    r = request_with("1");
    r->reply.shape = REPLY_LIST;
    r->reply.row_count = 2;
    r->reply.rows = mem_calloc(2, sizeof(*r->reply.rows));
    r->reply.rows[0] = r->reply.rows[1] = example_view();
    r->reply.rows[1].delay_secs = 172800;
    r->reply.rows[1].durability = 2;
    r->reply.rows[1].type = 2;
    r->reply.rows[1].key_size = 10;
    ck_assert_str_eq(format(r),
                     "{\"context\":1,\"status\":\"Success.\",\"csv\":\"" ID
                     ",89,0,1,1,1794233033\\n" ID ",117,172800,2,2,1794233033\\n\"}");
}
END_TEST

START_TEST(the_longest_list_fits)
{
    struct request *r = request_with("");
    r->reply.shape = REPLY_LIST;
    r->reply.row_count = LIMIT_LIST_COUNT;
    r->reply.rows = mem_alloc(LIMIT_LIST_COUNT * sizeof(*r->reply.rows));
    for (size_t i = 0; i < LIMIT_LIST_COUNT; i++)
        memset(&r->reply.rows[i], 0xff, sizeof(*r->reply.rows));
    for (size_t i = 0; i < LIMIT_LIST_COUNT; i++)
        r->reply.rows[i].body = NULL;
    ck_assert_uint_gt(strlen(format(r)), LIMIT_LIST_COUNT * 60);
}
END_TEST

static const char *
format_message(struct message_view view, const char *body_and_key)
{
    struct request *r = request_with("");
    r->reply.shape = REPLY_MESSAGE;
    r->reply.row_count = 1;
    r->reply.rows = mem_alloc(sizeof(view));
    if (body_and_key != NULL)
        view.body = blob_copy(slice_from_text(body_and_key));
    r->reply.rows[0] = view;
    return format(r);
}

START_TEST(one_message_is_as_in_the_manual)
{
    struct message_view view = example_view();
    ck_assert_str_eq(format_message(view, "hello"),
                     "{\"status\":\"Success.\",\"id\":\"" ID "\",\"msg\":{\"id\":\"" ID
                     "\",\"type\":1,\"body\":\"hello\",\"recdat\":1794233033},"
                     "\"len\":89,\"delay\":0,\"durability\":1}");
    view.key_size = 3;
    view.durability = 0;
    view.delay_secs = 60;
    ck_assert_str_eq(format_message(view, "hellok:1"),
                     "{\"status\":\"Success.\",\"id\":\"" ID "\",\"msg\":{\"id\":\"" ID
                     "\",\"publisherkey\":\"k:1\",\"type\":1,\"body\":\"hello\","
                     "\"recdat\":1794233033},\"len\":110,\"delay\":60,"
                     "\"durability\":0}");
}
END_TEST

START_TEST(a_damaged_message_shows_its_file)
{
    struct message_view view = example_view();
    view.is_damaged = true;
    ck_assert_str_eq(format_message(view, "\xff\xfe"),
                     "{\"status\":\"Success.\",\"id\":\"" ID "\",\"msg\":{\"id\":\"" ID
                     "\",\"damaged\":true,\"file\":\"//4=\"},"
                     "\"len\":89,\"delay\":0,\"durability\":1}");
    ck_assert_str_eq(format_message(view, NULL),
                     "{\"status\":\"Success.\",\"id\":\"" ID "\",\"msg\":{\"id\":\"" ID
                     "\",\"damaged\":true},\"len\":89,\"delay\":0,\"durability\":1}");
}
END_TEST

START_TEST(the_configuration_has_every_setting)
{
    struct request *r = request_with("");
    r->reply.shape = REPLY_CONFIG;
    r->reply.config = mem_calloc(SETTING_COUNT + 1, sizeof(uint64_t));
    for (uint64_t i = 0; i <= SETTING_COUNT; i++)
        r->reply.config[i] = i + 100;
    r->reply.config[SETTING_LOG_LEVEL] = LOG_INFO;
    ck_assert_str_eq(format(r),
                     "{\"status\":\"Success.\",\"max-ws-msg-len\":[\"w\",100],"
                     "\"max-subscriber-capacity\":[\"w\",101],"
                     "\"saved-session-timeout-secs\":[\"w\",102],"
                     "\"no-reply-timeout-secs\":[\"w\",103],"
                     "\"stats-frequency-secs\":[\"w\",104],"
                     "\"stats-retention-period-yrs\":[\"w\",105],"
                     "\"usage-frequency-secs\":[\"w\",106],"
                     "\"usage-retention-period-yrs\":[\"w\",107],"
                     "\"max-tasks\":[\"r\",108],\"max-messages\":[\"r\",109],"
                     "\"max-messages-memory\":[\"r\",110],"
                     "\"messages-memory-used\":[\"r\",114],"
                     "\"max-write-queue-bytes\":[\"r\",111],"
                     "\"message-timeout-secs\":[\"r\",112],"
                     "\"log-level\":[\"r\",\"info\"]}");
}
END_TEST

static const char *
format_history(enum reply_shape shape, uint32_t rows, uint64_t value)
{
    struct request *r = request_with("");
    r->reply.shape = shape;
    r->reply.row_count = rows;
    if (rows > 0)
        r->reply.history = mem_calloc(rows, sizeof(*r->reply.history));
    for (uint32_t i = 0; i < rows; i++) {
        struct history_view *row = &r->reply.history[i];
        row->at_secs = 1794182400 + i;
        row->has_ipv4 = i % 2 == 0;
        for (unsigned c = 0; c < STATS_COLUMNS; c++)
            row->columns[c] = value == 0 ? c : value;
    }
    return format(r);
}

START_TEST(history_has_a_line_for_each_record)
{
    ck_assert_str_eq(format_history(REPLY_STATS, 0, 0),
                     "{\"status\":\"Success.\",\"csv\":\"\"}");
    ck_assert_str_eq(
        format_history(REPLY_STATS, 2, 0),
        "{\"status\":\"Success.\",\"csv\":\""
        "1794182400,0,1,2,3,4,5,6,7,8\\n1794182401,0,1,2,3,4,5,6,7,8\\n\"}");
    ck_assert_str_eq(format_history(REPLY_USAGE, 0, 0),
                     "{\"status\":\"Success.\",\"csv\":\"\"}");
    ck_assert_str_eq(format_history(REPLY_USAGE, 2, 0),
                     "{\"status\":\"Success.\",\"csv\":\""
                     "1794182400,0,1,2,3,4,m4.xlarge,us-east-1,1\\n"
                     "1794182401,0,1,2,3,4,m4.xlarge,us-east-1,0\\n\"}");
    ck_assert_uint_gt(strlen(format_history(REPLY_STATS, 300, UINT64_MAX)), 300 * 190);
}
END_TEST

START_TEST(a_bulk_says_how_many_and_where_to_go_on)
{
    struct request *r = request_with("");
    r->reply.shape = REPLY_BULK;
    r->reply.number = 12;
    r->reply.has_more = true;
    ck_assert_str_eq(format(r), "{\"status\":\"Success.\",\"count\":12,\"more\":true,"
                                "\"last\":\"" ID "\"}");
    r = request_with("5");
    r->reply.shape = REPLY_BULK;
    memset(&r->reply.id, 0, sizeof r->reply.id); /* there was nothing to look at */
    ck_assert_str_eq(format(r), "{\"context\":5,\"status\":\"Success.\",\"count\":0,"
                                "\"more\":false}");
}
END_TEST

START_TEST(a_story_has_a_line_for_each_event)
{
    struct request *r = request_with("");
    r->reply.shape = REPLY_STORY;
    r->reply.story = mem_calloc(1, sizeof *r->reply.story);
    *r->reply.story = (struct message_story){
        .id = r->reply.id,
        .place = "held",
        .deliveries = 2,
        .dropped = 1,
        .count = 3,
        .events = {{1794182400123, 0, "received", ""},
                   {1794182401000, 3, "returned", "timeout"},
                   {0, 4, "held", ""}},
    };
    ck_assert_str_eq(format(r),
                     "{\"status\":\"Success.\",\"id\":\"" ID "\",\"place\":\"held\","
                     "\"deliveries\":2,\"dropped\":1,\"csv\":\"1794182400123,received,,"
                     "\\n1794182401000,returned,timeout,3\\n,held,,4\\n\"}");
}
END_TEST

Suite *
suite_reply(void)
{
    const TTest *const tests[] = {
        short_replies_are_as_in_the_manual,
        the_context_comes_first,
        a_failure_has_a_code_and_a_reason_whatever_the_shape,
        a_list_has_a_line_for_each_message,
        the_longest_list_fits,
        one_message_is_as_in_the_manual,
        a_damaged_message_shows_its_file,
        the_configuration_has_every_setting,
        history_has_a_line_for_each_record,
        a_bulk_says_how_many_and_where_to_go_on,
        a_story_has_a_line_for_each_event,
    };
    return suite_of("reply", tests, COUNT_OF(tests));
}
