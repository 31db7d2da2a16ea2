/*
 * The versions of a path that a repository had at the tips of its branches when a command started. git is asked for
 * commits and trees, and may answer what it likes: each answer must have the hash that was asked for, beginning with those
 * that were noted before the command ran.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/map.h"
#include "git/refs.h"

/*
 * Asks git, in a sandbox of its own: `git cat-file --batch` in the work tree, with these lines as its input. The output is
 * bounded by the callee. Returns 0 on success.
 */
typedef int versions_ask(void *context, const char *work_tree, const struct buf *input,
                         struct buf *ret_output);

struct versions {
    struct arena *arena;
    versions_ask *ask; /* NULL: nobody can be asked, and no version is known */
    void *context;
    git_hashes tips;
    struct map objects; /* hash → what it holds, verified; an empty text where git has none */
};

/* Notes the tips of one more git directory, as they were before that time. */
void versions_begin(struct versions *versions, struct arena *arena, const char *git_dir,
                    struct timespec before);

/* Was this the content of the path, relative to the work tree, at one of the tips? */
bool versions_include(struct versions *versions, const char *work_tree, const char *path, const char *bytes,
                      size_t size);
void versions_free(struct versions *versions);
