/* Where the time goes: BAWN_TRACE=1 in the environment prints a line for each phase, with the time since bawn began. */
#pragma once

#include <stdint.h>

struct trace {
    int64_t began; /* nanoseconds of the monotonic clock; 0: nothing is printed */
};

/* Looks at the environment (NAME=VALUE, ended by NULL). */
struct trace trace_begin(const char *const *environment);

/* A phase has ended. `side` is who says so: "outside" or "inside". */
void trace_point(struct trace trace, const char *side, const char *phase);
