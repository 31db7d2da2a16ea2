/* What of git repositories counts as changed by a live run, and where it goes when that is undone. */
#pragma once

#include "workspace/transition.h"

/* positions.c: decides about refs, logs, and what belongs to linked worktrees. Contents that it makes are put into the store. */
int positions_decide(const struct transition *transition, int top_fd, struct store *store,
                     struct arena *arena, decision_list *decisions, struct err *err) must_check;

/* Does the repository of the path still exist after the transition? */
bool positions_repository_stays(const struct transition *transition, const char *path);

/* If a repository has moved on, all of it but its objects is left alone: a half-applied repository would be broken. */
void positions_hold_moved(decision_list *decisions);

/*
 * objects.c: the object stores of git repositories in a workspace. Nobody changes an object, and a `git gc` of the user or of the
 * command moves objects from file to file at any time. So the files of a store do not count as changed. Only two
 * things do: an object that is missing, and a file of the store that was written in place.
 *
 * An object counts as there if a file or the index of a pack has its name. Nothing is unpacked.
 */

/* Is it a file or directory of an object store, with a name that git gives it? */
bool objects_has_path(const char *path);

/* What does not count as changed, and differs. */
struct uncounted {
    bool has_objects; /* new objects */
    bool is_packed;   /* objects or refs lie in other files */
};

/*
 * Drops the changes of a live run that do not count. A file that is gone, and whose objects are elsewhere, becomes context:
 * a change with the same entry before and after it. So its content is kept, in case that objects_decide finds the objects missing.
 */
int objects_drop_moved(const struct live *live, int top_fd, struct store *store, struct arena *arena,
                       change_list *changes, struct uncounted *uncounted, struct err *err) must_check;

/*
 * Decides which files of object stores an undo brings back: those that are gone and have an object that is missing. With
 * transition->overwrites, all that are gone. Adds decisions for files that are context.
 */
int objects_decide(const struct transition *transition, int top_fd, struct store *store, struct arena *arena,
                   decision_list *decisions, struct err *err) must_check;
