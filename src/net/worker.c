/* Worker: making and unmaking of a network thread's belongings, and its mail.
 *
 * The libevent base is made without locks: no other thread ever touches it. Others put
 * mail and write to the bell, an eventfd that the base watches. */
#include "net/worker.h"

#include "base/log.h"
#include "base/mem.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

struct event_base *
worker_make_base(void)
{
    struct event_config *config = event_config_new();
    if (config == NULL)
        return NULL;
    (void)event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
    struct event_base *base = event_base_new_with_config(config);
    event_config_free(config);
    return base;
}

static void
init_lists(struct worker *w)
{
    map_init(&w->by_number);
    list_init(&w->conns);
    list_init(&w->relays);
    list_init(&w->ready);
    list_init(&w->dirty);
    list_init(&w->dead);
    list_init(&w->dead_relays);
    list_init(&w->route.waiting);
    mailbox_init(&w->parcels);
    mailbox_init(&w->controls);
}

enum status
worker_init(struct worker *w, struct shared *shared, unsigned index)
{
    memset(w, 0, sizeof(*w));
    w->shared = shared;
    w->index = index;
    w->next_conn = (uint64_t)index << 48;
    init_lists(w);
    w->bell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    w->base = worker_make_base();
    w->parser = request_parser_new();
    w->codec = ws_codec_new();
    w->buffer = mem_try_alloc(WORKER_BUFFER_BYTES);
    w->hand_out = mem_try_calloc(shared->worker_count, sizeof(*w->hand_out));
    if (w->base != NULL)
        timers_init(&w->timers, w->base);
    enum status status = w->bell < 0 || w->base == NULL ? ST_IO : ST_OK;
    if (w->parser == NULL || w->codec == NULL || w->buffer == NULL ||
        w->hand_out == NULL)
        status = ST_NOMEM;
    if (status != ST_OK)
        log_event(LOG_ERROR, "net.failed", "reason=\"a thread's loop\" error=%s",
                  log_quote(status_name(status)));
    return status;
}

static void
free_controls(struct mail *mail)
{
    while (mail != NULL) {
        struct control *control = CONTAINER_OF(mail, struct control, mail);
        mail = mail->next;
        if (control->kind == CONTROL_ARRIVAL)
            arrival_free(CONTAINER_OF(control, struct arrival, control));
        else
            mem_free(control);
    }
}

static void
free_parcels(struct mail *mail)
{
    while (mail != NULL) {
        struct parcel *parcel = CONTAINER_OF(mail, struct parcel, mail);
        mail = mail->next;
        parcel_free(parcel);
    }
}

void
worker_fini(struct worker *w)
{
    assert(list_is_empty(&w->conns) && list_is_empty(&w->relays));
    free_controls(mailbox_take(&w->controls));
    free_parcels(mailbox_take(&w->parcels));
    free_parcels(w->to_core.first);
    for (unsigned i = 0; w->hand_out != NULL && i < w->shared->worker_count; i++)
        free_controls(w->hand_out[i].first);
    if (w->base != NULL) {
        timers_fini(&w->timers);
        event_base_free(w->base);
    }
    if (w->bell >= 0)
        (void)close(w->bell);
    map_fini(&w->by_number);
    bytes_fini(&w->spare);
    request_parser_free(w->parser);
    ws_codec_free(w->codec);
    mem_free(w->buffer);
    mem_free(w->hand_out);
}

uint64_t
worker_now_ms(struct worker *w)
{
    if (w->now_ms == 0) {
        struct timespec now = {0};
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        w->now_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
    }
    return w->now_ms;
}

void
worker_send(struct worker *w, struct parcel *parcel)
{
    mail_chain_add(&w->to_core, &parcel->mail);
}

void
worker_ring(struct worker *w)
{
    uint64_t one = 1;
    ssize_t written;
    do
        written = write(w->bell, &one, sizeof(one));
    while (written < 0 && errno == EINTR);
    /* EAGAIN: the counter is full, so the bell rings already. */
}

void
worker_tell(struct worker *w, struct control *control)
{
    struct mail_chain chain = {NULL, NULL};
    mail_chain_add(&chain, &control->mail);
    if (mailbox_put(&w->controls, &chain))
        worker_ring(w);
}

void
worker_publish_counts(struct worker *w)
{
    const uint64_t *values = (const uint64_t *)(const void *)&w->counts;
    for (size_t i = 0; i < sizeof(w->counts) / sizeof(uint64_t); i++)
        atomic_store_explicit(&w->published.values[i], values[i], memory_order_relaxed);
}

void
arrival_free(struct arrival *a)
{
    if (a == NULL)
        return;
    if (a->fd >= 0)
        (void)close(a->fd);
    if (a->worker != NULL) {
        timers_clear(&a->worker->timers, &a->timer);
        admission_leave(&a->worker->shared->admission, a->admission);
    }
    mem_free(a);
}
