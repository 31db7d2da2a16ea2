/* Whether an object store has an object, told by names alone: loose, in the index of a pack, or where it borrows from. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/vec.h"

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

/* --- many objects at once --- */

enum { GIT_HASH_MOST = 32 };

/* The names in the index of a pack, in ascending order. It is read in pieces, so that the size does not matter. */
struct git_pack_names {
    int fd;
    off_t first;
    size_t stride, hash_size;
    uint32_t count, at;       /* at: the name that is next */
    uint32_t held, held_from; /* names in `piece`, and the number of the first */
    unsigned char piece[16 * 1024];
};

/* Takes over the descriptor if it is an index of hashes of that size; otherwise returns NULL. */
struct git_pack_names *git_pack_names_open(int *index_fd, size_t hash_size);

/* The next name, or NULL at the end. `is_cut`: the index ends before the names do. */
const unsigned char *git_pack_names_next(struct git_pack_names *names, bool *ret_is_cut);
void git_pack_names_close(struct git_pack_names *names);

/* An object store that is asked about many objects. Questions in ascending order are cheap; alternates are not looked at. */
struct git_lookup {
    int objects_fd; /* borrowed */
    size_t hash_size;
    VEC(struct git_pack_names *) packs;
};

void git_lookup_begin(int objects_fd, size_t hash_size, struct git_lookup *ret_lookup);
bool git_lookup_has(struct git_lookup *lookup, const unsigned char *hash);
void git_lookup_end(struct git_lookup *lookup);
