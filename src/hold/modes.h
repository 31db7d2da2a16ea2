/*
 * Frozen files without namespaces: no mount holds them, so their modes let nobody write. The judge refuses to change the modes, and the names
 * (launch/bare.h).
 *
 * The modes before are recorded in $XDG_STATE_HOME/bawn/modes before the first one is changed. The last session that relies on them gives them back,
 * or the next bawn, if that one was killed. A mode is given back to the object that had it, and only if it is still as bawn left it.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"

struct lowered {
    const char *key; /* the name of its record */
    int record_fd;   /* with a shared lock */
};

struct modes {
    struct arena *arena;
    const char *folder; /* of the records */
    VEC(struct lowered) held;
};

/* Changes nothing yet. */
struct modes modes_in(struct arena *arena, const char *state_directory);

/* Takes the right to write from the file, or from the directory and everything in it. May be called again for the same path. */
int modes_lower(struct modes *modes, const char *path, struct err *err) must_check;

/* Gives the modes back that no other session relies on. */
void modes_release(struct modes *modes);

/* Gives the modes back that killed sessions have left. */
int modes_tidy(struct arena *arena, const char *state_directory, struct err *err) must_check;
