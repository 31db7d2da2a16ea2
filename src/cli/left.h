/* Files in a private home, as a person sees them. */
#pragma once

#include "cli/load.h"
#include "cli/style.h"
#include "home/home.h"
#include "home/left.h"

/* One line a file: its path, its size, when it was changed. At most `most` of them. */
void add_left(struct buf *out, const struct style *style, const struct left *left, size_t most);

/* After a run: which files it left new, and how to fetch one. Silent where there is none. */
void say_left(const struct world *world, const struct loaded *loaded, const struct home *home);

/* "~/a b" as it can be typed: in quotes where the shell would change it. NULL where it cannot be typed safely. */
const char *left_typed(struct arena *arena, const char *path);
