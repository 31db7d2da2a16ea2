/*
 * Changes files in a directory that a sandbox wrote. No symlink is followed. A file in the way is moved aside, never written. A
 * new file gets its final name only when it is complete.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/err.h"

#define TEMPORARY_PREFIX ".bawn-"
enum { TEMPORARY_SIZE = sizeof(TEMPORARY_PREFIX) + 16 };

/* Makes a directory below `top_fd`, and its parents, through no symlink. Returns its descriptor, open for reading. */
int files_make_directory(int top_fd, const char *path, bool moves_aside, struct err *err) must_check;

/* Makes an empty file with an unused name. Returns its descriptor. */
int files_make_temporary(int directory_fd, char ret_name[TEMPORARY_SIZE], struct err *err) must_check;

/* Renames the temporary file to its name. A directory of that name is moved aside. */
int files_place(int directory_fd, const char *temporary, const char *name, struct err *err) must_check;

/* Removes temporary files that a killed bawn left. */
void files_sweep(int directory_fd);

/* Replaces a small file of bawn's own atomically. */
int files_replace(int directory_fd, const char *name, const void *bytes, size_t size, struct err *err)
    must_check;
