/*
 * The upper layer of an overlay, which contains what a session under review wrote. It is read into the trees `before`
 * and `after`. The lower tree, the workspace itself, is looked at only where the upper layer has something.
 *
 * The upper layer was written by a sandbox. It is read once, into the content store. Everything that is shown, judged
 * or applied later is what was read then. Its owners and set-id bits are ignored.
 */
#pragma once

#include "base/progress.h"
#include "workspace/tree.h"

struct upper_request {
    const char *directory; /* of the content store */
    const char *workspace;
    const char *prefix;        /* the directory in the workspace that the overlay covered; "" for all of it */
    int folder_fd;             /* of the session; `before` and `after` are saved there */
    struct timespec began;     /* a file that the host has changed since is a conflict */
    struct progress *progress; /* may be NULL */
    bool (*hides)(void *context, const char *path); /* a copy leaves this path out, with all below; or NULL */
    void *context;
};

/* Is the upper layer empty? Then there is nothing to read. */
bool upper_is_untouched(int folder_fd);

/* Reads the upper layer and saves both trees. */
int upper_read(const struct upper_request *request, struct err *err) must_check;

/* Returns the entry as it may be applied: owner and set-id bits come from `lower`, the workspace's entry, or NULL. */
struct entry upper_made_harmless(struct entry entry, const struct entry *lower);

/* Removes the layers of the overlay. */
int upper_remove(int folder_fd, struct progress *progress, struct err *err) must_check;
