/* Removes a tree of bawn's own that a sandbox has filled: any depth, any mode, no link followed. */
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "base/progress.h"

/* Fine where there is nothing of that name. */
int remove_tree(int parent_fd, const char *name, struct err *err) must_check;
int remove_tree_telling(int parent_fd, const char *name, struct progress *progress, struct err *err)
    must_check;
