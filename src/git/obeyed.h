/* Adds what git runs or obeys to a repository. For the files of this room that follow its configuration and its hooks. */
#pragma once

#include "git/repo.h"
#include "git/trail.h"

/* The path below the owner's tree, where it lies there: for messages. */
const char *git_obeyed_name(struct fsview *fs, const struct git_owner *owner, const char *path);

/* Adds what was followed: every link of it, and its end. */
void git_obeyed_add(struct fsview *fs, const struct git_owner *owner, const struct git_trail *trail,
                    const char *because, struct git_repo *repo);

/* The same for a path that is taken from a directory. */
void git_obeyed_follow(struct fsview *fs, const struct git_owner *owner, const char *from, const char *path,
                       const char *because, struct git_repo *repo);

/* hooks.c: adds what git runs where this is the directory of its hooks. `because`: NULL for the git directory's own. */
void git_follow_hooks(struct fsview *fs, const struct git_owner *owner, const char *from, const char *path,
                      const char *because, struct git_repo *repo);
