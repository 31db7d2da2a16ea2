/* Repositories that are not the workspace's own: git on the host obeys them as soon as somebody works beside them. */
#pragma once

#include "hold/flags.h"

/* Looks at a `.git`, or at a directory that may be a bare repository; adds what is new and would run. */
void nested_look(struct flags *flags, const char *git_dir);

/* In the workspaces' own repositories: submodules and worktrees that are new, and a rebase that would run something. */
void nested_look_at_own(struct flags *flags);
