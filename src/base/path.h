/*
 * Paths as text: absolute, without "//", "." or "..", and without a trailing slash, "/" itself excepted. Nothing here
 * looks at a file system.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

enum { PATH_LONGEST = 4096 }; /* as the kernel's PATH_MAX, with the NUL */

bool path_is_beneath(const char *path, const char *ancestor); /* true for equal paths too */
bool path_is_inside(const char *path,
                    const char *directory); /* false for equal paths; both may be relative */
/* As strcmp, but '/' sorts before every other character, so that a directory comes just before its entries. */
int path_compare(const char *a, const char *b);
size_t path_depth(const char *path);                    /* "/" is 0, "/usr/bin" is 2 */
size_t path_parent_size(const char *path, size_t size); /* "/a/b" → 2, "/a" → 1, "/" → 0 */
/* The next folder of a list such as PATH's, which may be "", and moves on behind it; NULL at its end, and of a list that is NULL. */
const char *path_next_folder(struct arena *arena, const char **list);

const char *path_name(const char *path); /* the last component; "" for "/"; the whole of "a" */

char *path_join(struct arena *arena, const char *directory, const char *relative);
char *path_parent(struct arena *arena, const char *path);

/* The same place beneath another directory: "/a/b/c" from "/a/b" to "/x" is "/x/c". NULL if it does not lie beneath `from`. */
char *path_moved(struct arena *arena, const char *path, const char *from, const char *to);

/* Joins a name to a path relative to the top of a tree. The top itself is "". */
char *path_beneath_top(struct arena *arena, const char *directory, const char *name);

/* Removes "//", "/./" and trailing "/" or "/."; resolves ".." against what stands before it. Takes relative to base. */
char *path_clean(struct arena *arena, const char *base, const char *path);
