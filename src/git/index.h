/* The names of the files that git tracks, from its index. Versions 2 to 4 with SHA-1; anything unclear ends the list. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "git/refs.h"

typedef void git_index_name(void *context, const char *path);

/* Calls back for each path, relative to the work tree and without "..". */
void git_index_read(const unsigned char *bytes, size_t size, git_index_name *name, void *context);

/* The same for the index of a git directory, if its size lies between these. Without one, none is read. */
void git_index_names(const char *git_dir, size_t least, size_t most, git_index_name *name, void *context);

enum git_tracked {
    GIT_TRACKED_NOT,
    GIT_TRACKED,
    GIT_TRACKED_UNKNOWN, /* the index is not understood to its end */
};

/*
 * Does an index, with hashes of either size, have the path, or something in the directory of that name? Of a split index, what it is
 * the difference to is asked separately: `ret_base` is that one's name, or "".
 */
enum git_tracked git_index_tracks(const unsigned char *bytes, size_t size, const char *path,
                                  struct git_position *ret_base);

/*
 * Do two indexes hold the same entries, but for what git has looked up about the files on disk? That is what `git status`
 * writes. False where one of them is not understood to its end.
 */
bool git_index_is_same(const unsigned char *bytes, size_t size, const unsigned char *other,
                       size_t other_size);

/*
 * Could git have written it: whole, in order, every path and mode allowed, each extension known, once and in its valid form, and with
 * the hash of it all? Says of how many bytes hashes are in it, 20 or 32; 0 where git could not.
 */
size_t git_index_check(const unsigned char *bytes, size_t size);

/* The same where the size of the repository's hashes is known. */
bool git_index_is_sound(const unsigned char *bytes, size_t size, size_t hash_size);

/*
 * Does the path pass git's own rules for what an index may hold: no empty, "." or ".." name, nothing that is `.git` on any file
 * system, no link that is `.gitmodules`? Only a directory's path ends in a slash.
 */
bool git_path_is_allowed(const char *path, unsigned mode);

/* Is it one of the modes that git writes into an index? */
bool git_mode_is_written(unsigned mode);

/* index_parts.c: an extension of an index ("TREE"), and where in the file it and the entries lie. */
struct git_index_part {
    const unsigned char *name, *bytes;
    size_t size;
    size_t hash_size;
    size_t entries_end; /* the offset at which the entries end, as they were read one after the other */
};

/* Is it an extension that git has, in its valid form? That the blocks of "IEOT" are those of the entries is not checked here. */
bool git_index_part_is_sound(const struct git_index_part *part);

/* Calls back for each object that a sound index names; the commits of submodules are none of the repository's. */
typedef void git_index_object(void *context, const char *digits);
void git_index_objects(const unsigned char *bytes, size_t size, size_t hash_size, git_index_object *object,
                       void *context);

/* Is a sound index but the difference to another ("sharedindex.DIGITS")? */
bool git_index_base(const unsigned char *bytes, size_t size, size_t hash_size, struct git_position *ret_base);
