#include "workspace/step_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/beneath.h"
#include "workspace/gitdir.h"
#include "workspace/scan.h"
#include "workspace/standing.h"

int step_leave_alone(struct step *step, const char *why)
{
    vec_push(&step->settled->kept,
             (struct kept){arena_str(step->settlement->arena, step->change->path), why});
    return 0;
}

int step_failed(const struct step *step, struct err *err)
{
    return err_sys(err, errno, "cannot change %s", step->change->path);
}

/* Sets the attributes of an entry and removes others of the kind that entries have. */
static int set_attributes(int fd, const struct entry *entry, bool is_new)
{
    struct arena arena = {0};
    struct entry now = {.attributes = ""};
    if (!is_new)
        scan_attributes(fd, &arena, &now);
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

/* Owner, mode, times: in this order, because a change of owner takes set-id bits away. */
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

/* Does the open file hold what shall be there? */
static bool has_content(const struct step *step, int fd)
{
    const struct entry *to = step->change->after;
    struct blob_id id;
    struct err ignored;
    return fd >= 0 && store_identify(step->settlement->store, fd, to->size, true, &id, &ignored) == 0 &&
           memcmp(id.bytes, to->blob.bytes, sizeof(id.bytes)) == 0;
}

/*
 * A second name for the file that this one shall be the same as, if that is there as it should be. What only looks like it may be
 * the user's own, which was never to get another name.
 */
static bool link_aside(const struct step *step)
{
    const struct entry *to = step->change->after;
    struct entry first;
    struct err ignored;
    struct stat read, named;
    const char *name;
    if (!*to->linked_to ||
        scan_entry(step->settlement->top_fd, to->linked_to, step->settlement->arena, &first, &ignored) <= 0 ||
        !standing_same_looks(&first, to))
        return false;
    auto_fd int parent = open_parent_beneath(step->settlement->top_fd, to->linked_to, &name);
    auto_fd int fd = parent < 0 || !S_ISREG(to->mode)
                         ? -1
                         : openat(parent, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (parent < 0 || (S_ISREG(to->mode) && !has_content(step, fd)) ||
        linkat(parent, name, step->parent_fd, step->aside, 0) < 0)
        return false;
    bool is_that = fd < 0 || (fstat(fd, &read) == 0 &&
                              fstatat(step->parent_fd, step->aside, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
                              read.st_ino == named.st_ino && read.st_dev == named.st_dev);
    if (!is_that)
        step_remove_aside(step);
    return is_that;
}

static int make_file_aside(const struct step *step, struct err *err)
{
    const struct entry *to = step->change->after;
    auto_fd int fd =
        openat(step->parent_fd, step->aside, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return step_failed(step, err);
    if (store_write_out(step->settlement->store, &to->blob, fd, err) < 0)
        return -1;
    if (set_attributes(fd, to, true) < 0 || set_looks(fd, to) < 0)
        return step_failed(step, err);
    return 0;
}

/* Makes what shall be there under another name. Directories get their looks when all that lies in them is done. */
static int make_aside(const struct step *step, struct err *err)
{
    const struct entry *to = step->change->after;
    int fd = step->parent_fd;
    if (link_aside(step))
        return 0;
    switch (to->mode & S_IFMT) {
    case S_IFREG:
        return make_file_aside(step, err);
    case S_IFDIR:
        return mkdirat(fd, step->aside, 0700) < 0 ? step_failed(step, err) : 0;
    case S_IFLNK: {
        struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, to->modified};
        if (symlinkat(to->target, fd, step->aside) < 0 ||
            utimensat(fd, step->aside, times, AT_SYMLINK_NOFOLLOW) < 0)
            return step_failed(step, err);
        return 0;
    }
    default: {
        struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, to->modified};
        if (mknodat(fd, step->aside, (to->mode & S_IFMT) | 0600, (dev_t)to->size) < 0 ||
            fchmodat(fd, step->aside, to->mode & 07777, AT_SYMLINK_NOFOLLOW) < 0 ||
            utimensat(fd, step->aside, times, AT_SYMLINK_NOFOLLOW) < 0)
            return step_failed(step, err);
        return 0;
    }
    }
}

void step_remove_aside(const struct step *step)
{
    if (unlinkat(step->parent_fd, step->aside, 0) < 0 && errno == EISDIR)
        unlinkat(step->parent_fd, step->aside, AT_REMOVEDIR);
}

int step_adjust(struct step *step, struct err *err)
{
    const struct entry *to = step->change->after;
    if (!S_ISREG(to->mode) && !S_ISDIR(to->mode)) {
        struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, to->modified};
        if ((!S_ISLNK(to->mode) &&
             fchmodat(step->parent_fd, step->name, to->mode & 07777, AT_SYMLINK_NOFOLLOW) < 0) ||
            utimensat(step->parent_fd, step->name, times, AT_SYMLINK_NOFOLLOW) < 0)
            return step_failed(step, err);
        return 0;
    }
    auto_fd int fd = openat(step->parent_fd, step->name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || set_attributes(fd, to, false) < 0 || set_looks(fd, to) < 0)
        return step_failed(step, err);
    return 0;
}

int step_make(struct step *step, struct err *err)
{
    const struct change *change = step->change;
    /* In place, a file with several names would change under all of them. */
    bool has_names = change->before && !S_ISDIR(change->before->mode) && change->before->links > 1 &&
                     change->after->content != CONTENT_LEFT_OUT;
    bool stays = change->before && standing_same_kind(change->before, change->after) && !has_names &&
                 !(change->what & (CHANGE_CONTENT | CHANGE_TARGET | CHANGE_LINKS));
    if (stays) {
        int adjusted = S_ISDIR(change->after->mode) ? 0 : step_adjust(step, err); /* directories come last */
        step->settled->done += adjusted == 0;
        return adjusted < 0 ? -1 : 1;
    }
    if (S_ISREG(change->after->mode) && change->after->content != CONTENT_STORED)
        return step_leave_alone(step, "its content was not kept"), 1;
    step_remove_aside(step);
    if (make_aside(step, err) < 0) {
        step_remove_aside(step);
        return -1;
    }
    return 0;
}

int step_begin(struct step *step, size_t number, bool has_aside, struct err *err)
{
    const struct settlement *settlement = step->settlement;
    const struct change *change = step->change;
    snprintf(step->aside, sizeof(step->aside), ".bawn-%.32s-%zu", settlement->mark, number);
    step->parent_fd = open_parent_beneath(settlement->top_fd, change->path, &step->name);
    if (step->parent_fd < 0) {
        bool is_missing = errno == ENOENT || errno == ENOTDIR || errno == ELOOP;
        if (is_missing && !change->after)
            return 1;
        if (is_missing)
            return step_leave_alone(step, "the folder that held it is gone"), 1;
        return step_failed(step, err);
    }
    if (git_has_lock(change->path) && strlen(step->name) + sizeof(".lock") <= sizeof(step->lock))
        snprintf(step->lock, sizeof(step->lock), "%s.lock", step->name);
    if (scan_entry(settlement->top_fd, change->path, settlement->arena, &step->now, err) < 0)
        return -1;
    if (settlement->again && !has_aside) {
        if (*step->lock && step_is_same_inode(step, step->lock))
            unlinkat(step->parent_fd, step->lock, 0);
        step_remove_aside(step);
    }
    bool is_directory =
        step->now.path && change->after && S_ISDIR(step->now.mode) && S_ISDIR(change->after->mode);
    if (is_directory || standing_is_settled(&step->now, change))
        return 1; /* a directory's looks come last */
    bool is_linked = change->what & CHANGE_LINKS && step->now.path &&
                     standing_same_kind(&step->now, change->after) &&
                     standing_same_looks(&step->now, change->after);
    if (!is_linked && !standing_looks_the_same(&step->now, change->before))
        return step_leave_alone(step, "it was changed in the meantime"), 1;
    return 0;
}

void step_end(struct step *step)
{
    if (step->parent_fd >= 0)
        close(step->parent_fd);
    step->parent_fd = -1;
}
