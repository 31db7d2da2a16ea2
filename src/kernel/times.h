/* What the times of a file are worth. */
#pragma once

#include <stdbool.h>

/*
 * Does the kernel stamp a file whose bytes are changed through a mapping? Where files are nothing but memory it does not: their
 * pages are mapped for writing as soon as they are read, and it never hears of the write.
 */
bool times_tell(int fd);
