/* What can be said of a session at a glance: from the beginning and the end of its journal, however long that is. */
#pragma once

#include <stdbool.h>
#include <time.h>

#include "base/arena.h"

struct glance {
    const char *workspace, *command; /* NULL: not known */
    const char *mode;                /* "live", "review" …; NULL: not known */
    struct timespec began, last;     /* the first and the last record's times */
    const char *status;              /* of its end; NULL: it has none */
    bool has_ended;                  /* its end was recorded */
    bool was_killed;
    const char *refusal;       /* the last one among the latest records, as a sentence; or NULL */
    const char *refusal_event; /* what kind of record that is */
};

/* Returns false where there is no journal. */
bool glance_at(int session_fd, struct arena *arena, const char *home, struct glance *ret_glance);
