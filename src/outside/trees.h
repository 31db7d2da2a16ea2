/* Where commands inside can write: the trees of this run and of others. */
#pragma once

#include <sys/stat.h>

#include "base/vec.h"
#include "outside/outside.h"

struct written_tree {
    const char *path;   /* without links */
    const char *record; /* the file that lists it, where an earlier run could write; NULL: another tree */
    bool is_public;     /* everybody can write there, but no run needs to */
    bool is_there;      /* then these two name it, by whatever path it is reached */
    dev_t device;
    ino_t inode;
};

struct trees {
    VEC(struct written_tree) list;
};

int trees_gather(const struct outside *outside, struct arena *arena, struct trees *ret_trees, struct err *err)
    must_check;

/* The path has no links. "/" is not added: with full access no tree is told apart. */
void trees_add(struct trees *trees, struct arena *arena, const char *path, bool is_public);
void trees_free(struct trees *trees);
#define auto_trees __attribute__((cleanup(trees_free)))

/* The tree that this path lies in, or NULL. `status` is that of the file or directory at the path; NULL: there is none. */
const struct written_tree *trees_find(const struct trees *trees, const char *path, const struct stat *status);

/* A tree that lies in this directory, or NULL. */
const struct written_tree *trees_inside(const struct trees *trees, const char *directory);
