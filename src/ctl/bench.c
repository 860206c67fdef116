/* bench: publishers with a window and subscribers that acknowledge, in one thread with
 * poll(); prints rates and the latency from publish to confirm. Bounded by --count
 * messages or --seconds. */
#include "base/mem.h"
#include "ctl/admin.h"
#include "ctl/answer.h"
#include "ctl/commands.h"
#include "ctl/failure.h"
#include "ctl/login.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CLOSE_NONE     1006 /* a connection that ended without a code */
#define HISTOGRAM_BITS 4    /* sixteen steps to a doubling: within 6 % */
#define HISTOGRAM_SIZE (64 << HISTOGRAM_BITS)

struct worker {
    struct wsclient *client;
    bool is_publisher;
    bool is_broken;
    uint64_t in_flight;
    uint64_t oldest; /* ring of send times: replies come in order */
    uint64_t *sent_us;
};

/* What of a queue's live counters matters here, in their order. */
enum live {
    LIVE_MESSAGES,
    LIVE_PUBLISHERS,
    LIVE_SUBSCRIBERS,
    LIVE_SAVED,
    LIVE_COUNTERS,
};

struct bench {
    const struct options *options;
    struct worker *workers;
    struct pollfd *fds;
    size_t count;
    struct bytes publish; /* the one request */
    uint64_t limit;       /* messages to publish */
    uint64_t published;
    uint64_t confirmed;
    uint64_t refused;
    uint64_t received;
    uint64_t acked;
    uint64_t begin_us;
    uint64_t last_confirm_us;
    uint64_t last_ack_us;
    uint64_t stop_us;
    uint64_t histogram[HISTOGRAM_SIZE];
    uint64_t max_us;
};

static uint64_t
now_us(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static size_t
bucket_of(uint64_t us)
{
    if (us < (1u << HISTOGRAM_BITS))
        return us;
    unsigned top = 63 - (unsigned)__builtin_clzll(us);
    uint64_t step = us >> (top - HISTOGRAM_BITS) & ((1u << HISTOGRAM_BITS) - 1);
    return ((top - HISTOGRAM_BITS + 1) << HISTOGRAM_BITS) + step;
}

static uint64_t
bucket_top(size_t bucket)
{
    if (bucket < (1u << HISTOGRAM_BITS))
        return bucket;
    unsigned shift = (unsigned)(bucket >> HISTOGRAM_BITS) - 1;
    uint64_t base = (1u << HISTOGRAM_BITS) + (bucket & ((1u << HISTOGRAM_BITS) - 1));
    return ((base + 1) << shift) - 1;
}

static uint64_t
percentile(const struct bench *b, double share)
{
    uint64_t wanted = (uint64_t)((double)b->confirmed * share);
    uint64_t seen = 0;
    for (size_t i = 0; i < HISTOGRAM_SIZE; i++) {
        seen += b->histogram[i];
        if (seen > wanted)
            return bucket_top(i) < b->max_us ? bucket_top(i) : b->max_us;
    }
    return b->max_us;
}

static void
fill_window(struct bench *b, struct worker *w, uint64_t now)
{
    uint64_t window = b->options->window;
    while (w->in_flight < window && b->published < b->limit && now < b->stop_us) {
        wsclient_send(w->client, slice_of(b->publish.data, b->publish.size), true);
        w->sent_us[(w->oldest + w->in_flight) % window] = now;
        w->in_flight++;
        b->published++;
    }
}

static void
take_confirm(struct bench *b, struct worker *w, struct slice frame, uint64_t now)
{
    static const char good[] = "\"status\":\"Success.\"";
    if (memmem(frame.data, frame.size, good, sizeof good - 1) != NULL)
        b->confirmed++;
    else
        b->refused++;
    if (w->in_flight == 0)
        return;
    uint64_t us = now - w->sent_us[w->oldest];
    w->oldest = (w->oldest + 1) % b->options->window;
    w->in_flight--;
    b->histogram[bucket_of(us)]++;
    if (us > b->max_us)
        b->max_us = us;
    b->last_confirm_us = now;
}

/* A subscriber's frame: {"id":"36 characters",.. with a body is a message. */
static void
take_delivery(struct bench *b, struct worker *w, struct slice frame, uint64_t now)
{
    char ack[64];
    if (frame.size > 60 && memcmp(frame.data, "{\"id\":\"", 7) == 0 &&
        memmem(frame.data, 220 < frame.size ? 220 : frame.size, "\"body\":", 7) !=
            NULL) {
        int size = snprintf(ack, sizeof ack, "{\"id\":\"%.36s\",\"ack\":1}",
                            (const char *)frame.data + 7);
        wsclient_send(w->client, slice_of(ack, (size_t)size), true);
        b->received++;
        return;
    }
    b->acked++;
    b->last_ack_us = now;
}

static void
serve(struct bench *b, struct worker *w)
{
    struct slice frame;
    enum status st;
    uint64_t now = now_us();
    while ((st = wsclient_receive(w->client, &frame)) == ST_OK) {
        if (w->is_publisher)
            take_confirm(b, w, frame, now);
        else
            take_delivery(b, w, frame, now);
    }
    if (st == ST_CLOSED)
        w->is_broken = true;
    if (w->is_publisher && !w->is_broken)
        fill_window(b, w, now);
}

static bool
is_finished(const struct bench *b, uint64_t now)
{
    bool is_published = b->published >= b->limit || now >= b->stop_us;
    bool is_confirmed = b->confirmed + b->refused >= b->published;
    bool is_consumed =
        b->options->subscribers == 0 || b->options->is_copy || b->acked >= b->confirmed;
    for (size_t i = 0; i < b->count; i++)
        if (b->workers[i].is_broken)
            return true;
    return (is_published && is_confirmed && is_consumed) ||
           now > b->stop_us + b->options->timeout_secs * 1000000;
}

static void
run(struct bench *b)
{
    b->begin_us = now_us();
    b->stop_us = b->begin_us + b->options->seconds * 1000000;
    for (size_t i = 0; i < b->count; i++)
        if (b->workers[i].is_publisher)
            fill_window(b, &b->workers[i], b->begin_us);
    while (!is_finished(b, now_us())) { /* bound: --seconds and --timeout */
        for (size_t i = 0; i < b->count; i++) {
            enum status st = wsclient_flush(b->workers[i].client);
            b->fds[i] = (struct pollfd){
                .fd = wsclient_fd(b->workers[i].client),
                .events = (short)(st == ST_AGAIN ? POLLIN | POLLOUT : POLLIN),
            };
            if (st == ST_CLOSED)
                b->workers[i].is_broken = true;
        }
        (void)poll(b->fds, b->count, 100);
        for (size_t i = 0; i < b->count; i++)
            if (b->fds[i].revents != 0)
                serve(b, &b->workers[i]);
    }
}

static void
report(const struct bench *b)
{
    double confirm_s = (double)(b->last_confirm_us - b->begin_us) / 1e6;
    double ack_s = (double)(b->last_ack_us - b->begin_us) / 1e6;
    double confirm_rate = confirm_s > 0 ? (double)b->confirmed / confirm_s : 0;
    double ack_rate =
        b->last_ack_us > b->begin_us && ack_s > 0 ? (double)b->acked / ack_s : 0;
    unsigned long long p[4] = {percentile(b, 0.5), percentile(b, 0.9),
                               percentile(b, 0.99), b->max_us};
    struct bytes json = {0};
    struct bytes text = {0};
    bytes_printf(&json,
                 "{\"confirmed\":%llu,\"refused\":%llu,\"received\":%llu,"
                 "\"acked\":%llu,\"confirm_per_s\":%.0f,\"acked_per_s\":%.0f,"
                 "\"confirm_us\":{\"p50\":%llu,\"p90\":%llu,\"p99\":%llu,"
                 "\"max\":%llu}}",
                 (unsigned long long)b->confirmed, (unsigned long long)b->refused,
                 (unsigned long long)b->received, (unsigned long long)b->acked,
                 confirm_rate, ack_rate, p[0], p[1], p[2], p[3]);
    bytes_printf(
        &text,
        "confirmed %llu (%.0f/s), refused %llu, acknowledged %llu (%.0f/s)\n"
        "publish to confirm: p50 %llu us, p90 %llu us, p99 %llu us, max %llu us",
        (unsigned long long)b->confirmed, confirm_rate, (unsigned long long)b->refused,
        (unsigned long long)b->acked, ack_rate, p[0], p[1], p[2], p[3]);
    ctl_answer(b->options, slice_of(json.data, json.size),
               slice_of(text.data, text.size));
    bytes_fini(&json);
    bytes_fini(&text);
}

static void
make_publish(struct bench *b)
{
    struct json_writer w;
    struct bytes body = {0};
    for (uint64_t i = 0; i < b->options->size_bytes; i++)
        bytes_put_u8(&body, (uint8_t)('a' + i % 26));
    json_write_begin(&w, &b->publish);
    json_object_begin(&w, NULL);
    json_put_text(&w, "body", slice_of(body.data, body.size));
    if (!b->options->is_copy)
        json_put_u64(&w, "durability", b->options->durability);
    json_object_end(&w);
    bytes_fini(&body);
}

static enum ctl_exit
connect_all(struct bench *b)
{
    const struct options *o = b->options;
    char extra[48] = "";
    if (!o->is_copy)
        (void)snprintf(extra, sizeof extra, ",\"capacity\":%llu",
                       (unsigned long long)o->capacity);
    uint64_t total = o->publishers + o->subscribers;
    b->workers = mem_calloc(total + 1, sizeof *b->workers);
    b->fds = mem_calloc(total + 1, sizeof *b->fds);
    for (uint64_t i = 0; i < total; i++) {
        struct worker *w = &b->workers[i];
        w->is_publisher = i >= o->subscribers;
        enum ctl_exit code =
            login_connect(o, w->is_publisher ? "publisher" : "subscriber",
                          w->is_publisher ? "" : extra, &w->client);
        if (code != CTL_DONE)
            return code;
        w->sent_us = mem_calloc(o->window, sizeof *w->sent_us);
        b->count++;
    }
    return CTL_DONE;
}

static enum ctl_exit
read_counters(struct admin *a, uint64_t counters[LIVE_COUNTERS])
{
    enum ctl_exit code = admin_begin(a, a->options);
    if (code == CTL_DONE)
        code = admin_ask(a, slice_from_text("{\"cmd\":\"getlivestats\"}"));
    struct slice csv =
        code == CTL_DONE ? answer_text(&a->fields, "csv") : slice_of(NULL, 0);
    for (size_t i = 0, at = 0; i < LIVE_COUNTERS; i++, at++) {
        counters[i] = 0;
        for (; at < csv.size && csv.data[at] >= '0' && csv.data[at] <= '9'; at++)
            counters[i] = counters[i] * 10 + (uint64_t)(csv.data[at] - '0');
    }
    return code;
}

/* Consumes what is there and publishes to those who are: not a queue in use, unless
 * somebody says so. */
static enum ctl_exit
check_queue(const struct options *o)
{
    struct admin a = {.options = o};
    uint64_t n[LIVE_COUNTERS];
    char question[160];
    if (o->is_sure || o->is_copy)
        return CTL_DONE;
    enum ctl_exit code = read_counters(&a, n);
    admin_end(&a);
    if (code == CTL_USAGE || code == CTL_DENIED)
        return ctl_fail(o, code,
                        "whether the queue is in use cannot be seen without the "
                        "administrator's login: --yes does not look");
    if (code != CTL_DONE)
        return code;
    uint64_t others = n[LIVE_SUBSCRIBERS] + n[LIVE_SAVED];
    bool would_consume = o->subscribers > 0 && n[LIVE_MESSAGES] > 0;
    bool would_deliver = o->publishers > 0 && others > 0;
    if (!would_consume && !would_deliver)
        return CTL_DONE;
    (void)snprintf(question, sizeof question,
                   "The queue is in use: messages %llu, subscribers %llu. Consume the "
                   "messages, and publish to the subscribers?",
                   (unsigned long long)n[LIVE_MESSAGES], (unsigned long long)others);
    return ctl_confirm(o, question) ? CTL_DONE : CTL_USAGE;
}

enum ctl_exit
ctl_bench(const struct options *o, int argc, char **argv)
{
    struct bench *b = mem_calloc(1, sizeof *b);
    bool is_broken = false;
    uint16_t close_code = CLOSE_NONE;
    bool is_left =
        false; /* a logout without an answer: the session's time limit ends it */
    (void)argc;
    (void)argv;
    b->options = o;
    b->limit = o->count == 0 ? UINT64_MAX : o->count;
    make_publish(b);
    enum ctl_exit code = check_queue(o);
    if (code == CTL_DONE)
        code = connect_all(b);
    if (code == CTL_DONE) {
        run(b);
        report(b);
    }
    for (size_t i = 0; i < b->count; i++) {
        struct worker *w = &b->workers[i];
        is_broken |= w->is_broken;
        if (w->is_broken && close_code == CLOSE_NONE)
            close_code = wsclient_close_code(w->client);
        if (!w->is_publisher && !w->is_broken) {
            struct slice frame;
            wsclient_send(w->client, slice_from_text("{\"logout\":true}"), true);
            is_left |= wsclient_wait(w->client, 500, &frame) != ST_OK;
        }
        wsclient_free(w->client);
        mem_free(w->sent_us);
    }
    if (code == CTL_DONE && is_left)
        (void)fprintf(stderr, "holdfastctl: a logout was not answered\n");
    if (code == CTL_DONE && is_broken)
        code = ctl_fail_reply(o, ST_CLOSED, close_code,
                              "what was not confirmed is not known");
    if (code == CTL_DONE && b->refused > 0)
        code = ctl_fail(o, CTL_REFUSED, "the queue refused %llu messages",
                        (unsigned long long)b->refused);
    bytes_fini(&b->publish);
    mem_free(b->workers);
    mem_free(b->fds);
    mem_free(b);
    return code;
}
