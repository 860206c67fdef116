/* Parcels: what passes between the network threads and the core. Plain data, no
 * protocol: src/proto makes requests from JSON and JSON from effects.
 *
 * Network thread to core: struct request (one for each client request, answered exactly
 * once) and struct signal. Core to network thread: the same struct request, now with
 * its reply filled in, and deliveries, notices, pushes and closes. Whoever takes a
 * parcel out of a mailbox owns it and frees it with parcel_free().
 *
 * A connection is named by a number that a node never uses twice. */
#ifndef HF_BROKER_PARCEL_H
#define HF_BROKER_PARCEL_H

#include "base/limits.h"
#include "base/list.h"
#include "base/mailbox.h"
#include "broker/story.h"
#include "queue/state.h"

enum parcel_kind {
    /* network thread to core, and back as its reply: struct request */
    PARCEL_LOGIN,
    PARCEL_PUBLISH,
    PARCEL_SETTLE, /* ack and nack */
    PARCEL_CAPACITY,
    PARCEL_LOGOUT,
    PARCEL_ADMIN,
    PARCEL_REFUSED, /* a request that is nothing of these: code says why */
    /* network thread to core: struct signal */
    PARCEL_CLOSED,   /* the connection has ended; only for those that sent a LOGIN */
    PARCEL_PROGRESS, /* bytes were taken by the connection's socket */
    /* core to network thread */
    PARCEL_DELIVERY, /* struct delivery: a message for a subscriber */
    PARCEL_NOTICE,   /* struct notice: an administrator took a held message */
    PARCEL_PUSH,     /* struct push: live statistics */
    PARCEL_CLOSE,    /* struct parcel alone: close without a word and without a code */
};

struct parcel {
    struct mail mail;          /* first: a mail is a parcel */
    struct list_node in_queue; /* owner's use while it waits (broker) */
    uint64_t conn;
    enum parcel_kind kind;
};

enum queue_type {
    QUEUE_DISTRIBUTE,
    QUEUE_COPY,
};

/* What to do with the connection after a reply has left. */
enum after_reply {
    AFTER_NOTHING,
    AFTER_CLOSE,  /* TLS close, no close frame ("no close code") */
    AFTER_LOGOUT, /* close frame 1000 */
};

/* Fields of a publish, also in a login and in addmsg. */
struct publish_fields {
    struct blob
        *body; /* inside of a JSON string, then key_size bytes of key; or NULL */
    uint8_t key_size;
    uint8_t type;       /* 1 text, 2 binary */
    uint8_t durability; /* 0, 1, 2 */
    uint32_t delay_secs;
};

enum admin_command {
    ADMIN_GETLIVESTATS,
    ADMIN_GETSTATS,
    ADMIN_GETUSAGE,
    ADMIN_GETMSGS,
    ADMIN_GETMSG,
    ADMIN_ADDMSG,
    ADMIN_DELMSG,
    ADMIN_MOVETODLQ,
    ADMIN_GETDLQMSGS,
    ADMIN_GETDLQMSG,
    ADMIN_DELDLQMSG,
    ADMIN_GETCFG,
    ADMIN_SETCFG,
    /* beyond the manual: */
    ADMIN_REDRIVE,
    ADMIN_PURGE,
    ADMIN_HISTORY,
};

enum bulk_place {
    BULK_WAITING,
    BULK_ALL, /* held ones too */
    BULK_DLQ,
};

/* Which messages a redrive or purge is about. */
struct admin_bulk {
    enum bulk_place place;
    bool is_one; /* redrive: the message id, and nothing else here */
    bool is_dry;
    bool has_after;
    uint8_t reasons;  /* bits, as in queue/sweep.h; 0 any */
    uint8_t key_size; /* 0 any */
    uint8_t key[LIMIT_KEY_BYTES];
    uint32_t older_secs; /* dead for so long; 0 any */
    struct uuid after;
};

struct admin_fields {
    enum admin_command command;
    bool has_subscribe;
    uint32_t subscribe_secs; /* 0, or 30 to 900 */
    bool flag;               /* average, totals */
    bool has_date;  /* year, month and day are well formed (checked calendar) */
    uint64_t day;   /* days since 1970 */
    bool is_before; /* page: before (else after) */
    bool is_open;   /* page: the empty string: from the start or the end */
    bool has_id;    /* id is a UUID (of a page or a message) */
    struct uuid id;
    uint32_t count;
    struct publish_fields publish;
    struct record_settings_set settings;
    struct admin_bulk bulk; /* REDRIVE, PURGE: with count at most */
};

/* A family byte (4, 6, or 0 when it is not known), then the IPv4 address, or the first
 * 64 bits of the IPv6 one. */
#define LOGIN_SOURCE_BYTES 9

struct login_fields {
    uint32_t queue;                     /* queue number, known from the host name */
    uint8_t source[LOGIN_SOURCE_BYTES]; /* the client's, also through a relay */
    enum queue_type type;
    enum login_role role;
    uint8_t username_size;
    uint8_t password_size;
    char username[LIMIT_USERNAME_BYTES];
    char password[LIMIT_PASSWORD_BYTES]; /* wiped as soon as it is verified */
    bool has_capacity;
    uint32_t capacity;
    bool has_session;
    bool has_session_id; /* session is a UUID; has_session without it is 109 */
    struct uuid session;
    bool replay;
    struct publish_fields publish; /* publish in the login: body not NULL */
};

enum reply_shape {
    REPLY_STATUS,      /* {"status":"Success."} */
    REPLY_ID,          /* {"id":..,"status":"Success."} */
    REPLY_SESSION,     /* {"status":"Success.","sessionid":..} */
    REPLY_SUBSCRIBERS, /* {"status":"Success.","subscribers":N} */
    REPLY_LOGOUT,      /* {"status":"Logout Success."} */
    REPLY_LIVESTATS,   /* {"status":"Success.","csv":"9 numbers"} */
    REPLY_LIST,        /* {"status":"Success.","csv":"rows"} of getmsgs, getdlqmsgs */
    REPLY_MESSAGE,     /* {"status":"Success.","id":..,"msg":{..},"len":..,..} */
    REPLY_CONFIG,      /* {"status":"Success.","name":["w",value],..} */
    REPLY_STATS,       /* {"status":"Success.","csv":"rows"} of getstats */
    REPLY_USAGE,       /* the same of getusage */
    REPLY_BULK,        /* {"status":"Success.","count":N,"more":..,"last":..} */
    REPLY_STORY,       /* {"status":"Success.","id":..,..,"csv":"rows"} */
};

/* One message as administrators see it. In REPLY_MESSAGE body is a reference. */
struct message_view {
    struct uuid id;
    uint64_t received_ms;
    struct blob *body; /* body and key as in struct message; NULL in lists */
    uint32_t body_size;
    uint32_t delay_secs;
    uint8_t key_size;
    uint8_t type;
    uint8_t durability;
    bool is_damaged;
};

struct history_view {
    uint64_t at_secs;
    uint64_t columns[9];
    uint8_t has_ipv4;
};

struct reply {
    uint16_t code; /* 0: success, and shape counts */
    enum reply_shape shape;
    enum after_reply after;
    struct uuid id;          /* REPLY_ID, REPLY_SESSION, REPLY_MESSAGE */
    uint64_t number;         /* subscribers; 407: ms of the first data; 408, 412: not 0
                                when the field was there, but wrong (set when parsed) */
    enum setting_id setting; /* 414, 415 */
    uint64_t live[STATS_COLUMNS];
    uint32_t row_count; /* of rows or history: malloc'ed, freed with the request */
    struct message_view *rows; /* REPLY_LIST; REPLY_MESSAGE: one */
    struct history_view *history;
    uint64_t *config; /* SETTING_COUNT values and the memory used; malloc'ed */
    struct message_story *story; /* REPLY_STORY; malloc'ed */
    bool has_more; /* REPLY_BULK: number of them, and behind id there may be others */
};

/* A client's request and, on the way back, its reply. One allocation with its context
 * behind it. */
struct request {
    struct parcel parcel;
    /* What was found wrong already (the lowest code), 0 = nothing. The broker may know
     * a lower one. */
    uint16_t code;
    bool ends; /* the connection closes after the reply (code 100 and the like) */
    uint16_t context_size;
    uint32_t charged_bytes;  /* network thread's own accounts: of what was read, */
    uint32_t expected_bytes; /* and of the reply to come */
    /* filled by parse, used by kind */
    union {
        struct login_fields *login; /* malloc'ed: it is large and rare */
        struct publish_fields publish;
        struct {
            struct uuid id;
            bool has_id;
            bool is_ack;
        } settle;
        uint32_t capacity;
        struct admin_fields *admin; /* malloc'ed */
    };
    struct reply reply;
    uint8_t context[]; /* the context's JSON text as it came; context_size 0 = none */
};

/* A request with room for its context; NULL when out of memory. All zero but the
 * context. kind LOGIN and ADMIN get their fields allocated, zeroed. */
struct request *
request_new(enum parcel_kind kind, uint64_t conn, struct slice context) MUST_USE;

struct signal {
    struct parcel parcel;
    /* CLOSED, PROGRESS: deliveries whose whole frame was handed to TLS so far, and the
     * sum of their charge_bytes (see struct delivery). Replies and other frames do not
     * count. */
    uint64_t frames_sent;
    uint64_t bytes_sent;
};

struct delivery {
    struct parcel parcel;
    struct uuid id;
    bool has_id;       /* false: a copy queue's message */
    struct blob *body; /* a reference; body and key as in struct message */
    uint32_t body_size;
    uint8_t key_size;
    uint8_t type;
    uint64_t received_ms;
    /* What the account of unsent bytes is charged: body_size + key_size + 128. The
     * network thread reports the same number as sent when the frame is handed to TLS.
     */
    uint32_t charge_bytes;
};

struct notice {
    struct parcel parcel;
    struct uuid id;
    bool is_moved; /* movedtodlq, else deleted */
};

struct push {
    struct parcel parcel;
    uint64_t live[STATS_COLUMNS];
};

/* Frees any parcel with all it owns; wipes passwords. NULL is fine. Any thread. */
void parcel_free(struct parcel *parcel);
/* Frees all parcels of a chain, and leaves it empty. */
void parcel_chain_free(struct mail_chain *chain);
/* Puts more behind to, and leaves more empty. O(1). */
void parcel_chain_move(struct mail_chain *to, struct mail_chain *more);

#endif
