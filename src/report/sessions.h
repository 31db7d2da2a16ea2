/* All sessions with their state, as `bawn sessions` and the page list them. */
#pragma once

#include "report/event.h"
#include "workspace/record.h"

struct listed {
    const char *name;
    bool is_running;
    bool is_unrepaired; /* its bawn was killed, and the repair failed */
    bool has_record;    /* it has changes to apply or undo */
    struct record record;
    struct glance glance;
    uint64_t disk; /* bytes; only if asked for */
};

typedef VEC(struct listed) listed_list;

struct sessions_wanted {
    struct arena *arena;
    const char *state;         /* the folder of bawn's state */
    const char *home;          /* shown as ~; may be NULL */
    const char *workspace;     /* only those of this one; NULL: all */
    const record_list *loaded; /* records that were read already; may be NULL */
    bool with_disk;            /* find out how much room each takes */
};

/* Opens the folder of a session by its name. Returns -1 if there is none. */
int session_open(int sessions_fd, const char *name);

/* Lists them, latest first. `sessions_fd` may be -1: then there are none. */
void sessions_find(const struct sessions_wanted *wanted, int sessions_fd, listed_list *ret_listed);

const char *listed_workspace(const struct listed *listed);
struct timespec listed_began(const struct listed *listed);
const char *listed_state(const struct listed *listed); /* "running", "waiting", "done" … */
const char *listed_mode(const struct listed *listed);  /* "live", "review" … */

/* Seconds since the last record in its journal. */
int64_t listed_idle(const struct listed *listed);

/*
 * A run that ended and changed nothing: there is nothing to apply or undo. One that was refused something or opened a decoy is worth a
 * look, and a review whose changes were discarded had some.
 */
bool listed_left_nothing(const struct listed *listed);

/* One of those that changed files: its snapshot was removed since, so it can no longer be undone. */
bool listed_is_pruned(const struct listed *listed);
uint64_t listed_files(const struct listed *listed); /* that it changed */
