/* `bawn log --report FILE`: a session as one page of HTML. */
#pragma once

#include "cli/world.h"
#include "session/load.h"

/* "-" is standard output. Returns the exit status, after having said what is wrong. */
int report_write(const struct world *world, struct loaded *loaded, int session_fd, const char *session,
                 const char *file);
