/* What happened in a session, in a few lines: who ran, how long, what it was refused, what it changed, what is flagged. */
#pragma once

#include "cli/patch.h"

void story_add(const struct patch *patch, const struct choice *choice, const struct record *record,
               const change_list *changes, struct buf *out);
