/*
 * Copies into the private home what `copy` names, when the host's file is new or has changed since it was copied last.
 * Nothing is ever copied back. What the command changes in its copy stays, until the host's file changes; what no rule
 * copies any more is removed.
 */
#pragma once

#include "plan/plan.h"

/*
 * `state_fd` is a folder outside the home, where it is remembered what was copied. Fails where something could not be
 * copied; the rest was.
 */
int home_copy(struct arena *arena, const struct plan *plan, int home_fd, int state_fd, struct err *err)
    must_check;
