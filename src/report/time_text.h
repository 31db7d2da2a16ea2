/* Times as a person types and reads them: durations, points in time, ages. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/arena.h"

/* "90s", "30m", "2h", "1d", "1w", and nothing else. */
bool duration_parse(const char *text, uint64_t *ret_seconds);

/*
 * A time in the past, in one of three forms:
 *
 *   04:45              the last time that the clock here showed it
 *   2026-11-15T04:45   in local time, or in UTC with a Z at the end; a space may take the place of the T
 *   20m, 20m ago       that long before `now`
 *
 * The first two may have seconds. Without seconds they mean the end of that minute.
 */
bool time_parse(const char *text, time_t now, time_t *ret_time);

/* "2026-11-15T04:45:12", in local time. time_parse() reads it back. */
const char *time_text(struct arena *arena, struct timespec time);

/* "3 hours", in the largest unit of which there is at least one. */
const char *duration_text(struct arena *arena, int64_t seconds);

/* "5 minutes ago" */
const char *age_text(struct arena *arena, struct timespec time);
