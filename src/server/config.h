/* Config: holdfast.conf, read once at start (holdfast.conf.5 has every key).
 *
 * INI without sections: `key = value`, one a line; list keys may be repeated. An
 * unknown key, a bad value and a missing key are errors that name file and line. */
#ifndef HF_SERVER_CONFIG_H
#define HF_SERVER_CONFIG_H

#include "base/log.h"
#include "queue/settings.h"
#include "raft/rlog.h"

#define CONFIG_LISTEN_MAX   8
#define NODE_ID_MAX         1000000
#define CONFIG_BOOT_ID_FILE "/proc/sys/kernel/random/boot_id"

struct config {
    char *file; /* its path, for messages */
    uint64_t node_id;
    char *cluster_token;
    struct rlog_members initial_cluster;
    char *data_dir;
    char *client_listen[CONFIG_LISTEN_MAX];
    size_t client_listen_count;
    char *client_advertise; /* default: the first client-listen */
    char *cluster_listen;
    char *http_listen;    /* NULL: none; a port alone has become one of loopback */
    char *control_socket; /* default: DATA-DIR/control.sock */
    char *client_cert;
    char *client_key;
    char *cluster_ca; /* may be NULL with one node */
    char *cluster_cert;
    char *cluster_key;
    char *default_queue;
    char *queue_domain;
    char *allowed_origins;
    char *log_file;
    char *boot_id_file;
    char *instance_type;
    char *region;
    uint64_t network_threads; /* 0: as many as fit the machine */
    uint64_t election_ms;
    uint64_t heartbeat_ms;
    uint64_t recovery_grace_secs;
    uint64_t drain_secs;
    uint64_t snapshot_min_bytes; /* 0: the default of replica_options */
    enum log_level log_level;
    enum log_format log_format;
    bool has_setting[SETTING_COUNT]; /* start values for queues made on this node */
    uint64_t settings[SETTING_COUNT];
};

/* ST_INVALID and a text in error (file:line: what) when something is wrong. The config
 * is the caller's; config_free() also takes half-read ones. */
enum status config_read(const char *path,
                        char *error,
                        size_t error_size,
                        struct config **ret_config) MUST_USE;
void config_free(struct config *c);
/* 16 bytes that name the cluster: made of cluster-token. */
void config_cluster_id(const struct config *c, uint8_t ret_id[16]);
/* The running machine's identity: the first line of boot-id-file. ST_IO with errno. */
enum status config_boot_id(const char *file, char *out, size_t size) MUST_USE;

#endif
