/* What the parts of step.h share: step.c finds, makes and adjusts, step_name.c gives names and takes them. */
#pragma once

#include "workspace/step.h"

/* It is not done, and said so. Returns 0. */
int step_leave_alone(struct step *step, const char *why);

/* Returns -1 with *err filled from errno. */
int step_failed(const struct step *step, struct err *err);

/* Is what was made aside the very file that bears another name? */
bool step_is_same_inode(const struct step *step, const char *name);
