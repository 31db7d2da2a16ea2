#include "egress/rate.h"

#include "base/hash.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

enum { SECOND = 1000000 }; /* microseconds */

int rate_open(struct rate *rate, uint64_t per_second, int fd, struct err *err)
{
    struct stat status;
    /* A page behind the end of a file that is too small would be a signal at any point. */
    if (fd >= 0 && (fstat(fd, &status) < 0 || status.st_size != RATE_FILE_SIZE))
        return err_set(err, "the table of the rate limit has another size");
    void *slots = mmap(NULL, RATE_FILE_SIZE, PROT_READ | PROT_WRITE,
                       fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);
    if (slots == MAP_FAILED)
        return err_sys(err, errno, "cannot map the table of the rate limit");
    *rate = (struct rate){.per_second = per_second, .slots = slots};
    return 0;
}

/* Two hosts with the same number share a limit, which harms only whoever chose their names so. */
static uint64_t number_of(const void *host, size_t size)
{
    uint64_t number = fnv_add(fnv_start, host, size);
    return number ? number : 1;
}

static struct rate_slot *slot_of(const struct rate *rate, uint64_t host)
{
    for (size_t i = 0; i < RATE_SLOTS - 1; i++) {
        struct rate_slot *slot = &rate->slots[(host + i) % (RATE_SLOTS - 1)];
        uint64_t there = 0;
        if (atomic_compare_exchange_strong(&slot->host, &there, host) || there == host)
            return slot;
    }
    return &rate->slots[RATE_SLOTS - 1];
}

static uint64_t now_microseconds(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec / 1000;
}

uint64_t rate_take(const struct rate *rate, const void *host, size_t size)
{
    if (!rate->per_second)
        return 0;
    uint64_t interval = (SECOND + rate->per_second - 1) / rate->per_second;
    struct rate_slot *slot = slot_of(rate, number_of(host, size));
    uint64_t next = atomic_load(&slot->next), now = now_microseconds();
    do {
        /* One that is further away than an interval was written before the machine started again. */
        if (next > now && next - now <= interval)
            return next - now;
    } while (!atomic_compare_exchange_strong(&slot->next, &next, now + interval));
    return 0;
}
