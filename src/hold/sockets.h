/*
 * Sockets of the host that lie in a workspace. Where one was bound by its whole path, the launcher finds it; a relative
 * path, as daemons like to use, says too little. But the snapshot has seen every socket of the workspace.
 */
#pragma once

#include "hold/past.h"
#include "plan/amendments.h"

/* Before the launch: hides those that somebody listens at now. What nobody listens at may be made anew. */
int sockets_hide(struct amendments *amendments, struct arena *arena, const struct past *past, struct err *err)
    must_check;
