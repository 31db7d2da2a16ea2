/* How a file of the workspace stands to what was written down of it: what judging and replacing share. */
#pragma once

#include "workspace/settle.h"

bool standing_same_kind(const struct entry *a, const struct entry *b);
bool standing_same_looks(const struct entry *a, const struct entry *b);

/*
 * Is it the file that was written down? Looks only, reads nothing; a directory is judged by what lies in it. An inode of
 * zero is any: what has just been made is not written down anew.
 */
bool standing_looks_the_same(const struct entry *now, const struct entry *expected);

/* Is it what it shall become? */
bool standing_is_settled(const struct entry *now, const struct change *change);
