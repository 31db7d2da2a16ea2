/* A moment's rest, between two looks at something that happens by itself. */
#pragma once

#include <time.h>

static inline void moment(long microseconds)
{
    nanosleep(&(struct timespec){.tv_nsec = microseconds * 1000}, NULL);
}
