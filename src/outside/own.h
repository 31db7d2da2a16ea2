/* Programs of bawn's own, which start outside without walls: bawn itself, bawn-egress, bawn-vault and others. */
#pragma once

#include "kernel/fsview.h"
#include "plan/operations.h"

/*
 * Fails if the command could put another program in the place of one of them: of the file, of a link on the way to it, or in a directory where it
 * is looked for, whether or not it is there now. `own` is the path of bawn, and the operations have the amendments of the run.
 */
int own_programs_check(const char *own, struct fsview *fs, const struct operations *operations,
                       struct err *err) must_check;
