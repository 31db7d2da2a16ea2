/*
 * A copy of the tree that the command writes to, in the session's folder: for machines on which no overlay works. The
 * difference between the copy and the host's tree at the end is what the session changed.
 *
 *   start        the host's tree when it was copied
 *   copy         the copy
 *   copy-start   the tree of the copy. An entry that is still the same at the end need not be read. A path that is in it
 *                and not in `start` was made by bawn
 *   copy-hidden  paths that the copy lacks because they are hidden, each with a NUL. What the command made there is no change
 */
#pragma once

#include "workspace/upper.h"

struct copy_size {
    uint64_t files, bytes;
};

/*
 * Makes the copy of `workspace`/`prefix`. If the copy would be incomplete or larger than `most_bytes`, it fails and
 * removes the copy.
 */
int copy_make(const struct upper_request *request, uint64_t most_bytes, struct copy_size *ret_size,
              struct err *err) must_check;

/* Is there a copy in the session's folder? Is it complete? Nothing has run in an incomplete one. */
bool copy_is_there(int folder_fd);
bool copy_is_whole(int folder_fd);

/*
 * Makes a file with this text, or a directory, at a path that the host has by now and that may be mounted over the copy. It does not
 * count as a change of the session. Does nothing if the path exists.
 */
int copy_add_place(int folder_fd, const char *path, bool is_directory, const char *text, struct err *err)
    must_check;

/* As upper_read. */
int copy_read(const struct upper_request *request, struct err *err) must_check;

/*
 * What a session keeps aside while it runs: its copy, and the layers of its overlay wherever they are. A bawn that was killed
 * may leave any of them, whole or in part. Removing them again and again is harmless.
 */
bool kept_aside_is_there(int folder_fd);
int kept_aside_remove(int folder_fd, struct progress *progress, struct err *err) must_check;
