/* What is said to a person at the end of a run. */
#pragma once

#include "cli/world.h"
#include "supervise/network.h"

/* What could not be reached, and the one line that would allow it. Said at a terminal only: in a pipe bawn adds no byte. */
void say_refused(const struct world *world, const struct network *network);
