/*
 * Stubs: git control files that do not exist and must not come into being while a command runs (config.worktree, commondir,
 * hooks/). Something harmless is made in their place, which the launcher can pin, and is removed at the end.
 *
 * Each stub has a record in $XDG_STATE_HOME/bawn/stubs, written before the stub is there. Whoever relies on a stub holds
 * a shared lock on its record; the last one to let go removes the stub, and what a killed bawn left is removed by the next.
 * Nothing is removed that is not the very file that was made, with nothing added to it.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"

struct stub {
    const char *key; /* its record's name in the folder */
    int record_fd;   /* with a shared lock */
};

struct stubs {
    struct arena *arena;
    const char *folder;
    VEC(struct stub) held;
};

/* Nothing is made yet. */
struct stubs stubs_in(struct arena *arena, const char *state_directory);

/*
 * Sees to it that there is something at the path, which lies in a git directory. A stub that another session made is
 * shared. Returns 1 where something is there, 0 where nothing is and nothing can be made by this user, -1 on failure.
 */
int stubs_hold(struct stubs *stubs, const char *path, bool is_directory, const char *content, struct err *err)
    must_check;

/* Lets go of all, and removes those that nobody else relies on. */
void stubs_release(struct stubs *stubs);

/* Removes what killed sessions left; `removed` is called for each. */
typedef void stubs_removed(void *context, const char *path);
int stubs_tidy(struct arena *arena, const char *state_directory, stubs_removed *removed, void *context,
               struct err *err) must_check;
