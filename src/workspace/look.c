#include "workspace/scan.h"

#include <sys/stat.h>

#include "base/timespec.h"

enum {
    /*
     * The kernel stamps files with the time of its last tick. A file that changed this shortly before a walk may have
     * changed again after it, with the same stamp.
     */
    TICK_NANOSECONDS = 20 * 1000 * 1000,
};

bool look_is_same(const struct entry *a, const struct entry *b)
{
    return a->mode == b->mode && a->size == b->size && a->inode == b->inode && a->uid == b->uid &&
           a->gid == b->gid && timespec_is_same(a->modified, b->modified) &&
           timespec_is_same(a->changed, b->changed);
}

bool look_is_from_before(const struct tree *walked, const struct entry *entry)
{
    return timespec_between(entry->changed, walked->taken) > TICK_NANOSECONDS;
}

bool look_is_unchanged(const struct tree *before, const struct entry *was, const struct entry *now)
{
    return look_is_same(was, now) && look_is_from_before(before, now) &&
           !(S_ISREG(now->mode) && was->content != CONTENT_STORED);
}

struct entry look_entry(const struct stat *status, const char *path)
{
    return (struct entry){
        .path = path,
        .mode = status->st_mode,
        .links = (uint32_t)status->st_nlink,
        .uid = status->st_uid,
        .gid = status->st_gid,
        .size = S_ISREG(status->st_mode)   ? (uint64_t)status->st_size
                : S_ISCHR(status->st_mode) ? status->st_rdev
                                           : 0,
        .allocated = (uint64_t)status->st_blocks * 512,
        .inode = status->st_ino,
        .device = status->st_dev,
        .modified = status->st_mtim,
        .changed = status->st_ctim,
        .target = "",
        .linked_to = "",
        .attributes = "",
    };
}

bool look_is_retimed(const struct entry *was, const struct entry *now)
{
    return was && S_ISDIR(now->mode) && was->mode == now->mode && was->inode == now->inode &&
           was->device == now->device && was->uid == now->uid && was->gid == now->gid &&
           was->content == now->content;
}
