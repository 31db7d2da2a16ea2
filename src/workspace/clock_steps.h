/*
 * Was the clock stepped, during a run or since? The clock that people set is compared with the one that counts since the machine was
 * started (CLOCK_BOOTTIME), which nobody sets. Slewing moves both. Once the machine was started anew nothing can be said.
 */
#pragma once

#include <stdint.h>
#include <time.h>

/* Zeroed: not known. */
struct clock_ends {
    char boot[40];                /* which start of the machine: boot_id */
    struct timespec began, ended; /* of CLOCK_BOOTTIME */
};

void clock_ends_begin(struct clock_ends *ret_ends);
void clock_ends_end(struct clock_ends *ends);

/* In seconds: above zero if the clock was set forward. The moments are those that it showed at both ends. 0: by less than two, or not known. */
int64_t clock_step_during(const struct clock_ends *ends, struct timespec began, struct timespec ended);
int64_t clock_step_since(const struct clock_ends *ends, struct timespec ended);
