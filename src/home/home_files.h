/* What runs have left in a private home, seen from outside: nothing is followed, nothing is run, nothing is changed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/vec.h"

struct home_file {
    const char *path; /* with the home as "/"; any bytes */
    uint64_t size;
    struct timespec changed;
};

struct home_files {
    struct arena *arena;
    struct timespec since; /* only what was made at this time or later */
    bool hidden_too;       /* names that begin with a dot: the state of programs, as a rule */
    bool is_cut;           /* there is more than was looked at */
    VEC(struct home_file) list;
};

/* Regular files, the newest first. Looks at 20,000 names at most. */
void home_files_find(int home_fd, struct home_files *files);
void home_files_free(struct home_files *files);

/*
 * Copies a regular file of the home to a new file, which nobody may execute: a program that comes out of a sandbox runs
 * outside only if a person says so. An existing file is not replaced.
 */
int home_files_fetch(int home_fd, const char *path, int directory_fd, const char *name, struct err *err)
    must_check;
