/*
 * In the place of an overlay, where none can be: a copy of the tree that the command writes to, in the session's folder. What
 * differs from the host's at the end is what the session changed, as with an overlay's upper layer.
 *
 *   start        the host's tree, as it was copied
 *   copy         the copy
 *   copy-start   the copy's tree at the start: what has its inode and times at the end need not be read, and what is there
 *                but not in `start` is bawn's own
 */
#pragma once

#include "workspace/upper.h"

struct copy_size {
    uint64_t files, bytes;
};

/* Makes the copy of `workspace`/`prefix`. Fails, and leaves nothing, where it would not be whole or be larger than that. */
int copy_make(const struct upper_request *request, uint64_t most_bytes, struct copy_size *ret_copied,
              struct err *err) must_check;

/* Is there a copy in the session's folder, and is it whole? Where it is not, nothing was run in it. */
bool copy_is_there(int folder_fd);
bool copy_is_whole(int folder_fd);

/*
 * Something lies at that path on the host by now that was not copied, and will be shown over the copy: a place for it, which
 * is no change of the session's. Fine where there is something.
 */
int copy_add_place(int folder_fd, const char *path, bool is_directory, struct err *err) must_check;

/* As upper_read and upper_remove. */
int copy_read(const struct upper_request *request, struct err *err) must_check;
int copy_remove(int folder_fd, struct progress *progress, struct err *err) must_check;
