/*
 * How long snapshots are kept, and how many: ~/.config/bawn/snapshot-keep says `age 30d` and `size 10G`, a line each; that is
 * also what holds without it. A policy has no say in this: a repository's could make others lose what they can undo.
 */
#pragma once

#include "journal/session.h"
#include "session/load.h"
#include "workspace/prune.h"

struct pruning_limits {
    uint64_t seconds, bytes; /* UINT64_MAX: none */
};

/* Returns 0, or the exit status after having said what is wrong in the file. */
int pruning_limits(const struct caller *caller, const struct loaded *loaded,
                   struct pruning_limits *ret_limits);

int pruning_run(const struct caller *caller, const struct loaded *loaded, const struct pruning_limits *limits,
                int sessions_fd, bool is_thorough, struct pruned *ret_pruned, struct err *err) must_check;

/* "my-app-1, my-app-2 and 3 more" */
const char *pruned_names(struct arena *arena, const struct pruned *pruned);

/* At the end of a run that has kept something: now and then by age, and by size whenever that is too much. */
void pruning_at_end(const struct caller *caller, const struct loaded *loaded, const char *store,
                    struct session *session);
