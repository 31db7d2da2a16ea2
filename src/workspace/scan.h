/*
 * Walks a directory tree and makes a struct tree of it. A file with the same size, times and inode as in an earlier
 * walk counts as unchanged and is not read. The exception are file systems whose times do not change with each write
 * (`times_tell` in kernel/beneath.h). Other files are listed as fresh. Nothing is written. Directories in which nothing
 * has changed are not even listed (unchanged.c).
 *
 * The tree may be hostile: symlinks are not followed, names are any bytes, and entries, depth and time are bounded.
 */
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "base/progress.h"
#include "base/vec.h"
#include "content/store.h"
#include "workspace/tree.h"

/*
 * Directories that a snapshot leaves out because a build or a package manager makes them again. The list has one name
 * a line. "target if Cargo.toml" applies only if that file lies beside the directory. A user's own list replaces the
 * built-in one.
 */

struct skip {
    const char *name, *beside; /* beside: NULL if there is no condition */
};

struct skips {
    VEC(struct skip) list;
};

/* Parses a list; NULL: the built-in one. A line that begins with # is a comment. Invalid lines are ignored. */
void skips_parse(struct arena *arena, const char *text, struct skips *ret_skips);

/* Is a directory of that name left out? `has_name` tells which names lie beside it. */
typedef bool skips_has_name(void *context, const char *name);
bool skips_match(const struct skips *skips, const char *name, skips_has_name *has_name, void *context);

void skips_free(struct skips *skips);

/* --- one look at a file, and whether two looks saw the same (look.c) --- */

/* Makes an entry without content from the result of stat(). */
struct stat;
struct entry look_entry(const struct stat *status, const char *path);

/* Are inode, mode, owner, size and times the same? */
bool look_is_same(const struct entry *a, const struct entry *b);

/* Is the file the same, and was it not written since that walk, as far as its times tell? */
bool look_is_unchanged(const struct tree *before, const struct entry *was, const struct entry *now);

/* Is the last change of the file from before that walk? */
bool look_is_from_before(const struct tree *walked, const struct entry *entry);

/* Do two directories differ in their times at most? Their attributes are not compared. `was` may be NULL: no. */
bool look_is_retimed(const struct entry *was, const struct entry *now);

/* --- the walk --- */

enum { SCAN_MOST_ENTRIES = 2000000 };

struct scan_request {
    const struct tree *before; /* an earlier walk, of which the new tree borrows strings; may be NULL */
    const struct skips *skips; /* may be NULL */
    const struct tree *
        start; /* the first walk of this session: directories that it left out are left out again; may be NULL */
    size_t most_entries;       /* 0: SCAN_MOST_ENTRIES */
    struct timespec deadline;  /* of CLOCK_MONOTONIC; zero: none */
    struct progress *progress; /* may be NULL */
    bool trusts_objects; /* git's objects are as they were where no name in their directory has changed */
};

struct scan {
    struct tree tree;
    VEC(size_t) fresh;   /* entries whose content must be read */
    VEC(size_t) doubted; /* entries that look unchanged, on a file system where that proves nothing */
    size_t differing;    /* entries that are not the same in the earlier walk, without those of `retimed` */
    VEC(const char *) retimed; /* paths of directories that differ in their times alone */
    bool was_denied;           /* something could not be read because of its permissions */
};

/*
 * Opens a workspace through no symlink, and returns its descriptor. Its path had no symlink when the session began. A
 * symlink that is there now leads elsewhere; another run that may write the directories above could have made it.
 */
int workspace_open(const char *path, struct err *err);

int scan_tree(int top_fd, const struct scan_request *request, struct scan *ret_scan, struct err *err)
    must_check;

/* Makes the entry of one path, without content. Returns 1, or 0 if the path does not exist. */
int scan_entry(int top_fd, const char *path, struct arena *arena, struct entry *ret_entry, struct err *err)
    must_check;

/* Takes over what the earlier walk knew of an unchanged file. */
void scan_inherit(struct arena *arena, const struct entry *from, struct entry *entry);

void scan_free(struct scan *scan);
#define auto_scan __attribute__((cleanup(scan_free)))

/* --- a walk over the paths of an earlier one (known.c) --- */

/*
 * As scan_tree, but looks only at the paths of `start`: for a tree that has become too large to walk. Unchanged
 * entries are borrowed from `start`.
 */
int scan_known(int top_fd, const struct scan_request *request, struct scan *ret_scan, struct err *err)
    must_check;

/* --- which directories of an earlier walk are as they were (unchanged.c) --- */

struct unchanged {
    uint32_t *next;    /* for each entry of the earlier tree: the entry behind it and everything beneath it */
    bool *directories; /* for each entry: is it an unchanged directory? */
};

/* Looks at the earlier tree of the request. Without one, nothing is unchanged. */
void unchanged_find(int top_fd, const struct scan_request *request, struct unchanged *ret_unchanged);

static inline bool unchanged_has(const struct unchanged *unchanged, size_t entry)
{
    return unchanged->directories && unchanged->directories[entry];
}

void unchanged_free(struct unchanged *unchanged);

/* --- stream.c --- */

/*
 * Visits the files of a tree one by one, in walk order, and stores their contents. A scan keeps every entry; this keeps the
 * names of the directories on the way to the current file, and the hard links. So the size of the tree does not matter,
 * and a child with little memory can read it.
 */

/* The entry and its strings are valid during the call. */
typedef int stream_visit(void *context, const struct entry *entry, struct err *err);

struct stream_request {
    int top_fd;
    const char
        *start; /* the directory in the tree whose content is visited; "" for the top. Paths begin with it */
    struct store *store;
    stream_visit *visit;
    void *context;
    struct progress *progress; /* may be NULL */
};

/* Stops at the first visit that fails. Entries that cannot be read have CONTENT_LEFT_OUT. */
int stream_tree(const struct stream_request *request, struct err *err) must_check;
