/*
 * When a session first had to do with a host, a file, a variable or a command: in the journals of the latest sessions, as far as they are looked at. For a
 * person who is asked for it.
 */
#pragma once

#include <stdbool.h>
#include <time.h>

#include "base/arena.h"

struct first_seen {
    const char *object;  /* "example.com:443", "/srv/data" */
    const char *session; /* of the question, and its number there: neither it nor what came after it counts */
    const char *question;
    /* Found: */
    const char *seen_in; /* the session; NULL: nowhere */
    const char *event;   /* "refused", "connected", "asked" … */
    struct timespec time;
};

/* How much was looked at. */
struct seen_sources {
    size_t sessions;
    bool is_cut; /* there are more sessions, or a journal is longer */
};

void first_seen_find(int sessions_fd, struct arena *arena, struct first_seen *all, size_t count,
                     struct seen_sources *ret_sources);

/* "first seen 3 hours ago, in my-app-2 (refused)", or that it is new. */
const char *first_seen_text(struct arena *arena, const struct first_seen *seen,
                            const struct seen_sources *sources);
