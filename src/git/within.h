/* The git directories in a tree of which nothing was known before, found by looking at all of it. */
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "git/repo.h"

/*
 * Would git take the open directory for a repository? Wider than git, which wants HEAD in a valid form, and may execute both `objects` and
 * `refs`, or those where a `commondir` leads. It does not ask whether they are directories.
 */
bool git_is_repository(int fd);

/* Is the path, which has no links, a git directory, or does it lie in one? */
bool git_lies_in_repository(const char *path);

/*
 * Finds what git on the host obeys in a tree: each `.git`, each bare repository, and the files and directories to which their configuration
 * leads in the tree. Fails where not all of the tree can be searched, and where one of these is a link or has a second name: a mount holds one
 * name.
 */
int git_find_within(struct fsview *fs, const char *tree, git_paths *ret_paths, struct err *err) must_check;
