/* What a session changed in the workspace, in short: how many files, which of them would run on the host. */
#pragma once

#include "report/summary.h"
#include "session/load.h"

/* Reads what was written down at the end of the run. */
void changed_find(const struct loaded *loaded, int session_fd, struct changed *changed);
void changed_free(struct changed *changed);
