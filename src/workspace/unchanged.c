/*
 * Which directories of an earlier walk are as they were. Most of a large workspace is the same from one walk to the next, so
 * this is most of what a walk costs. One thread for each processor looks.
 *
 * A directory is unchanged if all of this holds:
 *
 *   1. Inode, mode, owner and times are those of the earlier walk, and it was not changed shortly before that walk. The kernel
 *      stamps a directory with the time whenever a name in it is made, removed or replaced, and no program can set that time.
 *      So the names in it are those of the earlier walk, and it need not be listed.
 *   2. Every name in it had an entry (`is_whole`). Sockets have none, and they must be found.
 *   3. Every file in it is unchanged, too: each is looked at. Directories in it are judged by themselves. At the start of a
 *      run, git's loose objects are not looked at: they are taken over from the earlier walk (`trusts_objects`).
 *   4. It lies on the file system of the top, and that is one that keeps times as finely as 1. needs.
 *
 * Whatever is not known to be unchanged is looked at in the ordinary way, by the walk.
 */
#include "workspace/scan.h"

#include <linux/magic.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "base/timespec.h"
#include "git/objects.h"
#include "git/repo.h"
#include "kernel/beneath.h"
#include "kernel/threads.h"

enum {
    FEW = 2048,  /* entries for which a second thread is not worth its start */
    CHUNK = 256, /* entries that a thread takes at a time */
};

/* What all threads share. None of them allocates memory. */
struct search {
    int top_fd;
    uint64_t device; /* of the top */
    const struct scan_request *request;
    const struct unchanged *unchanged;
    atomic_size_t taken; /* entries that some thread has taken */
};

/* --- one directory ------------------------------------------------------------------------------------------------ */

static bool is_same(const struct search *search, const struct entry *was, const struct stat *status)
{
    struct entry now = look_entry(status, was->path);
    return now.device == search->device && was->device == now.device &&
           look_is_unchanged(search->request->before, was, &now);
}

/* The size of the path of the object store that a directory such as .git/objects/ab lies in; 0 if it is none. */
static size_t store_size_of(const char *directory)
{
    static const char store[] = "objects/";
    size_t repository = git_repository_size(directory);
    const char *inner = directory + repository;
    return repository && text_starts_with(inner, store) && strlen(inner) == strlen(store) + 2
               ? repository + strlen(store)
               : 0;
}

/*
 * git never writes a loose object again. If another program did, the walk at the end of a run finds it; the object's time says whether
 * that was before the run (objects.c).
 */
static bool is_trusted(const struct entry *entry, size_t objects_at)
{
    return objects_at && S_ISREG(entry->mode) && git_is_object_path(entry->path + objects_at);
}

static bool are_files_same(const struct search *search, int fd, size_t directory)
{
    const struct entry *entries = search->request->before->entries.at;
    const uint32_t *next = search->unchanged->next;
    size_t name_at = strlen(entries[directory].path) + 1;
    size_t objects_at = search->request->trusts_objects ? store_size_of(entries[directory].path) : 0;
    for (size_t i = directory + 1; i < next[directory]; i = next[i]) {
        const char *name = entries[i].path + name_at;
        struct stat status;
        if (strchr(name, '/')) /* a damaged tree: a directory on the way has no entry */
            return false;
        if (S_ISDIR(entries[i].mode) || is_trusted(&entries[i], objects_at))
            continue;
        if (fstatat(fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0 || !is_same(search, &entries[i], &status))
            return false;
    }
    return true;
}

/* A time without nanoseconds may be one of a file system that counts in seconds. */
static bool is_unchanged(const struct search *search, size_t directory)
{
    const struct entry *was = &search->request->before->entries.at[directory];
    if (!S_ISDIR(was->mode) || !was->is_whole || tree_is_skipped(was) || !was->changed.tv_nsec)
        return false;
    auto_fd int fd = open_beneath(search->top_fd, was->path, O_RDONLY | O_DIRECTORY, 0);
    struct stat status;
    return fd >= 0 && fstat(fd, &status) == 0 && is_same(search, was, &status) &&
           are_files_same(search, fd, directory);
}

/* --- all of them -------------------------------------------------------------------------------------------------- */

static bool is_too_late(struct timespec deadline)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return deadline.tv_sec && timespec_order(now, deadline) > 0;
}

/* Takes chunks until none is left. What a deadline cuts off is not known to be unchanged. */
static void search_chunks(struct search *search, struct progress *progress)
{
    size_t count = search->request->before->entries.count, from;
    while ((from = atomic_fetch_add(&search->taken, CHUNK)) < count) {
        if (is_too_late(search->request->deadline))
            return;
        progress_tell(progress, from, count);
        for (size_t i = from; i < from + CHUNK && i < count; i++)
            search->unchanged->directories[i] = is_unchanged(search, i);
    }
}

static void search_in_thread(void *context, bool is_caller)
{
    struct search *search = context;
    search_chunks(search, is_caller ? search->request->progress : NULL);
}

/* Fills in `next`. The entries are in walk order, so that those of a directory follow it. */
static void find_next(const struct tree *tree, uint32_t *next)
{
    const struct entry *entries = tree->entries.at;
    size_t count = tree->entries.count, open = 0;
    uint32_t *directories = must_realloc(NULL, PATH_LONGEST, sizeof(*directories)); /* around the entry */
    for (size_t i = 0; i < count; i++) {
        while (open && !path_is_inside(entries[i].path, entries[directories[open - 1]].path))
            next[directories[--open]] = (uint32_t)i;
        next[i] = (uint32_t)i + 1;
        if (S_ISDIR(entries[i].mode))
            directories[open++] = (uint32_t)i;
    }
    while (open)
        next[directories[--open]] = (uint32_t)count;
    free(directories);
}

/* Are the times of a directory those of the last change of its names, to the tick of the clock? */
static bool keeps_fine_times(int fd)
{
    struct statfs system;
    if (fstatfs(fd, &system) < 0)
        return false;
    return system.f_type == EXT4_SUPER_MAGIC || system.f_type == XFS_SUPER_MAGIC ||
           system.f_type == BTRFS_SUPER_MAGIC || system.f_type == F2FS_SUPER_MAGIC;
}

void unchanged_find(int top_fd, const struct scan_request *request, struct unchanged *ret_unchanged)
{
    const struct tree *before = request->before;
    struct stat top;
    *ret_unchanged = (struct unchanged){0};
    if (!before || !before->entries.count || !keeps_fine_times(top_fd) || fstat(top_fd, &top) < 0)
        return;
    size_t count = before->entries.count;
    ret_unchanged->next = must_realloc(NULL, count, sizeof(*ret_unchanged->next));
    ret_unchanged->directories = calloc(count, sizeof(*ret_unchanged->directories));
    if (!ret_unchanged->directories || count > UINT32_MAX) {
        unchanged_free(ret_unchanged);
        return;
    }
    find_next(before, ret_unchanged->next);
    struct search search = {
        .top_fd = top_fd, .device = top.st_dev, .request = request, .unchanged = ret_unchanged};
    threads_share(search_in_thread, &search, count > FEW);
}

void unchanged_free(struct unchanged *unchanged)
{
    free(unchanged->next);
    free(unchanged->directories);
    *unchanged = (struct unchanged){0};
}
