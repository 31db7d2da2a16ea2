/* Which changes and commits a person must approve. On a terminal the person is asked; elsewhere they wait. */
#pragma once

#include "base/map.h"
#include "cli/world.h"
#include "report/patch.h"
#include "session/arrivals.h"

struct approval {
    const struct world *world;
    struct patch patch;
    const char *override; /* what approves all of it: "--allow-risky applies it" */
    /*
     * Not NULL: only what the end of a live run asks about needs approval (flagged files, files in git directories), and only
     * where this tree does not have it as it is.
     */
    const struct tree *known;
    /* The paths that the person was asked about, each with its struct change. What they said holds for the commits, too. */
    struct map taken, left;
};

void approval_free(struct approval *approval);
#define auto_approval __attribute__((cleanup(approval_free)))

/* Callbacks of struct dialogue; `context` is a struct approval. Return why it waits, or NULL. */
const char *approval_of_change(void *context, const struct change *change);
const char *approval_of_commits(void *context, const struct arrivals *arrivals,
                                const decision_list *decisions);

/* Why a commit would bring the path, as in "the commit 1234567890 changes it"; NULL: none would. */
const char *approval_commit_of(struct arena *arena, const struct arrivals *arrivals, const char *path);

/*
 * Why the commits need approval, or NULL: "its commits change files that wait for your word: 1234567890 (CLAUDE.md)", or that
 * they could not be checked. A path counts if the policy flags or freezes it, or if the session's own change of it is risky.
 */
const char *approval_reason_of_commits(const struct patch *patch, const struct arrivals *arrivals,
                                       const decision_list *decisions);
