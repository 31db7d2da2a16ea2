/* Moments: comparing them, and the present one. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Below zero where `a` is earlier, above zero where it is later. */
static inline int timespec_order(struct timespec a, struct timespec b)
{
    if (a.tv_sec != b.tv_sec)
        return a.tv_sec < b.tv_sec ? -1 : 1;
    return (a.tv_nsec > b.tv_nsec) - (a.tv_nsec < b.tv_nsec);
}

static inline bool timespec_is_same(struct timespec a, struct timespec b)
{
    return timespec_order(a, b) == 0;
}

/* Nanoseconds from one moment to the other. */
static inline int64_t timespec_between(struct timespec from, struct timespec to)
{
    return (int64_t)(to.tv_sec - from.tv_sec) * 1000000000 + (to.tv_nsec - from.tv_nsec);
}

/* On a clock that nobody sets. */
static inline int64_t now_seconds(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

static inline int64_t now_milliseconds(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Does nothing for so long, less than a second; a signal may end it sooner. */
static inline void pause_microseconds(long microseconds)
{
    nanosleep(&(struct timespec){.tv_nsec = microseconds * 1000}, NULL);
}
