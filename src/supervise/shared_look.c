#include "supervise/shared_look.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "base/timespec.h"
#include "kernel/process.h"

/* Written and read in one call. A torn record, and one of another machine that shares the folder, has a wrong sum. */
struct look_record {
    int64_t began;
    uint64_t digest, sum;
};

static uint64_t sum_of(const struct shared_look *look, const struct look_record *record)
{
    return ((look->key ^ (uint64_t)record->began) * fnv_prime ^ record->digest) * fnv_prime;
}

void shared_look_open(struct shared_look *look, int running_fd)
{
    enum { BOOT_SIZE = 64 };
    struct {
        char boot[BOOT_SIZE];
        uint64_t device, inode;
    } of = {0};
    struct stat network;
    auto_fd int boot_fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    *look = SHARED_LOOK_NONE;
    if (boot_fd < 0 || read(boot_fd, of.boot, sizeof(of.boot)) <= 0 ||
        stat("/proc/self/ns/net", &network) < 0)
        return;
    of.device = network.st_dev;
    of.inode = network.st_ino;
    look->key = fnv_add(fnv_start, &of, sizeof(of));
    look->fd = openat(running_fd, "../numbers/.sockets", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
}

bool shared_look_read(const struct shared_look *look, uint64_t *ret_digest)
{
    enum { FRESH_MILLISECONDS = 250 };
    struct look_record record;
    if (look->fd < 0 || pread(look->fd, &record, sizeof(record), 0) != sizeof(record) ||
        record.sum != sum_of(look, &record))
        return false;
    int64_t passed = now_milliseconds() - record.began;
    *ret_digest = record.digest;
    return passed >= 0 && passed <= FRESH_MILLISECONDS;
}

void shared_look_write(const struct shared_look *look, int64_t began, uint64_t digest)
{
    struct look_record record = {.began = began, .digest = digest};
    record.sum = sum_of(look, &record);
    if (look->fd >= 0 && pwrite(look->fd, &record, sizeof(record), 0) != sizeof(record))
        return; /* the next run looks for itself */
}

void shared_look_close(struct shared_look *look)
{
    fd_close(look->fd);
    *look = SHARED_LOOK_NONE;
}
