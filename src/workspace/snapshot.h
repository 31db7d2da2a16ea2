/*
 * A snapshot: the tree of a workspace, with its contents in the content store. The last tree of each workspace is the
 * cache for the next snapshot, so that an unchanged file is not read again.
 *
 *   DIRECTORY/trees/HASH   the last tree of a workspace; HASH is that of its path
 *   SESSION/start          the tree at the start of a session: the cache itself, by a hard link, if nothing differs but …
 *   SESSION/start-times    … directories in their times. They are here. Directories get new times all the time (a stub of
 *                          bawn's is enough), and a large tree is not written for that.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/vec.h"
#include "content/store.h"
#include "workspace/scan.h"

/* A file that bawn itself has put into the workspace, for as long as some run needs it. No snapshot has it. */
struct own_file {
    const char *path;       /* absolute */
    uint64_t device, inode; /* 0: any */
};

typedef VEC(struct own_file) own_file_list;

struct snapshot_request {
    const char *directory; /* of the content store, absolute */
    const char *workspace; /* absolute, without symlinks */
    const struct skips *skips;
    uint64_t most_bytes;        /* that may be added to the store; the largest files are left out */
    uint64_t most_milliseconds; /* 0: no limit */
    size_t most_entries;        /* 0: two million */
    const struct tree *
        start; /* the tree at the start of this session, of which the new one borrows strings; NULL: this is the start */
    int folder_fd;             /* the session's folder, in which the tree is saved, or -1 … */
    const char *name;          /* … and the name of the tree there */
    struct progress *progress; /* may be NULL */
    /* Adds the files of bawn's own. Called before the walk and after it: other runs make and remove theirs meanwhile. */
    void (*add_own_files)(void *context, own_file_list *files); /* may be NULL */
    void *context;
};

/*
 * Fails with ETIME or E2BIG if the workspace is too large. With `start` it then looks only at the paths of the start,
 * and the tree is marked as partial.
 */
int snapshot_take(const struct snapshot_request *request, struct tree *ret_tree, struct err *err) must_check;

/*
 * The tree at the start of a session, as snapshot_take has saved it in the session's folder. Returns 1, or 0 if there is
 * none.
 */
int snapshot_load_start(int folder_fd, struct tree *ret_tree, struct err *err) must_check;
void snapshot_forget_start(int folder_fd);

/* Opens the folder of the last trees, and makes it if it is missing. snapshot_name: the name of a workspace's tree in it. */
enum { SNAPSHOT_NAME_SIZE = 2 * BLAKE2B_SIZE + 1 };
int snapshot_open_trees(const struct store *store, struct err *err) must_check;

/* The same, and while the descriptor is open no prune removes contents that a tree will name when it is saved. */
int snapshot_hold_trees(const struct store *store, struct err *err) must_check;

void snapshot_name(const char *workspace, char ret_name[SNAPSHOT_NAME_SIZE]);

/* --- contents.c --- */

/* Reads contents and attributes of the fresh entries of a walk, and stores them. */
int snapshot_contents(struct store *store, int top_fd, const struct scan_request *request, struct scan *scan,
                      uint64_t most_bytes, struct err *err) must_check;

/* Reads content and attributes of one file, and stores them. Others see the content only after store_flush. */
int snapshot_one(struct store *store, int top_fd, struct arena *arena, struct entry *entry, bool *was_denied,
                 struct err *err) must_check;
