/* Process: see process.h. */
#include "server/process.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define STAT_BYTES      1024
#define US_PER_SECOND   1000000
#define MS_PER_SECOND   1000
#define FIELD_UTIME     11 /* behind the name in parentheses and the state */
#define FIELD_STIME     12
#define FIELD_THREADS   17
#define FIELD_START     19
#define FIELD_VIRTUAL   20
#define FIELD_RESIDENT  21
#define FIELDS          22
#define START_OF_FIELDS 2 /* ") " */

/* The numbers of /proc/self/stat behind the name, which may hold anything. */
static int
read_fields(uint64_t fields[FIELDS])
{
    char text[STAT_BYTES];
    FILE *f = fopen("/proc/self/stat", "re");
    size_t size = f == NULL ? 0 : fread(text, 1, sizeof text - 1, f);
    if (f != NULL)
        (void)fclose(f);
    text[size] = '\0';
    const char *at = strrchr(text, ')');
    if (at == NULL)
        return 0;
    int count = 0;
    at += START_OF_FIELDS;
    while (count < FIELDS && *at != '\0') { /* bound: the text */
        uint64_t v = 0;
        for (; *at != '\0' && *at != ' '; at++)
            if (*at >= '0' && *at <= '9')
                v = v * 10 + (uint64_t)(*at - '0');
        fields[count++] = v;
        at += *at == ' ';
    }
    return count;
}

/* UNIX time of the machine's start. */
static uint64_t
boot_ms(void)
{
    struct timespec now = {0};
    struct timespec up = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)clock_gettime(CLOCK_BOOTTIME, &up);
    int64_t ms = ((int64_t)now.tv_sec - up.tv_sec) * MS_PER_SECOND +
                 (now.tv_nsec - up.tv_nsec) / (US_PER_SECOND);
    return ms < 0 ? 0 : (uint64_t)ms;
}

static uint64_t
count_fds(void)
{
    uint64_t count = 0;
    DIR *dir = opendir("/proc/self/fd");
    if (dir == NULL)
        return 0;
    while (readdir(dir) != NULL)
        count++;
    (void)closedir(dir);
    return count < 3 ? 0 : count - 3; /* ., .. and the directory itself */
}

void
process_read(struct process_status *ret_status)
{
    uint64_t fields[FIELDS] = {0};
    struct rlimit limit = {0};
    uint64_t ticks = (uint64_t)sysconf(_SC_CLK_TCK);
    memset(ret_status, 0, sizeof *ret_status);
    if (read_fields(fields) == FIELDS && ticks > 0) {
        ret_status->resident_bytes =
            fields[FIELD_RESIDENT] * (uint64_t)sysconf(_SC_PAGESIZE);
        ret_status->virtual_bytes = fields[FIELD_VIRTUAL];
        ret_status->cpu_us =
            (fields[FIELD_UTIME] + fields[FIELD_STIME]) * US_PER_SECOND / ticks;
        ret_status->threads = fields[FIELD_THREADS];
        ret_status->start_ms = boot_ms() + fields[FIELD_START] * MS_PER_SECOND / ticks;
    }
    ret_status->open_fds = count_fds();
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        ret_status->max_fds = limit.rlim_cur;
}
