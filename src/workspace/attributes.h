/* The extended attributes of a file, as far as they can be restored. */
#pragma once

#include "base/arena.h"
#include "workspace/tree.h"

/* Fills in `attributes` of the entry from an open file. */
void attributes_read(int fd, struct arena *arena, struct entry *entry);

/* Has the open file any? Says so too if they cannot be listed. Allocates no memory. */
bool attributes_are_there(int fd);
