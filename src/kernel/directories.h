/* Directories: bawn's own on the host, made for the user alone, and what lies in any. */
#pragma once

#include <dirent.h>
#include <stdbool.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/map.h"
#include "base/progress.h"

/* Makes the directory and every missing one above it. The path is absolute, and may lead through the user's own links. */
int directories_make(const char *path, struct err *err) must_check;

/* The path without the symlinks of its directories that exist. What is missing at its end stays as it is. */
const char *directories_resolve(struct arena *arena, const char *path);

/* Opens the directory for reading, and makes it first if it is missing. */
int directories_open_made(const char *path, struct err *err) must_check;

/* Makes the directory below an open one, through no link. Returns its descriptor (O_PATH), or -1 with errno. */
int directories_make_beneath(int top_fd, const char *path);

/* Where a directory's mode forbids its owner to read, change or search it, it no longer does. */
int directories_allow_owner(int path_fd);

/* The same for one that cannot be read or searched, by an absolute path and through no link. Returns whether it was closed. */
bool directories_reopen(const char *path);

/* Opens a directory for reading, through no link, and allows its owner that first. */
int directories_open_up(int parent_fd, const char *name);

/* The entries of an open directory, from its beginning; the descriptor stays the caller's. NULL with errno. */
DIR *directories_list(int directory_fd);

/* The same, but the descriptor becomes the stream's, and is closed where there is none. NULL with errno; -1 gives NULL. */
DIR *directories_take(int directory_fd);

/*
 * The next entry, "." and ".." left out. NULL at the end, and where the directory cannot be read any further: then, and only
 * then, trouble is the errno.
 */
const struct dirent *directories_next(DIR *directory, int *trouble);

/* Is it a directory that can be read, with nothing in it? */
bool directories_is_empty(int parent_fd, const char *name);

/* Removes a tree of bawn's own that a sandbox has filled: any depth, any mode, no link followed. A missing one is no error. */
int remove_tree(int parent_fd, const char *name, struct err *err) must_check;
int remove_tree_telling(int parent_fd, const char *name, struct progress *progress, struct err *err)
    must_check;

/*
 * The names of a directory, read at once. A policy asks about hundreds of names in few directories, most of them missing:
 * reading the directory answers them all for the price of a few questions.
 */
struct listing {
    struct map types; /* name → its DT_…, as a pointer to a byte */
};

/*
 * Reads the names of an open directory. Returns false where the answers could differ from those of the kernel: a
 * directory that is large, may not be searched, or that does not tell names apart by their case.
 */
bool listing_read(int directory_fd, struct arena *arena, struct listing *ret_listing);
void listing_free(struct listing *listing);

/* The DT_… of a name; DT_UNKNOWN where only a look at the file tells; -1 where there is no such name. */
int listing_type(const struct listing *listing, const char *name);
