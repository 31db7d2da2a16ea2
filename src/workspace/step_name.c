#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/timespec.h"
#include "workspace/scan.h"
#include "workspace/standing.h"
#include "workspace/step_parts.h"

bool step_is_same_inode(const struct step *step, const char *name)
{
    struct stat here, aside;
    return fstatat(step->parent_fd, name, &here, AT_SYMLINK_NOFOLLOW) == 0 &&
           fstatat(step->parent_fd, step->aside, &aside, AT_SYMLINK_NOFOLLOW) == 0 &&
           here.st_ino == aside.st_ino && here.st_dev == aside.st_dev;
}

/*
 * Under git's own lock: the new file becomes the lock, if there is none; if the old one is then still what it was, the lock
 * takes its name, as git does it. That is a compare-and-swap that every git respects. The name aside tells after a
 * crash whose lock it is.
 */
static int take_name_locked(struct step *step, struct err *err)
{
    const struct settlement *settlement = step->settlement;
    if (linkat(step->parent_fd, step->aside, step->parent_fd, step->lock, 0) < 0) {
        bool is_held = errno == EEXIST;
        if (!is_held)
            step_failed(step, err);
        step_remove_aside(step);
        return is_held ? step_leave_alone(step, "git is at work there, or a lock of its own is left") : -1;
    }
    struct entry now = {0};
    int found = scan_entry(settlement->top_fd, step->change->path, settlement->arena, &now, err);
    bool is_unchanged = found >= 0 && standing_looks_the_same(&now, step->now.path ? &step->now : NULL);
    if (is_unchanged && renameat(step->parent_fd, step->lock, step->parent_fd, step->name) < 0)
        found = step_failed(step, err);
    if (is_unchanged && found >= 0) {
        /* It is a second name of what is now in place: with it left behind, this would not be done. */
        return unlinkat(step->parent_fd, step->aside, 0) < 0 ? step_failed(step, err) : 0;
    }
    unlinkat(step->parent_fd, step->lock, 0);
    step_remove_aside(step);
    return found < 0 ? -1 : step_leave_alone(step, "it was changed in the meantime");
}

/*
 * Does what bears the name aside look as what was found in the place of the new one? Not by its inode: on an overlay a rename gives
 * it another. A folder's content is another matter.
 */
static bool is_what_was_found(const struct step *step)
{
    struct stat status;
    if (fstatat(step->parent_fd, step->aside, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return false;
    struct entry aside = scan_entry_of(&status, step->now.path);
    return S_ISDIR(aside.mode) ? S_ISDIR(step->now.mode)
                               : aside.mode == step->now.mode && aside.size == step->now.size &&
                                     timespec_is_same(aside.modified, step->now.modified);
}

static int exchange(const struct step *step)
{
    return renameat2(step->parent_fd, step->aside, step->parent_fd, step->name, RENAME_EXCHANGE);
}

/* The one in place has been saved anew since it was looked at: it gets its name back. */
static int give_back(struct step *step, ino_t made, struct err *err)
{
    struct stat status;
    if (exchange(step) < 0)
        return step_failed(step, err);
    /* And once more in that moment: then the latest one stays. */
    if (fstatat(step->parent_fd, step->aside, &status, AT_SYMLINK_NOFOLLOW) == 0 && status.st_ino != made &&
        exchange(step) < 0)
        return step_failed(step, err);
    step_remove_aside(step);
    return step_leave_alone(step, "it was changed in the meantime");
}

/* Something was there: they change places, and the old one goes if it is what was found. */
static int take_place(struct step *step, struct err *err)
{
    struct stat made;
    if (fstatat(step->parent_fd, step->aside, &made, AT_SYMLINK_NOFOLLOW) < 0)
        return step_failed(step, err);
    if (exchange(step) < 0) {
        bool has_directory = S_ISDIR(step->now.mode) || S_ISDIR(made.st_mode);
        if (errno == ENOENT) {
            step_remove_aside(step);
            return step_leave_alone(step, "it was changed in the meantime");
        }
        /* Not every file system can do that. */
        if (errno != EINVAL || has_directory ||
            renameat(step->parent_fd, step->aside, step->parent_fd, step->name) < 0)
            return step_failed(step, err);
        return 0;
    }
    if (!is_what_was_found(step))
        return give_back(step, made.st_ino, err);
    if (unlinkat(step->parent_fd, step->aside, S_ISDIR(step->now.mode) ? AT_REMOVEDIR : 0) == 0)
        return 0;
    bool is_full = errno == ENOTEMPTY || errno == EEXIST;
    if (!is_full)
        step_failed(step, err);
    if (exchange(step) < 0)
        return step_failed(step, err);
    step_remove_aside(step);
    return is_full ? step_leave_alone(step, "the folder still holds something else") : -1;
}

int step_take_name(struct step *step, struct err *err)
{
    bool has_directory = step->now.path && (S_ISDIR(step->now.mode) || S_ISDIR(step->change->after->mode));
    if (!has_directory && *step->lock && S_ISREG(step->change->after->mode))
        return take_name_locked(step, err);
    /* rename() does nothing where both are names of one file. */
    if (!has_directory && step_is_same_inode(step, step->name)) {
        step_remove_aside(step);
        return 0;
    }
    if (step->now.path)
        return take_place(step, err);
    if (renameat2(step->parent_fd, step->aside, step->parent_fd, step->name, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EEXIST)
        return step_failed(step, err);
    step_remove_aside(step);
    return step_leave_alone(step, "something was made there in the meantime");
}

/* It gets another name first, under which it can be seen to be what was found. */
int step_remove_old(struct step *step, struct err *err)
{
    bool is_directory = S_ISDIR(step->now.mode);
    const char *name = step->name;
    if (!is_directory &&
        renameat2(step->parent_fd, name, step->parent_fd, step->aside, RENAME_NOREPLACE) == 0) {
        name = step->aside;
        if (!is_what_was_found(step)) {
            if (renameat2(step->parent_fd, name, step->parent_fd, step->name, RENAME_NOREPLACE) < 0)
                step_remove_aside(step); /* it was saved once more */
            return step_leave_alone(step, "it was changed in the meantime");
        }
    } else if (!is_directory && errno != ENOENT && errno != EEXIST && errno != EINVAL) {
        return step_failed(step, err);
    }
    if (unlinkat(step->parent_fd, name, is_directory ? AT_REMOVEDIR : 0) == 0 || errno == ENOENT)
        return 0;
    if (errno == ENOTEMPTY || errno == EEXIST)
        return step_leave_alone(step, "the folder still holds something else");
    return step_failed(step, err);
}
