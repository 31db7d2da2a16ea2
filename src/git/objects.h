/*
 * Whether a repository already had some content before a moment: an object of that name lies in its store, loose or in a
 * pack's index, in a file that the kernel says has not been changed since. That time nobody can set back, so a program
 * that writes the store cannot make a new object pass for an old one. Repositories with other names than SHA-1: no.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

bool git_had_blob(const char *git_dir, const char *bytes, size_t size, struct timespec before);
