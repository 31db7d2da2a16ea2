/*
 * What an apply or the end of --branch would bring into a repository, looked at before a ref moves: git reads the new
 * objects in a sandbox, from a folder of their own beside the repository's objects (hold/new_commits.h). Each new object is read, whatever
 * refs do: `git fsck` reads it, too, and git looks into a new pack before it looks for an older object of the same name. What only new lines of
 * logs lead to is read as well.
 */
#pragma once

#include "hold/new_commits.h"
#include "session/caller.h"
#include "workspace/transition.h"

struct arrivals {
    /* A ref of the workspace's own repository moves, or of a submodule's; or a pack could not be read. */
    bool are_asked_for;
    struct new_commits found;
};

struct arrivals_request {
    const struct caller *caller;
    const struct transition *transition;
    const char *folder; /* of the session: the objects lie there for the time of the look */
    int folder_fd;
};

/* Looks at the decisions to go. */
int arrivals_find(const struct arrivals_request *request, struct arena *arena, const decision_list *decisions,
                  struct arrivals *ret_arrivals, struct err *err) must_check;
void arrivals_free(struct arrivals *arrivals);

/* For repo_check_hold_broken(). */
struct repo_findings arrivals_findings(const struct arrivals *arrivals);

/* Is it a path of the workspace's own repository? */
bool arrivals_concern(const char *path);
