/* Where a git directory's configuration leads: the folder of the active hooks, and further files of configuration. */
#pragma once

#include "git/repo.h"

/* Adds to the repository what must be frozen or flagged because the configuration of this git directory points at it. */
void git_follow_config(struct fsview *fs, const char *root, const char *git_dir, struct git_repo *repo);
