/* Whether an object store has an object, told by names alone: loose, in the index of a pack, or where it borrows from. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"

enum git_presence {
    GIT_MISSING,
    GIT_THERE,
    GIT_UNCLEAR, /* a part of the store could not be looked through */
};

/* "ab", "pack", "ab/cdef…", "pack/pack-….idx": what git adds to a store and never changes. */
bool git_is_object_path(const char *path);

/* Where an object of that name lies when it is not packed: "ab/cdef…". */
const char *git_object_path(struct arena *arena, const char *digits);

/* Does the index of a pack name the object? Of either version that git has; false where it is none. */
bool git_pack_index_has(int index_fd, const char *digits);

/* Is it a store of which the rest is fetched when it is wanted (a partial clone)? */
bool git_objects_are_promised(int objects_fd);

enum git_presence git_objects_have(int objects_fd, struct arena *arena, const char *digits);
