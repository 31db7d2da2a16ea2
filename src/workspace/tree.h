/*
 * What a directory tree holds, written down: one entry a file, in the order of a walk (a directory before what lies in
 * it, names by their bytes). Contents are not here but in the store, under the hash that an entry names.
 *
 * A tree may be a part of one: only the entries that matter. It is kept in a file of bawn's own, which is nevertheless
 * read as if somebody else had written it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/vec.h"
#include "content/store.h"

enum content {
    CONTENT_NONE,     /* not a regular file */
    CONTENT_STORED,   /* `blob` */
    CONTENT_LEFT_OUT, /* too large, or it could not be read; of a directory: it was not looked into */
    CONTENT_KINDS,
};

struct entry {
    const char *path; /* relative to the tree's top, any bytes */
    uint32_t mode;    /* kind and permissions, as stat() has them */
    uint32_t links, uid, gid;
    uint64_t size; /* of a regular file; the number of a character device */
    uint64_t inode, device;
    uint64_t allocated; /* bytes on disk, which a file with holes has fewer of; not kept */
    struct timespec modified, changed;
    const char *target;     /* of a symbolic link; "" for everything else */
    const char *linked_to;  /* the first path of the tree that is the same file; "" where this is it */
    const char *attributes; /* extended ones: NAME NUL SIZE (4 bytes) VALUE, sorted by name */
    uint32_t attributes_size;
    enum content content;
    struct blob_id blob;
};

struct tree {
    struct arena arena; /* of whatever is not in `mapped` */
    VEC(struct entry) entries;
    struct timespec taken;     /* when the walk began */
    bool is_partial;           /* what is new was not looked for; not kept */
    VEC(const char *) sockets; /* paths of those that it met, which are no entries and are not kept */
    void *mapped;              /* the file that it was read from */
    size_t mapped_size;
};

/* The order of a walk: below zero where a comes first. */
int tree_order(const char *a, const char *b);

/* The entry of a path, or NULL. */
const struct entry *tree_find(const struct tree *tree, const char *path);

/* A directory that was not looked into. */
bool tree_is_skipped(const struct entry *entry);

/* Is this a relative path without "", "." and ".." in it, of a length that the kernel takes? */
bool tree_path_is_sound(const char *path);

/* Writes the tree to a new file that takes the place of `name` when it is whole. */
int tree_save(const struct tree *tree, int folder_fd, const char *name, struct err *err) must_check;

/* Returns 1, or 0 where there is no such file. */
int tree_load(int folder_fd, const char *name, struct tree *ret_tree, struct err *err) must_check;

/* Another entry for a path, or none. */
struct revision {
    const char *path;
    const struct entry *entry; /* NULL: none */
};

typedef VEC(struct revision) revision_list;

/* Changes some entries of a tree in a file; `revisions` are in the order of a walk. */
int tree_revise(int folder_fd, const char *name, const revision_list *revisions, struct err *err) must_check;

/* A tree from bytes, which must stay as long as the tree does. */
int tree_parse(const char *bytes, size_t size, struct tree *ret_tree, struct err *err) must_check;

/* Every path lies in that directory from now on; "" changes nothing. */
void tree_add_prefix(struct arena *arena, const char *prefix, struct tree *tree);

void tree_free(struct tree *tree);
#define auto_tree __attribute__((cleanup(tree_free)))
