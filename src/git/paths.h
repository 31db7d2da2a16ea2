/* Which paths of a tree belong to a git repository, by their names alone. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The size of the part of a path that names a git directory, its slash included; 0 where none is named. */
size_t git_directory_size(const char *path);

/* The same of the repository that the path is of: of a submodule's, that which lies in ".git/modules". */
size_t git_repository_size(const char *path);

/* Where a repository's branches stand: HEAD, refs, packed-refs and their logs. */
bool git_is_position(const char *path);

/* Is it a file that git writes by way of NAME.lock? Whoever holds that file may replace it. */
bool git_has_lock(const char *path);
