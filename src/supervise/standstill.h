/*
 * Brings everything inside to a standstill, from outside: while a pin is down nothing inside shall use that. The control group is frozen where
 * the sandbox has one. Elsewhere each process gets SIGSTOP, parents first, so that none sees its child stop, and process 1 before all of
 * them, so that it reports nothing; they go on in the opposite order. A process that was stopped before stays so.
 *
 * By signals this is no wall: a process that runs can continue another one, and a pass that finds none running ends the search. What resists
 * wins ten seconds: then the run is ended (supervise/pins.c). If bawn is killed meanwhile, the kernel kills process 1 with it.
 */
#pragma once

#include <stdbool.h>

#include "kernel/children.h"
#include "launch/launch.h"

struct standstill {
    bool is_on, is_by_cgroup;
    process_list stopped; /* in the order in which they were */
};

void standstill_begin(struct standstill *standstill, const struct launched *launched);
void standstill_end(struct standstill *standstill, const struct launched *launched);
