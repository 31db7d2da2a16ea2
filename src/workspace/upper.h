/*
 * What a session wrote under review: the upper layer of an overlay, read into the two states before and after. The lower
 * tree, the workspace itself, is looked at only where the upper says that something changed.
 *
 * The upper is the work of a sandbox: it is read once, into the store, and whatever is shown, judged or applied later is
 * what was read then. No owner and no set-id bit of it counts.
 */
#pragma once

#include "base/progress.h"
#include "workspace/tree.h"

struct upper_request {
    const char *directory; /* of the store */
    const char *workspace;
    const char *prefix;    /* the directory in the workspace that the overlay was over; "" for all of it */
    int folder_fd;         /* of the session; `before` and `after` are written there */
    struct timespec began; /* what the host has changed since is a conflict */
    struct progress *progress; /* may be NULL */
};

/* Has nothing been written at all? Then there is nothing to read. */
bool upper_is_untouched(int folder_fd);

/* Reads the upper and writes both states down. */
int upper_read(const struct upper_request *request, struct err *err) must_check;

/* What of an entry may come out: owners and set-id bits are the host's alone. `lower` is what it has there, or NULL. */
struct entry upper_made_harmless(struct entry entry, const struct entry *lower);

/* Removes the overlay's folders. */
int upper_remove(int folder_fd, struct progress *progress, struct err *err) must_check;
