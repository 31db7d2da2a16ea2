/* Files in a private home, as a person sees them. */
#pragma once

#include "base/style.h"
#include "home/home.h"
#include "home/left.h"
#include "session/load.h"

/* One line a file, each after as many spaces: its path and its size. At most `most` of them. */
void add_left(struct buf *out, const struct style *style, const struct left *left, size_t most,
              size_t indent);

/* "~/a b" as it can be typed: in quotes where the shell would change it. NULL where it cannot be typed safely. */
const char *left_typed(struct arena *arena, const char *path);
