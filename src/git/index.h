/* The names of the files that git tracks, from its index. Versions 2 to 4 with SHA-1; anything unclear ends the list. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "git/branch.h"

typedef void git_index_name(void *context, const char *path);

/* Calls back for each path, relative to the work tree and without "..". */
void git_index_read(const unsigned char *bytes, size_t size, git_index_name *name, void *context);

/* The same for the index of a git directory, if its size lies between these. Without one, none is read. */
void git_index_names(const char *git_dir, size_t least, size_t most, git_index_name *name, void *context);

/*
 * Do two indexes hold the same entries, but for what git has looked up about the files on disk? That is what `git status`
 * writes. False where one of them is not understood to its end.
 */
bool git_index_is_same(const unsigned char *bytes, size_t size, const unsigned char *other,
                       size_t other_size);

/*
 * Could git read it: whole, in order, with nothing in it that git does not know, and with the hash of it all? Says of how many
 * bytes hashes are in it, 20 or 32; 0 where git could not.
 */
size_t git_index_check(const unsigned char *bytes, size_t size);

/* Calls back for each object that a sound index names; the commits of submodules are none of the repository's. */
typedef void git_index_object(void *context, const char *digits);
void git_index_objects(const unsigned char *bytes, size_t size, size_t hash_size, git_index_object *object,
                       void *context);

/* Is a sound index but the difference to another ("sharedindex.DIGITS")? */
bool git_index_base(const unsigned char *bytes, size_t size, size_t hash_size, struct git_position *ret_base);
