/* The names of the files that git tracks, from its index. Versions 2 to 4 with SHA-1; anything unclear ends the list. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef void git_index_name(void *context, const char *path);

/* Calls back for each path, relative to the work tree and without "..". */
void git_index_read(const unsigned char *bytes, size_t size, git_index_name *name, void *context);

/*
 * Do two indexes hold the same entries, but for what git has looked up about the files on disk? That is what `git status`
 * writes. False where one of them is not understood to its end.
 */
bool git_index_is_same(const unsigned char *bytes, size_t size, const unsigned char *other,
                       size_t other_size);

/* The same for the index of a git directory, if its size lies between these. Without one, none is read. */
void git_index_names(const char *git_dir, size_t least, size_t most, git_index_name *name, void *context);
