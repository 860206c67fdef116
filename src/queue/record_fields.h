/* The types of records and the fields of each. Include queue/record.h. */
#ifndef HF_QUEUE_RECORD_FIELDS_H
#define HF_QUEUE_RECORD_FIELDS_H

#include "base/uuid.h"
#include "queue/login.h"
#include "queue/settings.h"

enum record_type {
    RECORD_NOOP = 1,  /* nothing; also moves the clock */
    RECORD_EPOCH = 2, /* a new leader: sessions are saved or ended */
    RECORD_QUEUE_CREATE = 3,
    RECORD_QUEUE_DELETE = 4,
    RECORD_LOGIN_SET = 5,
    RECORD_SETTINGS_SET = 6,
    RECORD_PUBLISH = 7,
    RECORD_ASSIGN = 8,       /* a waiting message goes to a session */
    RECORD_ACK = 9,          /* a held message is done */
    RECORD_NACK = 10,        /* a held message goes to the DLQ */
    RECORD_DELETE = 11,      /* waiting, held or delayed, by an administrator */
    RECORD_MOVE_TO_DLQ = 12, /* waiting, held or delayed, by an administrator */
    RECORD_DLQ_DELETE = 13,
    RECORD_SESSION_OPEN = 14,
    RECORD_SESSION_RESUME = 15,
    RECORD_SESSION_CAPACITY = 16,
    RECORD_SESSION_SAVE = 17,
    RECORD_SESSION_END = 18,      /* what it held goes to the back of the queue */
    RECORD_SESSION_RECEIVED = 19, /* first delivery of durability 0 */
    RECORD_STATS_ROW = 20,
    RECORD_USAGE_ROW = 21,
    RECORD_RELEASE = 22,      /* one held message back to the waiting ones */
    RECORD_REDRIVE = 23,      /* a dead letter back to the waiting ones, same id */
    RECORD_HISTORY_TRIM = 24, /* rows of days before one are dropped */
    RECORD_LEVEL = 25,        /* what the cluster may write from here on */
    /* From level 2 on: */
    RECORD_REDRIVE_SOME = 26,  /* dead letters back among the waiting ones */
    RECORD_PURGE = 27,         /* waiting, held or dead ones are removed */
    RECORD_SESSION_CLOSE = 28, /* as SESSION_END, by an operator */
    RECORD_TYPE_COUNT
};

struct record_queue_create {
    struct slice name;
    enum queue_tier tier;
    uint64_t settings[SETTING_COUNT];
    struct login_secret logins[ROLE_COUNT];
};

struct record_login_set {
    enum login_role role;
    struct login_secret login;
};

struct record_settings_set {
    uint32_t count;
    struct {
        enum setting_id id;
        uint64_t value;
    } items[SETTING_COUNT];
};

struct record_publish {
    struct uuid id;
    uint64_t order;       /* place among messages ready in the same ms; unique */
    uint64_t received_ms; /* cluster time */
    uint32_t delay_secs;  /* ready = received_ms + 1000 * delay_secs */
    uint8_t type;         /* 1 text, 2 binary */
    uint8_t durability;   /* 1 or 2; 0: passed on by a leader that hands over */
    struct slice key;     /* publisherkey, may be empty (none) */
    struct slice body;    /* inside of a JSON string */
    uint32_t body_crc;    /* CRC-32C of body. Encoding asserts it, decoding fills it and
                             does not check: record_publish_is_whole() does */
};

struct record_session {
    uint64_t session;  /* session number = place in the line, unique in the queue */
    struct uuid id;    /* OPEN, RESUME: the (new) session id */
    uint32_t capacity; /* OPEN, RESUME, CAPACITY */
    uint64_t order;    /* END: order of the first message given back; the next ones
                          follow by one, in the order they were held */
};

struct record_message {
    struct uuid id;
    uint64_t session; /* ASSIGN: to whom */
    uint64_t order;   /* RELEASE, REDRIVE: the new order; ready = the entry's stamp */
};

/* Which messages: queue/sweep.h. */
struct record_sweep {
    struct uuid first;  /* ids from here ... */
    struct uuid last;   /* ... to here, both with them */
    uint32_t count;     /* so many fit */
    uint8_t places;     /* SWEEP_DEAD, or SWEEP_WAITING and SWEEP_HELD or one of them */
    uint8_t reasons;    /* of dead ones: a bit for each dead_reason; 0 any */
    bool is_redrive;    /* the type is REDRIVE_SOME */
    uint64_t before_ms; /* of dead ones: died before; 0 any */
    struct slice key;   /* publisherkey; empty: any */
    uint64_t order; /* REDRIVE_SOME: of the first one; the next ones follow by one */
};

#define STATS_COLUMNS 9
struct record_stats_row {
    uint64_t at_secs;
    uint64_t columns[STATS_COLUMNS];
};

#define USAGE_COLUMNS 5 /* net sent, net received, storage written, read, held */
struct record_usage_row {
    uint64_t at_secs;
    uint64_t columns[USAGE_COLUMNS];
    uint8_t has_ipv4;
};

#endif
