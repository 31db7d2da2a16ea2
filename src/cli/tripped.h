/* What is said of decoys that were opened. */
#pragma once

#include "supervise/tripwires.h"

/* "~/.ssh/id_rsa was opened 3 times by `cat …`", printable. */
const char *tripped_sentence(struct arena *arena, const char *home, const struct fired *fired);
