/*
 * What a sandbox wrote of a repository's index, and of the list of commits at which its history was cut off: git stops at
 * the first thing in them that it does not understand, and the user would be left without `git status`.
 */
#pragma once

#include "workspace/outcome.h"

/* Why the index at a path must not go, or NULL. `objects` is the repository's store ("….git/objects/"). */
const char *staged_why_index(struct outcome *outcome, const struct change *change, const char *objects);

/* The same for "….git/shallow". */
const char *staged_why_shallow(struct outcome *outcome, const struct change *change, const char *objects);
