/*
 * A tree: one entry for each file of a directory tree. Entries are in walk order: a directory comes before its
 * content, and names are sorted by their bytes. The bytes of files are in the content store, under the hash that an
 * entry names.
 *
 * A tree may be partial and have only the entries that differ from another tree. Trees are saved in bawn's own
 * folders, but they are parsed as untrusted input.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "content/store.h"

enum content {
    CONTENT_NONE,     /* not a regular file */
    CONTENT_STORED,   /* in the content store, as `blob` */
    CONTENT_LEFT_OUT, /* too large or unreadable; of a directory: nobody looked into it */
    CONTENT_KINDS,
};

struct entry {
    const char *path; /* relative to the top of the tree, any bytes */
    uint32_t mode;    /* file type and permissions, as in struct stat */
    uint32_t links, uid, gid;
    uint64_t size; /* of a regular file; of a character device, its number */
    uint64_t inode, device;
    uint64_t allocated; /* bytes on the disk, fewer than `size` if the file has holes; not saved */
    struct timespec modified, changed;
    const char *target;     /* of a symlink; "" for other files */
    const char *linked_to;  /* the first path in the tree with the same inode; "" if this is the first */
    const char *attributes; /* extended attributes: NAME NUL SIZE (4 bytes) VALUE, sorted by name */
    uint32_t attributes_size;
    enum content content;
    bool is_whole; /* of a directory: the walk made an entry for every name in it */
    struct blob_id blob;
};

struct tree {
    struct arena arena; /* of the strings that are not in `mapped` */
    VEC(struct entry) entries;
    struct timespec taken;     /* when the walk began */
    bool is_partial;           /* new files were not looked for; not saved */
    VEC(const char *) sockets; /* paths of sockets, which have no entry; not saved */
    void *mapped;              /* the file that the tree was loaded from */
    size_t mapped_size;
};

/* Compares two paths in walk order: below zero if `a` comes first. */
int tree_order(const char *a, const char *b);

/* For bsearch() by path, in arrays of entries or changes: `path` is the first member of both. */
int tree_by_path(const void *path, const void *element);

/* Returns the entry of a path, or NULL. */
const struct entry *tree_find(const struct tree *tree, const char *path);

/* Is this a directory that nobody looked into? */
bool tree_is_skipped(const struct entry *entry);

/* Is this a relative path without "", "." and "..", and short enough for the kernel? */
bool tree_path_is_sound(const char *path);

/* Saves the tree as `name`. A crash leaves the old file or the new one. */
int tree_save(const struct tree *tree, int folder_fd, const char *name, struct err *err) must_check;

/*
 * Writes a tree entry by entry, in walk order, so that a tree that is larger than memory can be saved. The tree gets its
 * name in tree_writer_finish. tree_writer_close removes what was not finished.
 */
struct tree_writer {
    int folder_fd, fd;
    const char *name;
    uint64_t count;
    struct buf waiting; /* entries that are not written yet */
    bool has_written, is_finished;
};
int tree_writer_begin(struct tree_writer *writer, int folder_fd, const char *name, struct err *err)
    must_check;
int tree_writer_add(struct tree_writer *writer, const struct entry *entry, struct err *err) must_check;
int tree_writer_finish(struct tree_writer *writer, struct timespec taken, struct err *err) must_check;
void tree_writer_close(struct tree_writer *writer);

/* Returns 1, or 0 if the file does not exist. */
int tree_load(int folder_fd, const char *name, struct tree *ret_tree, struct err *err) must_check;

/* Another entry for a path. */
struct revision {
    const char *path;
    const struct entry *entry; /* NULL: the path gets no entry */
};

typedef VEC(struct revision) revision_list;

/* Changes entries of a saved tree. `revisions` are in walk order. */
int tree_revise(int folder_fd, const char *name, const revision_list *revisions, struct err *err) must_check;

/* Parses a tree from bytes, which must outlive the tree. */
int tree_parse(const char *bytes, size_t size, struct tree *ret_tree, struct err *err) must_check;

/* Puts a directory in front of every path. Does nothing if `prefix` is "". */
void tree_add_prefix(struct arena *arena, const char *prefix, struct tree *tree);

void tree_free(struct tree *tree);
#define auto_tree __attribute__((cleanup(tree_free)))
