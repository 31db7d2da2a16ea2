/* Long output on a terminal goes through the user's pager. */
#pragma once

#include <sys/types.h>

#include "cli/world.h"

struct pager {
    pid_t pid;          /* -1: none */
    struct world world; /* the caller's, with the pager as its output */
};

/* Where standard output is no terminal, or there is no pager, the world is the caller's as it is. */
void pager_begin(const struct world *world, struct pager *ret_pager);

/* Waits until the person has seen enough. */
void pager_end(struct pager *pager);
