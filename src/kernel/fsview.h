/*
 * The file system as the planner sees it: everything below one root directory, read-only.
 *
 * All paths are absolute from that root, which is "/" in a real run and a made-up tree in the golden tests. This module follows
 * symlinks itself, one component at a time, so that every link on the way is known and none leads out of the root. Lookups are
 * remembered: one run sees one state of each path.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
    FILE_UNKNOWN, /* it may not be looked at; it may exist */
};

struct fs_link {
    const char *path;   /* the link's own path; its directory has no further links */
    const char *target; /* as written in the link */
    const struct fs_link *next;
};

/* Where a path leads. */
struct fs_place {
    const char *real;    /* the path without links; of a missing path, as far as it could be followed */
    enum file_kind kind; /* of the real place; never FILE_LINK */
    const struct fs_link *links; /* the links on the way, in order */
};

struct fsview {
    int root_fd;
    struct arena *arena;
    struct map places;         /* path → struct known */
    const struct err *trouble; /* the first failure of the machine, see fs_check() */
    uint64_t looked_up; /* bytes of the paths that were resolved so far: what it cost, for who bounds it */
};

void fs_free(struct fsview *fs);

/*
 * Could everything be looked at so far? If memory or descriptors ran out, or a disk failed, a file may seem missing or
 * different. No conclusion from that may be used.
 */
int fs_check(const struct fsview *fs, struct err *err) must_check;

typedef VEC(const char *) fs_names;

/* Fails only for a loop of links (or more than 40), or a path that is too long. */
int fs_resolve(struct fsview *fs, const char *path, const struct fs_place **ret_place, struct err *err)
    must_check;

/* The kind of the file itself: a link is FILE_LINK. The directories on the way must not be links. */
enum file_kind fs_kind(struct fsview *fs, const char *path);

/* What the link at this path says, as written; NULL where there is none that can be read. The directories on the way must not be links. */
const char *fs_link_target(struct fsview *fs, const char *path);

/*
 * Reads a regular file through no link, at most `most` bytes. Returns 1 with the content, 0 if the path does not exist, -1 for
 * everything else.
 */
int fs_read(struct fsview *fs, const char *path, size_t most, char **ret_bytes, size_t *ret_size,
            struct err *err) must_check;

/* May everybody write the file, or put another one in its place? */
bool fs_is_open_to_all(struct fsview *fs, const char *path);

void fs_sort_names(fs_names *names);
bool fs_has_name(const fs_names *names, const char *name);

/* Is it a directory, reached through no link, that may be listed? */
bool fs_can_list(struct fsview *fs, const char *path);

/* The names in a directory, sorted, without "." and "..", at most `most`; none if it cannot be listed. */
void fs_list(struct fsview *fs, const char *path, size_t most, fs_names *ret_names);

/* The names of the links in a directory, in no order, among its first `most` entries. Returns whether these are all. */
bool fs_list_links(struct fsview *fs, const char *path, size_t most, fs_names *ret_names);
