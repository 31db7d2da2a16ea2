/*
 * The file system as the planner sees it: everything beneath one root directory, read and never changed.
 *
 * All paths are absolute as seen from that root, which is "/" for a real run and a made-up tree in the golden tests.
 * Links are followed by this module itself, one component at a time, so that every link on the way is known and none
 * leads out of the root. What was looked up once is remembered: one run sees one state of each path.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"

enum file_kind {
    FILE_MISSING,
    FILE_REGULAR,
    FILE_DIRECTORY,
    FILE_LINK,
    FILE_SOCKET,
    FILE_OTHER,
    FILE_UNKNOWN, /* it may not be looked at: that is not the same as not being there */
};

struct fs_link {
    const char *path;   /* where the link lies: its directory holds no further links */
    const char *target; /* as written in it */
    const struct fs_link *next;
};

/* Where a path leads. */
struct fs_place {
    const char *real;    /* the path without links; for a missing one, as far as it could be followed */
    enum file_kind kind; /* of the real place; never FILE_LINK */
    const struct fs_link *links; /* those on the way, first one first */
};

struct fsview {
    int root_fd;
    struct arena *arena;
    struct map places;         /* path → what is known of it */
    const struct err *trouble; /* the first time that the machine let a look down, see fs_check() */
};

void fs_free(struct fsview *fs);

/*
 * Could everything be looked at that was asked for so far? Where memory or descriptors ran out, or a disk did not answer, a file
 * seems to be missing, unreadable or another than it is, and nothing that was concluded from that may be acted upon.
 */
int fs_check(const struct fsview *fs, struct err *err) must_check;

typedef VEC(const char *) fs_names;

/* Fails only for a loop of links (or more than 40 on the way), or a path that is too long. */
int fs_resolve(struct fsview *fs, const char *path, const struct fs_place **ret_place, struct err *err)
    must_check;

/* The kind of the file itself: a link is FILE_LINK. The directory part must hold no links. */
enum file_kind fs_kind(struct fsview *fs, const char *path);

/*
 * The content of a regular file that is reached through no link whatsoever, at most `most` bytes. Returns 1 with the
 * content, 0 where there is no such path, -1 for everything else.
 */
int fs_read(struct fsview *fs, const char *path, size_t most, char **ret_bytes, size_t *ret_size,
            struct err *err) must_check;

void fs_sort_names(fs_names *names);
bool fs_has_name(const fs_names *names, const char *name);

/* Is there a directory here, reached through no link, that may be listed? */
bool fs_can_list(struct fsview *fs, const char *path);

/* Names in a directory, sorted, without "." and "..", at most `most`; none where it cannot be listed. */
void fs_list(struct fsview *fs, const char *path, size_t most, fs_names *ret_names);
