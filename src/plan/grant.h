/*
 * What a running sandbox can still get: a file or a tree of the host, as the rule `read PATH` or `write PATH` would have shown it from the
 * start, with all that the policy hides in it.
 */
#pragma once

#include "kernel/fsview.h"
#include "plan/plan.h"

/*
 * NULL: the sandbox can get the path, and *ret_operations has the operation that shows it and those that hide parts of it. Else why not, a sentence
 * without a full stop. Nothing is looked at: `kind` is what the path is now. The path has no links.
 */
const char *plan_grant(const struct plan *plan, struct arena *arena, const char *path, enum file_kind kind,
                       bool writes, struct operations *ret_operations);
