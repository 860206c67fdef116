/* Certificates: see certificates.h. */
#include "server/certificates.h"

#include "base/log.h"
#include "server/node.h"

#define DAY_SECS      86400
#define DAY_MS        (DAY_SECS * 1000ull)
#define MS_PER_SECOND 1000

int64_t
certificate_days(int64_t ends_s, int64_t now_s)
{
    int64_t left_s = ends_s - now_s;
    return left_s >= 0 ? left_s / DAY_SECS : -((DAY_SECS - 1 - left_s) / DAY_SECS);
}

static void
tell(const char *use, const char *file, int64_t ends_s)
{
    int64_t now_s = (int64_t)(node_wall_ms() / MS_PER_SECOND);
    int64_t days = certificate_days(ends_s, now_s);
    if (days < 0)
        log_event(LOG_ERROR, "certificate.expired", "use=%s file=%s days=%lld", use,
                  log_quote(file), (long long)days);
    else if (days < CERTIFICATE_WARN_DAYS)
        log_event(LOG_WARN, "certificate.expires", "use=%s file=%s days=%lld", use,
                  log_quote(file), (long long)days);
}

void
certificates_turn(struct node *n, uint64_t now_ms)
{
    if (now_ms < n->certificates_at_ms)
        return;
    n->certificates_at_ms = now_ms + DAY_MS;
    tell("client", n->config->client_cert,
         (int64_t)net_certificate_expires_secs(n->net));
    tell("cluster", n->config->cluster_cert, cluster_certificate_expires_s(n->cluster));
}

void
certificates_reload(struct node *n)
{
    enum status net = net_reload_certificates(n->net);
    enum status cluster = cluster_reload_certificates(n->cluster);
    log_event(LOG_INFO, "node.reloaded", "client_certificate=%s cluster_certificate=%s",
              log_quote(net == ST_OK ? "new" : "kept"),
              log_quote(cluster == ST_OK ? "new" : "kept"));
    n->certificates_at_ms = 0;
}
