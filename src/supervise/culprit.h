/* Who inside has a decoy open, as far as the kernel shows it. */
#pragma once

#include <sys/types.h>

#include "base/arena.h"

/*
 * What a process that has the file or folder open was started with, as one line; NULL where none is seen any more: most
 * are quick. Looks at what descends from the sandbox's process 1 alone, and opens nothing that is theirs.
 */
const char *culprit_find(struct arena *arena, pid_t process_1, const char *path);
