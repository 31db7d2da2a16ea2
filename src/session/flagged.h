/* The end of a run: the user decides about new content in flagged files, and is told what else the run left. */
#pragma once

#include "hold/flags.h"
#include "session/caller.h"

/* `may_ask`: the command ended by itself, and a person may be there. Returns how many files are held aside. */
size_t flagged_settle(const struct caller *caller, struct flags *flags, bool keep_all, bool may_ask);

/* New programs, links out of the workspace and the like. */
void flagged_say_sightings(const struct caller *caller, const struct flags *flags);
