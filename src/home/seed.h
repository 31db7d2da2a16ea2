/*
 * Folders of the host's that are seen inside as they are, and can be written there: what is written goes to a layer beside
 * the private home, in its folder of bawn's own. So the kernel keeps the host's files from being changed, no sandbox reaches
 * the layer but through it, and what one run downloaded is there for the next.
 */
#pragma once

#include "home/home.h"
#include "plan/amendments.h"

/* Gives every seed of the plan its layer, as an amendment. Where there can be none a seed shows nothing, and why is told if it was asked for. */
int seed_begin(struct arena *arena, const struct plan *plan, struct amendments *amendments,
               const struct session *session, struct home *home, struct err *err) must_check;

/* Those of a session that had its own. */
int seed_remove(const struct session *session, struct err *err) must_check;
