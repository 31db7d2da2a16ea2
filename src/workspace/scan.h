/*
 * Walks a tree and writes down what it holds. A file whose size, times and inode are those of an earlier walk is taken to
 * be the same file and is never read, unless its file system is one whose times do not tell; the others are listed as
 * fresh. Reads, and changes nothing.
 *
 * The tree may be hostile: links are not followed, names are any bytes, and entries, depth and time are bounded.
 */
#pragma once

#include "base/progress.h"
#include "workspace/skips.h"
#include "workspace/tree.h"

struct scan_request {
    const struct tree *before; /* an earlier walk; may be NULL */
    const struct skips *skips; /* may be NULL */
    const struct tree *start;  /* of this session: what it left out is left out again; may be NULL */
    size_t most_entries;       /* 0: two millions */
    struct timespec deadline;  /* of CLOCK_MONOTONIC; zero: none */
    struct progress *progress; /* may be NULL */
};

struct scan {
    struct tree tree;
    VEC(size_t) fresh;   /* entries whose content is not known yet */
    VEC(size_t) doubted; /* entries that look as the earlier walk had them, where looks do not tell */
    size_t differing;    /* entries that the earlier walk has otherwise or not at all */
    bool was_denied;     /* something could not be looked at for want of permission */
};

/*
 * Opens a workspace through no symlink, and returns its descriptor. Its path had no symlink when the session began. A
 * symlink that is there now leads elsewhere; another run that may write the directories above could have made it.
 */
int workspace_open(const char *path, struct err *err);

int scan_tree(int top_fd, const struct scan_request *request, struct scan *ret_scan, struct err *err)
    must_check;

/*
 * The same of the files that `start` has, and of no others: for a tree in which there are more by now than can be looked
 * through. Entries are borrowed from `start` where they are unchanged.
 */
int scan_known(int top_fd, const struct scan_request *request, struct scan *ret_scan, struct err *err)
    must_check;

/* What stat() says, as an entry without content. */
struct stat;
struct entry scan_entry_of(const struct stat *status, const char *path);

/* One file's entry, without content. Returns 1, or 0 where there is none. */
int scan_entry(int top_fd, const char *path, struct arena *arena, struct entry *ret_entry, struct err *err)
    must_check;

/* The extended attributes of an open file that a restore can set, as an entry has them. */
void scan_attributes(int fd, struct arena *arena, struct entry *entry);

/* Is the file still the one that was written down: the same inode, size and times? */
bool scan_is_same_file(const struct entry *a, const struct entry *b);

/* And has it not been written since that walk, as far as its times tell? */
bool scan_is_unchanged(const struct tree *before, const struct entry *was, const struct entry *now);

void scan_free(struct scan *scan);
#define auto_scan __attribute__((cleanup(scan_free)))
