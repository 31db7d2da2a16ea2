/*
 * Changes in a directory that a sandbox wrote: planted links lead nowhere, whatever stands in the way is moved aside and
 * never written through, and a file is made under a name of its own before it gets the one that others read.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/err.h"

#define TEMPORARY_PREFIX ".bawn-"
enum { TEMPORARY_SIZE = sizeof(TEMPORARY_PREFIX) + 16 };

/* A directory below top, made with all above it, through no link. Returns its fd, open for reading. */
int files_make_directory(int top_fd, const char *path, bool moves_aside, struct err *err) must_check;

/* A new empty file under a name that nobody knows yet. Returns its fd. */
int files_make_temporary(int directory_fd, char ret_name[TEMPORARY_SIZE], struct err *err) must_check;

/* Gives the temporary file its name. A directory that has the name is moved aside. */
int files_place(int directory_fd, const char *temporary, const char *name, struct err *err) must_check;

/* Removes what a killed bawn left under a temporary name. */
void files_sweep(int directory_fd);

/* Replaces a small file of bawn's own by another, or leaves it as it was. */
int files_replace(int directory_fd, const char *name, const void *bytes, size_t size, struct err *err)
    must_check;
