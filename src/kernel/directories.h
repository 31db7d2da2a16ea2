/* Directories: bawn's own on the host, which only the user can open, and the entries of any directory. */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/map.h"
#include "base/progress.h"

/* Makes the directory and its missing parents. The path is absolute, and may contain the user's own symlinks. */
int directories_make(const char *path, struct err *err) must_check;

/* The path without the symlinks of its directories that exist. What is missing at its end stays as it is. */
const char *directories_resolve(struct arena *arena, const char *path);

/* Opens the directory for reading, and makes it first if it is missing. */
int directories_open_made(const char *path, struct err *err) must_check;

/*
 * The directories in it have nothing to do with each other, and many are made and removed: ext4 then places them apart. Without a journal, ext4
 * looks at every inode that was removed nearby in the last minutes before it makes another. Other file systems are left as they are.
 */
void directories_scatter(int directory_fd);

/* Makes the directory below an open one, through no symlink. Returns its descriptor (O_PATH), or -1 with errno. */
int directories_make_beneath(int top_fd, const char *path);

/* The rights that an owner needs to look into a directory. A directory that nobody may write stays so. */
enum { DIRECTORY_LOOKS = S_IRUSR | S_IXUSR };

/* Gives the owner the right to read, change and search the directory, if one of the rights that are needed is missing. */
int directories_allow_owner(int path_fd, mode_t needed);

/*
 * The same for a directory that its owner cannot read or search, by absolute path, through no symlink. Returns whether it was
 * closed.
 */
bool directories_reopen(const char *path);

/* Opens a directory for reading, through no symlink, after giving its owner the right. */
int directories_open_up(int parent_fd, const char *name, mode_t needed);

/* A stream of an open directory, from its beginning; the caller keeps the descriptor. NULL with errno. */
DIR *directories_list(int directory_fd);

/* The same, but the stream owns the descriptor, which is also closed on failure. NULL with errno; -1 gives NULL. */
DIR *directories_take(int directory_fd);

/* The next entry except "." and "..". NULL at the end and on a read error; only an error sets *trouble, to its errno. */
const struct dirent *directories_next(DIR *directory, int *trouble);

/* Is it a readable directory without entries? */
bool directories_is_empty(int parent_fd, const char *name);

/* Removes a tree of bawn's own that a sandbox wrote: any depth, any mode, no symlink followed. It may be missing. */
int remove_tree(int parent_fd, const char *name, struct err *err) must_check;
int remove_tree_telling(int parent_fd, const char *name, struct progress *progress, struct err *err)
    must_check;

/*
 * The names of a directory, read at once. A policy asks about hundreds of names in few directories, most of them missing, so
 * that reading the directory once is cheaper.
 */
struct listing {
    struct map types; /* name → its DT_…, as a pointer to a byte */
};

/*
 * Reads the names of an open directory. Returns false if a lookup could give another answer than the listing: the directory is
 * large, cannot be searched, or ignores case.
 */
bool listing_read(int directory_fd, struct arena *arena, struct listing *ret_listing);
void listing_free(struct listing *listing);

/* The DT_… of a name; DT_UNKNOWN: the file must be looked at; -1: there is no such name. */
int listing_type(const struct listing *listing, const char *name);
