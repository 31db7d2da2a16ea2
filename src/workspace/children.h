/*
 * What lies in one directory: its names, and a look at each. And many directories at once, ahead of a walk (ahead.c).
 */
#pragma once

#include <sys/stat.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"
#include "workspace/scan.h"

struct child {
    size_t name_at; /* offset in the names of the directory */
    const char *name;
    struct stat status;
    const char *target;      /* of a symlink */
    bool is_gone, is_denied; /* is_denied: it exists, but its directory may not be searched */
};

struct children {
    struct buf names;
    VEC(struct child) list;
};

enum { CHILDREN_LISTING_SIZE = 64 * 1024 };

/*
 * Lists the names of an open directory, in the order of the kernel, and stops once there are more than `most`. `listing` has
 * CHILDREN_LISTING_SIZE bytes for the kernel to fill. Returns -1 with errno.
 */
int children_list(int fd, char *listing, size_t most, struct children *children) must_check;

/* Looks at one child. An error of the machine fails; a file that is gone, or that may not be looked at, is marked. */
int children_look(int fd, struct child *child, const char *path, struct arena *arena, struct err *err)
    must_check;

/* Where a symlink leads to; "" if that cannot be read. */
const char *children_target(int fd, const char *name, struct arena *arena);

/* Sorts by name, which children_has() needs (a skips_has_name, whose context is the children). */
void children_sort(struct children *children);
bool children_has(void *context, const char *name);

void children_free(struct children *children);
#define auto_children __attribute__((cleanup(children_free)))

/* --- ahead.c --- */

struct ahead {
    struct map directories; /* path → struct ahead_directory */
    struct arena paths;
};

/* Looks into the directories of a tree of which no earlier walk is known. Otherwise nothing is known ahead. */
void ahead_look(int top_fd, const struct scan_request *request, struct ahead *ret_ahead);

/*
 * Takes what was found in the directory: whole, sorted, and the caller's from then on; the targets of symlinks are in its arena. Returns
 * false if it was not looked into, or if something there needs a second look.
 */
bool ahead_take(struct ahead *ahead, const char *path, struct arena *arena, struct children *ret_children);

void ahead_free(struct ahead *ahead);
