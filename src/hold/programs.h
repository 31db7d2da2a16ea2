/*
 * Programs that are new in a workspace, outside folders in which builds put theirs (`artifacts` rules), and files that got a set-id bit.
 * They stay, as nothing runs them by itself; they are named, since somebody may.
 */
#pragma once

#include "hold/flags.h"

/* Adds one sighting for all of each. */
void programs_look(struct flags *flags, const char *workspace, const struct tree *start,
                   const struct tree *end);
