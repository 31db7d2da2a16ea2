/* The end of a run: what is new in flagged places is settled with the user, and what was done about it is said. */
#pragma once

#include "cli/world.h"
#include "hold/flags.h"

struct settled_flags {
    size_t held, kept; /* files */
};

/* `may_ask`: the command ended by itself, and a person may be there. */
struct settled_flags settle(const struct world *world, struct flags *flags, bool keep_all, bool may_ask);

/* What else the run left that a person should know of. */
void say_sightings(const struct world *world, const struct flags *flags);
