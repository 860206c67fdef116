/* Preloaded into a node by the drill diskfull: makes fdatasync() slow. Of a file below
 * DIR/nodeN/data/ the file DIR/nodeN/sync-ms says by how many milliseconds; without it
 * there is no delay. */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static long
delay_ms(int fd)
{
    char link[64];
    char path[512];
    char text[16] = "";
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 16);
    if (n <= 0)
        return 0;
    path[n] = '\0';
    char *data = strstr(path, "/data/");
    if (data == NULL)
        return 0;
    memcpy(data, "/sync-ms", sizeof "/sync-ms");
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 0;
    n = read(file, text, sizeof text - 1);
    (void)close(file);
    return n > 0 ? strtol(text, NULL, 10) : 0;
}

int
fdatasync(int fd)
{
    long ms = delay_ms(fd);
    if (ms > 0)
        (void)usleep((useconds_t)ms * 1000);
    return (int)syscall(SYS_fdatasync, fd);
}
