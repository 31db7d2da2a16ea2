/* What a plan has to know of the machine that it is made for. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kernel/cgroup.h"
#include "plan/walls.h"

struct machine {
    uint64_t memory;            /* in bytes */
    bool is_root;               /* the caller is this machine's root */
    struct cgroup_place cgroup; /* where a control group can be made, and which limits it would hold */
    wall_set lacking;           /* of the walls that were asked about: those that cannot be raised here */
};

/* The real one. Only what is asked about is tried, so that a run that gives nothing up pays for nothing. */
void machine_look(wall_set asked, struct machine *ret_machine);
