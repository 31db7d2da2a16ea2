/*
 * Old sessions go, oldest first, where there are too many of them or their journals hold too much. Only those go that do not
 * run and left nothing but their journal: what waits to be applied, can be undone or is held aside keeps its session.
 */
#pragma once

#include <stdint.h>

#include "base/arena.h"

struct retired {
    uint64_t sessions, bytes; /* that went */
};

/* `most_bytes` is of all journals together. */
void sessions_retire(struct arena *arena, int sessions_fd, uint64_t most_bytes, struct retired *ret_retired);
