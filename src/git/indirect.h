/*
 * Where a git directory's configuration leads: the folder of the active hooks, the program that is asked what changed, and further
 * files of configuration.
 */
#pragma once

#include "git/repo.h"

struct git_owner {
    const char *git_dir;
    const char *base; /* its work tree, or itself: where programs are run, and paths begin */
    const char *tree; /* what lies elsewhere is none of ours */
    const char *home; /* what ~ stands for; NULL: nothing */
};

/* Adds to the repository what must be frozen or flagged because the configuration of this git directory points at it. */
void git_follow_config(struct fsview *fs, const struct git_owner *owner, struct git_repo *repo);

/* The same for what the user's own and the system's configuration say of every repository. */
void git_follow_user_config(struct fsview *fs, const struct git_owner *owner, const struct git_user *user,
                            struct git_repo *repo);

/* The same for the text of one of its files. */
void git_follow_text(struct fsview *fs, const struct git_owner *owner, const char *config, const char *text,
                     size_t size, struct git_repo *repo);
