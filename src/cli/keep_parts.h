/* What the parts of keep.h share: keep.c begins, keep_aside.c what is kept aside, keep_end.c ends. */
#pragma once

#include "cli/keep.h"
#include "cli/progress.h"

/* A snapshot of the tree: that of the start, as long as it is not on. */
int keep_take(const struct loaded *loaded, const char *store, const struct kept_tree *tree,
              struct progress *progress, struct tree *ret_tree, struct err *err) must_check;

/* An overlay over the tree, or a copy of it: an amendment names which. What a person should know is said. */
int keep_begin_aside(const struct world *world, const struct loaded *loaded, const struct keeping *keeping,
                     struct kept_tree *tree, struct err *err) must_check;
