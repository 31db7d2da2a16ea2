/*
 * What a person gave to the running command. A tree that can be written is searched at the end as those of the plan are; what git on the host
 * obeys in it could only be read, and what the host itself changed there is the user's own doing.
 */
#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "base/path.h"
#include "hold/hold.h"
#include "kernel/beneath.h"

int hold_may_give(const struct hold *hold, const char *path, struct err *err)
{
    vec_each (const struct frozen, frozen, &hold->frozen) {
        vec_each (const struct file_content, content, &frozen->before) {
            const char *alias = NULL;
            if (S_ISREG(content->mode) && content->links > 1 &&
                alias_find_in(hold, content, path, &alias, err) < 0)
                return -1;
            if (alias)
                return err_set(err, "%.500s is the same file (a hard link) as %s, which is frozen", alias,
                               content->path);
        }
    }
    return 0;
}

void hold_give(struct hold *hold, const struct given_tree *given)
{
    struct given_tree own = *given;
    own.path = arena_str(hold->arena, given->path);
    vec_push(&hold->given, own);
    if (own.is_written)
        amend_give(hold->amendments, own.path, true);
}

void hold_give_hidden(struct hold *hold, const char *path)
{
    amend_hide(hold->amendments, arena_str(hold->arena, path));
}

void hold_give_kept(struct hold *hold, const struct kept_place *kept)
{
    struct kept_place own = *kept;
    own.path = arena_str(hold->arena, kept->path);
    vec_push(&hold->kept, own);
    amend_give(hold->amendments, own.path, false);
}

bool hold_was_given(const struct hold *hold, const char *path)
{
    vec_each (const struct given_tree, given, &hold->given) {
        if (given->is_written && path_is_beneath(path, given->path))
            return true;
    }
    return false;
}

bool hold_was_kept(const struct hold *hold, const char *path)
{
    vec_each (const struct kept_place, kept, &hold->kept) {
        struct stat status;
        if (!path_is_beneath(path, kept->path))
            continue;
        auto_fd int fd = open_absolute(kept->path, O_PATH);
        if (fd >= 0 && fstat(fd, &status) == 0 && status.st_dev == kept->device &&
            status.st_ino == kept->inode)
            return true;
    }
    return false;
}
