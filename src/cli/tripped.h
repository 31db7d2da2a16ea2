/* What is said of decoys that were opened: live, and at the end of the run. */
#pragma once

#include "cli/attend.h"

/* For struct tripwires, with the attendance as its context: by the desktop's means or the user's own. */
void tripped_notify(void *context, const struct fired *fired);

void say_tripped(const struct attendance *attendance);
