/*
 * Which directories of an earlier walk are as they were. Most of a large workspace is the same from one walk to the next, so
 * this is most of what a walk costs. One thread for each processor looks.
 *
 * A directory is unchanged if all of this holds:
 *
 *   1. Inode, mode, owner and times are those of the earlier walk, and it was not changed shortly before that walk. The kernel
 *      stamps a directory with the time whenever a name in it is made, removed or replaced, and no program can set that time.
 *      So the names in it are those of the earlier walk, and it need not be listed.
 *   2. Every name in it had an entry (`is_whole`). Sockets have none, and they must be found.
 *   3. Every file in it is unchanged, too: each is looked at. Directories in it are judged by themselves. At the start of a
 *      run, git's loose objects are not looked at: they are taken over from the earlier walk (`trusts_objects`).
 *   4. It lies on the file system of the top, and that is one that keeps times as finely as 1. needs.
 *
 * Whatever is not known to be unchanged is looked at in the ordinary way, by the walk.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "workspace/scan.h"

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
