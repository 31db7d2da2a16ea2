/* Times as a person types and reads them: how long, when, how long ago. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/arena.h"

/* "90s", "30m", "2h", "1d", "1w", and nothing else. */
bool length_parse(const char *text, uint64_t *ret_seconds);

/*
 * A moment of the past: "04:45", the last time that it was so late here; "2026-11-15T04:45", in local time or, with a Z
 * behind it, in UTC; both with seconds or without, which then is the end of that minute; or "20m", so long before `now`.
 */
bool moment_parse(const char *text, time_t now, time_t *ret_moment);

/* "2026-11-15T04:45:12", in local time. moment_parse reads it back. */
const char *moment_text(struct arena *arena, struct timespec moment);

/* "5 minutes ago" */
const char *age_text(struct arena *arena, struct timespec moment);
