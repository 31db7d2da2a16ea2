/*
 * The record of a live run: the changes between the trees of its start and end, as far as they count. Git moves objects
 * and branches from file to file, also while the user works elsewhere. What it moved, and did not change, does not count.
 */
#pragma once

#include "workspace/record.h"

struct live {
    const char *directory; /* of the content store */
    const char *workspace;
    const struct tree *start, *end;
};

/* Saves the changes as `before` and `after`. Returns how many are shown to a person. */
int live_save_changes(const struct live *live, int folder_fd, uint64_t *ret_shown, struct err *err)
    must_check;
