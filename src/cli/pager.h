/* A pager for long output. */
#pragma once

#include <sys/types.h>

#include "cli/world.h"

struct pager {
    pid_t pid;          /* -1: none */
    struct world world; /* the caller's world, with the pager as output */
};

/* If output is no terminal, or there is no pager, the world is unchanged. */
void pager_begin(const struct world *world, struct pager *ret_pager);

/* Waits until the person quits the pager. */
void pager_end(struct pager *pager);
