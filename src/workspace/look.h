/* What one look at a file says, and whether two looks saw the same. */
#pragma once

#include <stdbool.h>

#include "workspace/tree.h"

/* Makes an entry without content from the result of stat(). */
struct stat;
struct entry look_entry(const struct stat *status, const char *path);

/* Are inode, mode, owner, size and times the same? */
bool look_is_same(const struct entry *a, const struct entry *b);

/* Is the file the same, and was it not written since that walk, as far as its times tell? */
bool look_is_unchanged(const struct tree *before, const struct entry *was, const struct entry *now);

/* Is the last change of the file from before that walk? */
bool look_is_from_before(const struct tree *walked, const struct entry *entry);

/* Do two directories differ in their times at most? Their attributes are not compared. `was` may be NULL: no. */
bool look_is_retimed(const struct entry *was, const struct entry *now);
