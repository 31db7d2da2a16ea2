/*
 * Where a path leads, one name after the other, with every link on the way. A program that git runs through links can be exchanged
 * at each of them. So all of them are wanted, and the end also where nothing is there: it could be made.
 */
#pragma once

#include "git/repo.h"

enum { GIT_TRAIL_MOST_LINKS = 40 }; /* as the kernel's own limit */

struct git_trail {
    git_paths links;     /* the path of each link; their directories have no links */
    const char *end;     /* without links; of a loop, as far as it could be followed */
    enum file_kind kind; /* of the end */
};

/*
 * Follows a path as the kernel does: ".." behind a link leaves the directory that the link leads to. A relative path begins in `from`,
 * which has no links. The caller frees the links.
 */
void git_trail_follow(struct fsview *fs, const char *from, const char *path, struct git_trail *ret_trail);
