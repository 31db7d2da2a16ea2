/* Which paths belong to a git repository, judged by their names only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The size of the part of a path that names a git directory, with its slash; 0 if there is none. */
size_t git_directory_size(const char *path);

/* The same for the repository that the path belongs to: a submodule's repository is inside ".git/modules". */
size_t git_repository_size(const char *path);

/* Is it one of HEAD, refs, packed-refs and their logs? */
bool git_is_position(const char *path);

/* Does git replace this file through NAME.lock? The process that has created NAME.lock may replace it. */
bool git_has_lock(const char *path);
