#include "workspace/step.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/timespec.h"
#include "git/repo.h"
#include "kernel/beneath.h"
#include "workspace/attributes.h"
#include "workspace/judge.h"
#include "workspace/scan.h"

static int leave_alone(struct step *step, const char *why)
{
    vec_push(&step->replaced->left_alone,
             (struct left_alone){arena_str(step->replacement->arena, step->change->path), why});
    return 0;
}

static int failed(const struct step *step, struct err *err)
{
    return err_sys(err, errno, "cannot change %s", step->change->path);
}

/* Sets the extended attributes of an entry, and removes others that an entry could have. */
static int set_attributes(int fd, const struct entry *entry, bool is_new)
{
    struct arena arena = {0};
    struct entry now = {.attributes = ""};
    if (!is_new)
        attributes_read(fd, &arena, &now);
    int result = 0;
    for (const char *at = now.attributes, *end = at + now.attributes_size; at < end;) {
        uint32_t size;
        const char *name = at;
        memcpy(&size, name + strlen(name) + 1, sizeof(size));
        at = name + strlen(name) + 1 + sizeof(size) + size;
        if (fremovexattr(fd, name) < 0)
            result = -1;
    }
    for (const char *at = entry->attributes, *end = at + entry->attributes_size; result == 0 && at < end;) {
        size_t name_size = strnlen(at, (size_t)(end - at)), left = (size_t)(end - at) - name_size;
        uint32_t size;
        if (left < 1 + sizeof(size))
            break;
        memcpy(&size, at + name_size + 1, sizeof(size));
        if (left - 1 - sizeof(size) < size)
            break;
        const char *value = at + name_size + 1 + sizeof(size);
        result = fsetxattr(fd, at, value, size, 0);
        at = value + size;
    }
    arena_free(&arena);
    return result;
}

/* Owner, mode, times, in this order: a change of owner clears the set-id bits. */
static int set_looks(int fd, const struct entry *entry)
{
    struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, entry->modified};
    struct stat status;
    if (fstat(fd, &status) < 0)
        return -1;
    if ((status.st_uid != entry->uid || status.st_gid != entry->gid) &&
        fchown(fd, entry->uid, entry->gid) < 0 && errno != EPERM && errno != EINVAL)
        return -1;
    return fchmod(fd, entry->mode & 07777) < 0 || futimens(fd, times) < 0 ? -1 : 0;
}

/* Does the open file have the content that shall be there? */
static bool has_content(const struct step *step, int fd)
{
    const struct entry *to = step->change->after;
    struct err ignored;
    return fd >= 0 && store_is_same(step->replacement->store, fd, to->size, true, &to->blob, &ignored) == 1;
}

/*
 * Makes a hard link of the file that this path shall be the same as, if that file is as it should be. A file that
 * only looks like it may be the user's own, and must not get another name.
 */
static bool link_temporary(const struct step *step)
{
    const struct entry *to = step->change->after;
    struct entry first;
    struct err ignored;
    struct stat read, named;
    const char *name;
    if (!*to->linked_to ||
        scan_entry(step->replacement->top_fd, to->linked_to, step->replacement->arena, &first, &ignored) <=
            0 ||
        !judge_same_looks(&first, to))
        return false;
    auto_fd int parent = open_parent_beneath(step->replacement->top_fd, to->linked_to, &name);
    auto_fd int fd = parent < 0 || !S_ISREG(to->mode)
                         ? -1
                         : openat(parent, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (parent < 0 || (S_ISREG(to->mode) && !has_content(step, fd)) ||
        linkat(parent, name, step->parent_fd, step->temporary, 0) < 0)
        return false;
    bool is_that = fd < 0 || (fstat(fd, &read) == 0 &&
                              fstatat(step->parent_fd, step->temporary, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
                              read.st_ino == named.st_ino && read.st_dev == named.st_dev);
    if (!is_that)
        step_remove_temporary(step);
    return is_that;
}

static int make_file_temporary(const struct step *step, struct err *err)
{
    const struct entry *to = step->change->after;
    auto_fd int fd =
        openat(step->parent_fd, step->temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return failed(step, err);
    if (store_write_out(step->replacement->store, &to->blob, fd, err) < 0)
        return -1;
    if (set_attributes(fd, to, true) < 0 || set_looks(fd, to) < 0)
        return failed(step, err);
    return 0;
}

/* Makes the new file under its temporary name. Directories get their mode and time later, after all changes in them. */
static int make_temporary(const struct step *step, struct err *err)
{
    const struct entry *to = step->change->after;
    int fd = step->parent_fd;
    if (link_temporary(step))
        return 0;
    switch (to->mode & S_IFMT) {
    case S_IFREG:
        return make_file_temporary(step, err);
    case S_IFDIR:
        return mkdirat(fd, step->temporary, 0700) < 0 ? failed(step, err) : 0;
    case S_IFLNK: {
        struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, to->modified};
        if (symlinkat(to->target, fd, step->temporary) < 0 ||
            utimensat(fd, step->temporary, times, AT_SYMLINK_NOFOLLOW) < 0)
            return failed(step, err);
        return 0;
    }
    default: {
        struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, to->modified};
        if (mknodat(fd, step->temporary, (to->mode & S_IFMT) | 0600, (dev_t)to->size) < 0 ||
            fchmodat(fd, step->temporary, to->mode & 07777, AT_SYMLINK_NOFOLLOW) < 0 ||
            utimensat(fd, step->temporary, times, AT_SYMLINK_NOFOLLOW) < 0)
            return failed(step, err);
        return 0;
    }
    }
}

void step_remove_temporary(const struct step *step)
{
    if (unlinkat(step->parent_fd, step->temporary, 0) < 0 && errno == EISDIR)
        unlinkat(step->parent_fd, step->temporary, AT_REMOVEDIR);
}

int step_adjust(struct step *step, struct err *err)
{
    const struct entry *to = step->change->after;
    if (!S_ISREG(to->mode) && !S_ISDIR(to->mode)) {
        struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, to->modified};
        if ((!S_ISLNK(to->mode) &&
             fchmodat(step->parent_fd, step->name, to->mode & 07777, AT_SYMLINK_NOFOLLOW) < 0) ||
            utimensat(step->parent_fd, step->name, times, AT_SYMLINK_NOFOLLOW) < 0)
            return failed(step, err);
        return 0;
    }
    auto_fd int fd = openat(step->parent_fd, step->name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || set_attributes(fd, to, false) < 0 || set_looks(fd, to) < 0)
        return failed(step, err);
    return 0;
}

int step_make(struct step *step, struct err *err)
{
    const struct change *change = step->change;
    /* A change in place would change the other hard links, too. */
    bool has_names = change->before && !S_ISDIR(change->before->mode) && change->before->links > 1 &&
                     change->after->content != CONTENT_LEFT_OUT;
    bool stays = change->before && judge_same_kind(change->before, change->after) && !has_names &&
                 !(change->what & (CHANGE_CONTENT | CHANGE_TARGET | CHANGE_LINKS));
    if (stays) {
        int adjusted = S_ISDIR(change->after->mode) ? 0 : step_adjust(step, err); /* directories come last */
        step->replaced->done += adjusted == 0;
        return adjusted < 0 ? -1 : 1;
    }
    if (S_ISREG(change->after->mode) && change->after->content != CONTENT_STORED)
        return leave_alone(step, "its content was not kept"), 1;
    step_remove_temporary(step);
    if (make_temporary(step, err) < 0) {
        step_remove_temporary(step);
        return -1;
    }
    return 0;
}

/* --- the name ----------------------------------------------------------------------------------------------------- */

static bool is_same_inode(const struct step *step, const char *name)
{
    struct stat here, made;
    return fstatat(step->parent_fd, name, &here, AT_SYMLINK_NOFOLLOW) == 0 &&
           fstatat(step->parent_fd, step->temporary, &made, AT_SYMLINK_NOFOLLOW) == 0 &&
           here.st_ino == made.st_ino && here.st_dev == made.st_dev;
}

/*
 * Replaces a file under git's own lock. The new file is linked as NAME.lock, which fails if there is a lock. If the
 * old file is still as it was, NAME.lock is renamed to NAME, as git does it. All git processes respect this
 * compare-and-swap. After a crash the temporary name, a hard link of the lock, proves that the lock is bawn's.
 */
static int take_name_locked(struct step *step, struct err *err)
{
    const struct replacement *replacement = step->replacement;
    if (linkat(step->parent_fd, step->temporary, step->parent_fd, step->lock, 0) < 0) {
        bool is_locked = errno == EEXIST;
        if (!is_locked)
            failed(step, err);
        step_remove_temporary(step);
        return is_locked ? leave_alone(step, "git is running there, or left a lock file") : -1;
    }
    struct entry now = {0};
    int found = scan_entry(replacement->top_fd, step->change->path, replacement->arena, &now, err);
    bool is_unchanged = found >= 0 && judge_is_expected(&now, step->now.path ? &step->now : NULL);
    if (is_unchanged && renameat(step->parent_fd, step->lock, step->parent_fd, step->name) < 0)
        found = failed(step, err);
    if (is_unchanged && found >= 0) {
        /* The temporary name is another link of the file now in place. If it stays, the change is not complete. */
        return unlinkat(step->parent_fd, step->temporary, 0) < 0 ? failed(step, err) : 0;
    }
    unlinkat(step->parent_fd, step->lock, 0);
    step_remove_temporary(step);
    return found < 0 ? -1 : leave_alone(step, "it was changed in the meantime");
}

/*
 * After an exchange: does the old file, which now has the temporary name, look as it did when the step began? Inodes
 * are not compared, because on overlayfs a rename changes them. The content of a directory does not matter here.
 */
static bool is_what_was_found(const struct step *step)
{
    struct stat status;
    if (fstatat(step->parent_fd, step->temporary, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return false;
    struct entry old = look_entry(&status, step->now.path);
    return S_ISDIR(old.mode) ? S_ISDIR(step->now.mode)
                             : old.mode == step->now.mode && old.size == step->now.size &&
                                   timespec_is_same(old.modified, step->now.modified);
}

static int exchange(const struct step *step)
{
    return renameat2(step->parent_fd, step->temporary, step->parent_fd, step->name, RENAME_EXCHANGE);
}

/* The user's file was written after the step began: it gets its name back. */
static int give_back(struct step *step, ino_t made, struct err *err)
{
    struct stat status;
    if (exchange(step) < 0)
        return failed(step, err);
    /* Another file was put in place during that exchange: the newest one stays. */
    if (fstatat(step->parent_fd, step->temporary, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        status.st_ino != made && exchange(step) < 0)
        return failed(step, err);
    step_remove_temporary(step);
    return leave_alone(step, "it was changed in the meantime");
}

/* Exchanges new and old file, and removes the old one if it is still the one that was found. */
static int take_place(struct step *step, struct err *err)
{
    struct stat made;
    if (fstatat(step->parent_fd, step->temporary, &made, AT_SYMLINK_NOFOLLOW) < 0)
        return failed(step, err);
    if (exchange(step) < 0) {
        bool has_directory = S_ISDIR(step->now.mode) || S_ISDIR(made.st_mode);
        if (errno == ENOENT) {
            step_remove_temporary(step);
            return leave_alone(step, "it was changed in the meantime");
        }
        /* EINVAL: not every file system can exchange names. */
        if (errno != EINVAL || has_directory ||
            renameat(step->parent_fd, step->temporary, step->parent_fd, step->name) < 0)
            return failed(step, err);
        return 0;
    }
    if (!is_what_was_found(step))
        return give_back(step, made.st_ino, err);
    if (unlinkat(step->parent_fd, step->temporary, S_ISDIR(step->now.mode) ? AT_REMOVEDIR : 0) == 0)
        return 0;
    bool is_full = errno == ENOTEMPTY || errno == EEXIST;
    if (!is_full)
        failed(step, err);
    if (exchange(step) < 0)
        return failed(step, err);
    step_remove_temporary(step);
    return is_full ? leave_alone(step, "the directory still has other files") : -1;
}

int step_take_name(struct step *step, struct err *err)
{
    bool has_directory = step->now.path && (S_ISDIR(step->now.mode) || S_ISDIR(step->change->after->mode));
    if (!has_directory && *step->lock && S_ISREG(step->change->after->mode))
        return take_name_locked(step, err);
    /* rename() does nothing if both names are links of one file. */
    if (!has_directory && is_same_inode(step, step->name)) {
        step_remove_temporary(step);
        return 0;
    }
    if (step->now.path)
        return take_place(step, err);
    if (renameat2(step->parent_fd, step->temporary, step->parent_fd, step->name, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EEXIST)
        return failed(step, err);
    step_remove_temporary(step);
    return leave_alone(step, "something was made there in the meantime");
}

/* The old file is renamed first. Under the temporary name nobody replaces it between the check and the removal. */
int step_remove_old(struct step *step, struct err *err)
{
    bool is_directory = S_ISDIR(step->now.mode);
    const char *name = step->name;
    if (!is_directory &&
        renameat2(step->parent_fd, name, step->parent_fd, step->temporary, RENAME_NOREPLACE) == 0) {
        name = step->temporary;
        if (!is_what_was_found(step)) {
            if (renameat2(step->parent_fd, name, step->parent_fd, step->name, RENAME_NOREPLACE) < 0)
                step_remove_temporary(step); /* a newer file has the name by now */
            return leave_alone(step, "it was changed in the meantime");
        }
    } else if (!is_directory && errno != ENOENT && errno != EEXIST && errno != EINVAL) {
        return failed(step, err);
    }
    if (unlinkat(step->parent_fd, name, is_directory ? AT_REMOVEDIR : 0) == 0 || errno == ENOENT)
        return 0;
    if (errno == ENOTEMPTY || errno == EEXIST)
        return leave_alone(step, "the directory still has other files");
    return failed(step, err);
}

/* --- begin and end ------------------------------------------------------------------------------------------------ */

int step_begin(struct step *step, size_t number, bool has_temporary, struct err *err)
{
    const struct replacement *replacement = step->replacement;
    const struct change *change = step->change;
    snprintf(step->temporary, sizeof(step->temporary), ".bawn-%.32s-%zu", replacement->mark, number);
    step->parent_fd = open_parent_beneath(replacement->top_fd, change->path, &step->name);
    if (step->parent_fd < 0) {
        bool is_missing = errno == ENOENT || errno == ENOTDIR || errno == ELOOP;
        if (is_missing && !change->after)
            return 1;
        if (is_missing)
            return leave_alone(step, "its directory no longer exists"), 1;
        return failed(step, err);
    }
    if (git_has_lock(change->path) && strlen(step->name) + sizeof(".lock") <= sizeof(step->lock))
        snprintf(step->lock, sizeof(step->lock), "%s.lock", step->name);
    if (scan_entry(replacement->top_fd, change->path, replacement->arena, &step->now, err) < 0)
        return -1;
    if (replacement->again && !has_temporary) {
        if (*step->lock && is_same_inode(step, step->lock))
            unlinkat(step->parent_fd, step->lock, 0);
        step_remove_temporary(step);
    }
    bool is_directory =
        step->now.path && change->after && S_ISDIR(step->now.mode) && S_ISDIR(change->after->mode);
    if (is_directory || judge_is_done(&step->now, change))
        return 1; /* a directory gets its mode and time last */
    bool is_linked = change->what & CHANGE_LINKS && step->now.path &&
                     judge_same_kind(&step->now, change->after) &&
                     judge_same_looks(&step->now, change->after);
    if (!is_linked && !judge_is_expected(&step->now, change->before))
        return leave_alone(step, "it was changed in the meantime"), 1;
    return 0;
}

void step_end(struct step *step)
{
    if (step->parent_fd >= 0)
        close(step->parent_fd);
    step->parent_fd = -1;
}
