/* A walk over the paths of an earlier one. */
#pragma once

#include "workspace/scan.h"

/*
 * As scan_tree, but looks only at the paths of `start`: for a tree that has become too large to walk. Unchanged
 * entries are borrowed from `start`.
 */
int scan_known(int top_fd, const struct scan_request *request, struct scan *ret_scan, struct err *err)
    must_check;
