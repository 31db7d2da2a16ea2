/* The variables that a program outside gets. */
#pragma once

#include "outside/judge.h"

/* The list, ended by NULL, with the facts in it. It lies in the arena. */
const char *const *environment_for(const struct outside *outside, const struct trees *trees,
                                   struct arena *arena, const struct judged_path *path,
                                   const char *const *facts);
