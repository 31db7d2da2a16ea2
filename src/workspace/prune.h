/*
 * Forgets sessions that are settled and old, and then the contents that no session and no workspace's last snapshot needs.
 * What waits to be applied is never forgotten.
 */
#pragma once

#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"

struct pruned {
    uint64_t sessions, bytes;
};

int prune(const char *store_directory, int sessions_fd, int64_t oldest_seconds, struct pruned *ret_pruned,
          struct err *err) must_check;
