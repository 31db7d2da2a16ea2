#include "workspace/record.h"

#include <string.h>

#include "base/timespec.h"
#include "kernel/process.h"

static bool is_same_boot(const struct clock_ends *ends)
{
    char boot[BOOT_ID_SIZE];
    process_read_boot_id(boot);
    return *boot && strcmp(boot, ends->boot) == 0;
}

void clock_ends_begin(struct clock_ends *ret_ends)
{
    *ret_ends = (struct clock_ends){0};
    process_read_boot_id(ret_ends->boot);
    clock_gettime(CLOCK_BOOTTIME, &ret_ends->began);
}

/* A run that was killed is ended by another bawn, perhaps after the machine was started anew. */
void clock_ends_end(struct clock_ends *ends)
{
    if (is_same_boot(ends))
        clock_gettime(CLOCK_BOOTTIME, &ends->ended);
    else
        *ends = (struct clock_ends){0};
}

static int64_t difference(struct timespec shown_first, struct timespec shown_last, struct timespec first,
                          struct timespec last)
{
    enum { LEAST = 2 };
    int64_t nanoseconds = timespec_between(shown_first, shown_last) - timespec_between(first, last);
    int64_t seconds = (nanoseconds + (nanoseconds < 0 ? -500000000 : 500000000)) / 1000000000;
    return seconds < LEAST && seconds > -LEAST ? 0 : seconds;
}

int64_t clock_step_during(const struct clock_ends *ends, struct timespec began, struct timespec ended)
{
    return ends->ended.tv_sec ? difference(began, ended, ends->began, ends->ended) : 0;
}

int64_t clock_step_since(const struct clock_ends *ends, struct timespec ended)
{
    struct timespec shown, now;
    if (!ends->ended.tv_sec || !is_same_boot(ends))
        return 0;
    clock_gettime(CLOCK_REALTIME, &shown);
    clock_gettime(CLOCK_BOOTTIME, &now);
    return difference(ended, shown, ends->ended, now);
}
