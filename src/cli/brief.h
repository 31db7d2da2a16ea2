/* What an agent is told about where it is: that denials are deliberate, what it may do, and how to ask. */
#pragma once

#include "cli/args.h"
#include "session/load.h"

void brief_add(const struct loaded *loaded, bool is_kept_aside, struct buf *out);
