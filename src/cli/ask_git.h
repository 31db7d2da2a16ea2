/* git, asked about a repository that a sandboxed program may have written: in a sandbox of its own. */
#pragma once

#include "base/buf.h"
#include "cli/world.h"
#include "launch/launch.h"

struct git_asker {
    const struct world *world;
    const struct launch
        *launch; /* of the run at whose end git is asked: what that forgets is forgotten here too */
};

/* A command of git's in the work tree, read-only and without a network. As hold/versions.h wants it. */
int ask_git(void *asker, const char *work_tree, const char *const *command, const struct buf *input,
            struct buf *ret_output);
