#include "base/trace.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

struct trace trace_begin(const char *const *environment)
{
    const char *value = text_variable(environment, "BAWN_TRACE");
    return (struct trace){value && strcmp(value, "1") == 0 ? now() : 0};
}

void trace_point(struct trace trace, const char *side, const char *phase)
{
    if (trace.began)
        dprintf(STDERR_FILENO, "bawn: %8.3f ms  %-8s %s\n", (double)(now() - trace.began) / 1e6, side, phase);
}
