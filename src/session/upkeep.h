/* The upkeep of old sessions: repair of those that were killed, and removal of snapshots that have grown old. */
#pragma once

#include "journal/session.h"
#include "session/caller.h"
#include "session/load.h"
#include "workspace/prune.h"

/* --- repair.c --- */

/*
 * Repair of sessions whose bawn was killed: the throw-away home, new content in flagged places, the record of the
 * changes, an unfinished apply or undo. The next bawn command that deals with sessions repairs them and says so.
 *
 * Each session is repaired in a child with limits on memory and time, so a repair that crashes or hangs does not
 * stop the command. A session whose repair fails is set aside and named once.
 */

/*
 * Lists one directory, which is usually empty. Before a run (NULL: before another verb), a session of a workspace elsewhere is only named,
 * once: its repair takes as long as that workspace makes it take, and the run does not wait for it.
 */
void repair_killed(const struct caller *caller, const struct run_request *run);

/* Tries again the sessions that were set aside, without a time limit. Returns whether all repairs succeeded. */
bool repair_set_aside(const struct caller *caller, size_t *ret_count);

/* --- pruning.c --- */

/*
 * Pruning: removes old snapshots. ~/.config/bawn/snapshot-keep has lines such as `age 30d` and `size 10G`, which
 * are also the defaults. No policy can set these: a repository's policy could delete what other sessions can undo.
 */

struct pruning_limits {
    uint64_t seconds, bytes; /* UINT64_MAX: no limit */
};

/* Returns 0, or the exit status after saying what is wrong in the file. */
int pruning_limits(const struct caller *caller, const struct loaded *loaded,
                   struct pruning_limits *ret_limits);

int pruning_run(const struct caller *caller, const struct loaded *loaded, const struct pruning_limits *limits,
                int sessions_fd, bool is_thorough, struct pruned *ret_pruned, struct err *err) must_check;

/* "my-app-1, my-app-2 and 3 more" */
const char *pruned_names(struct arena *arena, const name_list *sessions);

/* At the end of a run, now and then: forgets the oldest sessions of its workspace if there are too many, and says which. */
void pruning_by_count(const struct caller *caller, const struct loaded *loaded, struct session *session);

/* At the end of a run with a record. Prunes by age now and then, and by size whenever the limit is exceeded. */
void pruning_at_end(const struct caller *caller, const struct loaded *loaded, const char *store,
                    struct session *session);
