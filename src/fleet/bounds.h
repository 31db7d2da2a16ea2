/*
 * The bounds of a task: what the fleet decided. Lines of a task file often come from elsewhere, so they only tighten: a line may take of the
 * network and the limits, and choose a directory in a workspace of the fleet. A line that asks for more is refused.
 */
#pragma once

#include "fleet/folder.h"

/* Judges all tasks before any begins. The error names the line. */
int bounds_check_all(const struct caller *caller, const struct fleet *fleet, const task_list *tasks,
                     struct err *err) must_check;

/*
 * Judges a task when it begins: links and policies may have changed. *ret_workspace: its own workspace without symlinks, in the arena; NULL if it has none.
 */
int bounds_check(const struct caller *caller, const struct fleet *fleet, const struct task *task,
                 struct arena *arena, const char **ret_workspace, struct err *err) must_check;
