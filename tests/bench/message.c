/* What one message costs in each stage of its way, in one thread and without sockets:
 *
 *   bench-message [COUNT [WAITING]]
 *
 * COUNT messages (default 200000) of 1 KiB are published and acknowledged, GROUP at a
 * time, as the turns of a busy node do; with WAITING (default 0) others in the queue
 * all the time, so that what is delivered was published long before. Prints a line for
 * each stage: name, nanoseconds and share. Each stage is a function of its own, never
 * inlined, named stage_*, so that a profiler that counts instructions
 * (tests/bench/instructions) gives the same table without the noise of the machine. TLS
 * and the kernel are not in it.
 *
 * The broker is the leader's; apply is what each of the other two nodes does. */
#include "base/crc32c.h"
#include "base/mem.h"
#include "proto/reply.h"
#include "proto/request.h"
#include "proto/websocket.h"
#include "tests/unit/broker/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define GROUP      64
#define BODY       1024
#define PUBLISHER  1
#define SUBSCRIBER 2
#define STAGE      __attribute__((noinline)) static void

enum stage {
    STAGE_PUBLISH_FRAME,
    STAGE_PUBLISH_PARSE,
    STAGE_PUBLISH_DECIDE,
    STAGE_PUBLISH_ENTRY,
    STAGE_PUBLISH_SUM,
    STAGE_PUBLISH_APPLY,
    STAGE_PUBLISH_COMMIT,
    STAGE_CONFIRM_WRITE,
    STAGE_DELIVERY_WRITE,
    STAGE_ACK_FRAME,
    STAGE_ACK_PARSE,
    STAGE_ACK_DECIDE,
    STAGE_ACK_ENTRY,
    STAGE_ACK_SUM,
    STAGE_ACK_APPLY,
    STAGE_ACK_COMMIT,
    STAGE_ACK_WRITE,
    STAGE_COUNT,
};

static const char *const stage_names[STAGE_COUNT] = {
    "publish: frame",  "publish: parse", "publish: decide", "publish: entry",
    "publish: sum",    "publish: apply", "publish: commit", "confirm: write",
    "delivery: write", "ack: frame",     "ack: parse",      "ack: decide",
    "ack: entry",      "ack: sum",       "ack: apply",      "ack: commit",
    "ack: write",
};

struct bench {
    struct world world;
    struct request_parser *parser;
    struct ws_codec *codec;
    struct ws_decoder decoders[3]; /* by connection */
    struct bytes in;               /* what a socket gave: masked frames */
    struct slice payloads[GROUP];
    struct request *requests[GROUP];
    struct blob *entries[GROUP];
    size_t entry_count;
    struct mail_chain out;
    struct bytes written; /* what goes to TLS */
    char publish[BODY + 64];
    struct uuid ids[GROUP]; /* of the messages that were delivered */
    size_t id_count;
    uint64_t sum; /* keeps the compiler from leaving out */
    uint64_t ns[STAGE_COUNT];
};

static uint64_t
now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void
fail(const char *what)
{
    (void)fprintf(stderr, "bench-message: %s\n", what);
    exit(1);
}

/* --- Input, as a client makes it; not measured --- */

static void
put_masked(struct bytes *out, struct slice text)
{
    static const uint8_t mask[4] = {0x3a, 0x91, 0xc4, 0x57};
    bytes_put_u8(out, 0x81);
    if (text.size < 126) {
        bytes_put_u8(out, (uint8_t)(0x80 | text.size));
    } else {
        bytes_put_u8(out, 0x80 | 126);
        bytes_put_u8(out, (uint8_t)(text.size >> 8));
        bytes_put_u8(out, (uint8_t)text.size);
    }
    bytes_put(out, mask, 4);
    uint8_t *at = bytes_extend(out, text.size);
    for (size_t i = 0; i < text.size; i++)
        at[i] = (uint8_t)(text.data[i] ^ mask[i % 4]);
}

static void
make_publishes(struct bench *b)
{
    bytes_clear(&b->in);
    for (int i = 0; i < GROUP; i++)
        put_masked(&b->in, slice_from_text(b->publish));
}

static void
make_acks(struct bench *b)
{
    bytes_clear(&b->in);
    for (size_t i = 0; i < b->id_count; i++) {
        char id[UUID_TEXT_SIZE + 1] = "";
        char text[UUID_TEXT_SIZE + 32];
        uuid_format(&b->ids[i], id);
        (void)snprintf(text, sizeof text, "{\"id\":\"%s\",\"ack\":1}", id);
        put_masked(&b->in, slice_from_text(text));
    }
}

/* --- The stages, once for publishes and once for acknowledgements --- */

static inline void
unframe(struct bench *b, int conn)
{
    size_t at = 0;
    for (int i = 0; i < GROUP; i++) {
        size_t used;
        struct ws_event e = ws_decode(&b->decoders[conn], b->codec, b->in.data + at,
                                      b->in.size - at, 1 << 20, &used);
        if (e.kind != WS_EVENT_MESSAGE)
            fail("a frame is not whole");
        b->payloads[i] = e.payload;
        at += used;
    }
}

static inline void
parse(struct bench *b, uint64_t conn, enum login_role role)
{
    const struct speaker speaker = {conn, role, QUEUE_DISTRIBUTE};
    for (int i = 0; i < GROUP; i++) {
        b->requests[i] = request_parse(b->parser, &speaker, true, b->payloads[i]);
        if (b->requests[i] == NULL || b->requests[i]->code != 0)
            fail("a request was refused");
    }
}

static inline void
decide(struct bench *b)
{
    for (int i = 0; i < GROUP; i++)
        broker_handle(b->world.b, &b->requests[i]->parcel);
}

static inline void
close_entries(struct bench *b)
{
    struct batch batch;
    b->entry_count = 0;
    while (broker_take_batch(b->world.b, UINT64_MAX, &batch)) {
        b->entries[b->entry_count++] = batch.entry;
        broker_submitted(b->world.b, batch.number, ++b->world.index);
    }
}

static inline void
add_up(struct bench *b)
{
    for (size_t i = 0; i < b->entry_count; i++)
        b->sum += crc32c(0, b->entries[i]->data, b->entries[i]->size);
}

static inline void
apply(struct bench *b)
{
    for (size_t i = 0; i < b->entry_count; i++)
        state_apply(b->world.other, b->world.index - b->entry_count + i + 1,
                    blob_slice(b->entries[i]));
}

static inline void
commit(struct bench *b)
{
    for (size_t i = 0; i < b->entry_count; i++)
        broker_committed(b->world.b, b->world.index - b->entry_count + i + 1);
    broker_take_parcels(b->world.b, &b->out);
    for (size_t i = 0; i < b->entry_count; i++)
        blob_put(b->entries[i]);
}

/* Takes the parcels of one kind (deliveries or replies) out of b->out. */
static inline void
write_out(struct bench *b, bool is_delivery)
{
    static const struct reply_names names = {"self-hosted", "local"};
    struct mail_chain rest = {NULL, NULL};
    struct parcel *parcel;
    bytes_clear(&b->written);
    while ((parcel = (struct parcel *)(void *)b->out.first) != NULL) {
        b->out.first = parcel->mail.next;
        parcel->mail.next = NULL;
        if ((parcel->kind == PARCEL_DELIVERY) != is_delivery) {
            struct mail_chain one = {&parcel->mail, &parcel->mail};
            parcel_chain_move(&rest, &one);
            continue;
        }
        size_t begin = ws_encode_begin(&b->written);
        if (is_delivery) {
            struct delivery *d = (struct delivery *)(void *)parcel;
            b->ids[b->id_count++] = d->id;
            delivery_format(d, &b->written);
        } else {
            reply_format((struct request *)(void *)parcel, &names, &b->written);
        }
        ws_encode_end(&b->written, begin, WS_TEXT);
        parcel_free(parcel);
    }
    b->out = rest;
    b->sum += b->written.size;
}

#define STAGE_OF(name, call)                                                           \
    STAGE stage_##name(struct bench *b)                                                \
    {                                                                                  \
        call;                                                                          \
    }
STAGE_OF(publish_frame, unframe(b, PUBLISHER))
STAGE_OF(publish_parse, parse(b, PUBLISHER, ROLE_PUBLISHER))
STAGE_OF(publish_decide, decide(b))
STAGE_OF(publish_entry, close_entries(b))
STAGE_OF(publish_sum, add_up(b))
STAGE_OF(publish_apply, apply(b))
STAGE_OF(publish_commit, commit(b))
STAGE_OF(confirm_write, write_out(b, false))
STAGE_OF(delivery_write, write_out(b, true))
STAGE_OF(ack_frame, unframe(b, SUBSCRIBER))
STAGE_OF(ack_parse, parse(b, SUBSCRIBER, ROLE_SUBSCRIBER))
STAGE_OF(ack_decide, decide(b))
STAGE_OF(ack_entry, close_entries(b))
STAGE_OF(ack_sum, add_up(b))
STAGE_OF(ack_apply, apply(b))
STAGE_OF(ack_commit, commit(b))
STAGE_OF(ack_write, write_out(b, false))

static void
measure(struct bench *b, enum stage stage, void (*run)(struct bench *b))
{
    uint64_t begin = now_ns();
    run(b);
    b->ns[stage] += now_ns() - begin;
}

static void
turn(struct bench *b)
{
    world_tick(&b->world, 1);
    b->id_count = 0;
    make_publishes(b);
    measure(b, STAGE_PUBLISH_FRAME, stage_publish_frame);
    measure(b, STAGE_PUBLISH_PARSE, stage_publish_parse);
    measure(b, STAGE_PUBLISH_DECIDE, stage_publish_decide);
    measure(b, STAGE_PUBLISH_ENTRY, stage_publish_entry);
    measure(b, STAGE_PUBLISH_SUM, stage_publish_sum);
    measure(b, STAGE_PUBLISH_APPLY, stage_publish_apply);
    measure(b, STAGE_PUBLISH_COMMIT, stage_publish_commit);
    measure(b, STAGE_CONFIRM_WRITE, stage_confirm_write);
    measure(b, STAGE_DELIVERY_WRITE, stage_delivery_write);
    if (b->id_count != GROUP)
        fail("not each message was delivered");
    struct signal *taken = world_signal(PARCEL_PROGRESS, SUBSCRIBER);
    struct world_conn *c = &b->world.conns[SUBSCRIBER];
    c->frames += GROUP;
    c->bytes += GROUP * (uint64_t)(BODY + 128);
    taken->frames_sent = c->frames;
    taken->bytes_sent = c->bytes;
    broker_handle(b->world.b, &taken->parcel);
    make_acks(b);
    measure(b, STAGE_ACK_FRAME, stage_ack_frame);
    measure(b, STAGE_ACK_PARSE, stage_ack_parse);
    measure(b, STAGE_ACK_DECIDE, stage_ack_decide);
    measure(b, STAGE_ACK_ENTRY, stage_ack_entry);
    measure(b, STAGE_ACK_SUM, stage_ack_sum);
    measure(b, STAGE_ACK_APPLY, stage_ack_apply);
    measure(b, STAGE_ACK_COMMIT, stage_ack_commit);
    measure(b, STAGE_ACK_WRITE, stage_ack_write);
}

static void
fill(struct bench *b, uint64_t waiting)
{
    for (uint64_t i = 0; i < waiting; i++) {
        struct request *r = world_request(PARCEL_PUBLISH, PUBLISHER);
        r->publish.body = blob_new(BODY);
        memset(r->publish.body->data, 'x', BODY);
        r->publish.type = 1;
        r->publish.durability = 1;
        world_send(&b->world, r);
        if (i % GROUP == GROUP - 1) {
            world_tick(&b->world, 1);
            world_commit(&b->world);
        }
    }
    world_commit(&b->world);
}

/* Messages that wait are delivered as the subscriber logs in: to be written in the
 * first turn, and in each turn as many as were acknowledged in the one before. */
static void
begin(struct bench *b, uint64_t waiting)
{
    struct queue_spec spec;
    world_init(&b->world, 1);
    world_lead(&b->world);
    world_spec(&spec, "demo");
    spec.settings[SETTING_MAX_MESSAGES] = waiting + 4 * GROUP;
    spec.settings[SETTING_MAX_MESSAGES_MEMORY] = UINT64_C(1) << 40;
    world_create(&b->world, &spec);
    struct request *r = world_login(&b->world, PUBLISHER, ROLE_PUBLISHER);
    world_log_in(&b->world, r, true);
    fill(b, waiting);
    (void)world_drain(&b->world);
    r = world_login(&b->world, SUBSCRIBER, ROLE_SUBSCRIBER);
    r->login->has_capacity = true;
    r->login->capacity = waiting > 0 ? GROUP : 4 * GROUP;
    world_log_in(&b->world, r, true);
    world_commit(&b->world);
    broker_take_parcels(b->world.b, &b->out);
    b->parser = request_parser_new();
    b->codec = ws_codec_new();
    for (int i = 0; i < 3; i++)
        ws_decoder_init(&b->decoders[i], false);
    char *at = b->publish + snprintf(b->publish, 16, "{\"body\":\"");
    for (int i = 0; i < BODY; i++)
        *at++ = (char)('a' + i % 26);
    (void)snprintf(at, 32, "\",\"durability\":1}");
}

static void
end(struct bench *b)
{
    const char *fault = world_check(&b->world);
    if (fault != NULL)
        fail(fault);
    for (int i = 0; i < 3; i++)
        ws_decoder_fini(&b->decoders[i]);
    ws_codec_free(b->codec);
    request_parser_free(b->parser);
    bytes_fini(&b->in);
    bytes_fini(&b->written);
    world_fini(&b->world);
}

int
main(int argc, char **argv)
{
    struct bench *b = mem_calloc(1, sizeof *b);
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 200000;
    uint64_t turns = (count + GROUP - 1) / GROUP;
    uint64_t total = 0;
    begin(b, argc > 2 ? strtoull(argv[2], NULL, 10) : 0);
    for (uint64_t i = 0; i < turns; i++)
        turn(b);
    end(b);
    for (int i = 0; i < STAGE_COUNT; i++)
        total += b->ns[i];
    if (total == 0)
        fail("no messages");
    for (int i = 0; i < STAGE_COUNT; i++)
        printf("%-18s %7.0f ns %5.1f %%\n", stage_names[i],
               (double)b->ns[i] / (double)(turns * GROUP),
               100.0 * (double)b->ns[i] / (double)total);
    printf("%-18s %7.0f ns\n", "all", (double)total / (double)(turns * GROUP));
    mem_free(b);
    return 0;
}
