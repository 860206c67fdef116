/* Limits: every bound of the server in one place. Reaching one gives a coded refusal,
 * a closed connection or back-pressure; never a crash. Settings of a queue have their
 * own table (queue/settings.h). */
#ifndef HF_BASE_LIMITS_H
#define HF_BASE_LIMITS_H

/* What the manual fixes. */
#define LIMIT_USERNAME_BYTES 128
#define LIMIT_PASSWORD_BYTES 128
#define LIMIT_CONTEXT_BYTES  256 /* text, after unescaping; number: characters */
#define LIMIT_KEY_BYTES      128 /* publisherkey */
#define LIMIT_DELAY_SECS     172800
#define LIMIT_CAPACITY       1024
#define LIMIT_LIST_COUNT     1600
#define LIMIT_MESSAGES       1000000

/* One connection. */
#define LIMIT_HTTP_HEAD_BYTES     8192
#define LIMIT_HTTP_HEADERS        64
#define LIMIT_UNANSWERED_REQUESTS 2048 /* then the connection is not read from */
#define LIMIT_UNANSWERED_BYTES    (4u << 20)
#define LIMIT_CONTROL_FRAME_BYTES 125
#define LIMIT_MESSAGE_FRAGMENTS   65536
#define LIMIT_RELAY_BUFFER_BYTES  (256u << 10) /* each direction of a relay */
#define LIMIT_RELAY_WAIT_MS       5000         /* for a leader, or for a connect */
#define LIMIT_STUCK_WRITE_MS      30000
#define LIMIT_LOGIN_ANSWER_MS     30000 /* for a login that came in time */

/* All connections of a node that have not logged in; per address. */
#define LIMIT_PENDING_LOGINS      20000
#define LIMIT_PENDING_PER_ADDRESS 12000

/* Core. */
/* An entry takes no more records. RLOG_TRAILING_ENTRIES such entries stay behind each
 * snapshot, so this is part of what bounds the disk. */
#define LIMIT_SWEEP_MESSAGES    10000 /* looked at for one record */
#define LIMIT_ENTRY_CLOSE_BYTES (256u << 10)
#define LIMIT_ENTRY_BYTES       (8u << 20) /* hard: one message is at most six MiB */
#define LIMIT_QUEUES            1024
#define LIMIT_QUEUE_NAME_BYTES  63
#define LIMIT_PASS_ON_BYTES     (64u << 20) /* durability 0, at a planned hand-over */
#define LIMIT_ID_AHEAD_MS       2000        /* ids before the last committed stamp */

/* Cluster (the log's own windows are in raft/rlog_int.h). */
#define LIMIT_PEERS            9
#define LIMIT_FRAME_BYTES      (LIMIT_ENTRY_BYTES + (64u << 10))
#define LIMIT_PEER_QUEUE_BYTES (64u << 20)
#ifndef LIMIT_AE_BYTES /* the simulator's logs and images are small, and so are these  \
                        */
#define LIMIT_AE_BYTES        (1u << 20) /* entries of one AppendEntries */
#define LIMIT_SNAPSHOT_CHUNK  (256u << 10)
#define LIMIT_LOG_CACHE_BYTES (32u << 20)
#define LIMIT_TRAILING_BYTES  (16u << 20)
#endif
/* Of snapshots to peers, bytes a second: a GiB takes 16 s, and the leader's core thread
 * spends about a tenth of its time on it. */
#define LIMIT_SNAPSHOT_RATE      (64u << 20)
#define LIMIT_CONTROL_LINE_BYTES (1u << 20)
#define LIMIT_CONTROL_CLIENTS    64

/* Ops HTTP. */
#define LIMIT_OPS_CONNECTIONS 64
#define LIMIT_OPS_HEAD_BYTES  8192
#define LIMIT_OPS_BODY_BYTES  1024 /* of a request: none is wanted */
#define LIMIT_OPS_IDLE_SECS   5
#define LIMIT_OPS_LIFE_MS     10000 /* of a connection in all */
#define LIMIT_OPS_CORE_MS     1000  /* for a snapshot of the core thread */
#define LIMIT_CORE_SILENT_MS  10000 /* without a turn: the core counts as stuck */

#endif
