/* What is said of decoys that were opened: live, and at the end of the run. */
#pragma once

#include "cli/attend.h"

/* For struct tripwires, with the attendance as its context: by the desktop's means or the user's own. */
void tripped_notify(void *context, const struct fired *fired);

/* "~/.ssh/id_rsa was opened 3 times by `cat …`", printable. */
const char *tripped_sentence(struct arena *arena, const char *home, const struct fired *fired);
