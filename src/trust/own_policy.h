/* The user's own policy file, to which a rule can be added. */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"

/*
 * Adds a line at the end, unless it is there; everything else stays as it is, byte by byte. A link is followed: people
 * keep such files elsewhere. Written aside and renamed, so that a crash leaves the old file or the new one.
 */
int own_policy_add(struct arena *arena, const char *path, const char *line, struct err *err) must_check;
