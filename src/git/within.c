#include "git/within.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"

enum { MOST_ENTRIES = 1000000, DEEPEST = 128 }; /* every directory on the way down keeps a descriptor open */

struct search {
    struct fsview *fs;
    const char *tree;
    git_paths *found;
    size_t entries;
};

static bool has(int fd, const char *name)
{
    return faccessat(fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

bool git_is_repository(int fd)
{
    return has(fd, "HEAD") && (has(fd, "commondir") || has(fd, "objects") || has(fd, "refs"));
}

bool git_lies_in_repository(const char *path)
{
    for (size_t size = strlen(path); size > 1; size = path_parent_size(path, size)) {
        char directory[PATH_LONGEST];
        if (size >= sizeof(directory))
            return true;
        memcpy(directory, path, size);
        directory[size] = '\0';
        auto_fd int fd = open_absolute(directory, O_PATH | O_DIRECTORY);
        if (strcmp(path_name(directory), ".git") == 0 || (fd >= 0 && git_is_repository(fd)))
            return true;
    }
    return false;
}

static int cannot_search(const char *path, int errnum, struct err *err)
{
    return err_sys(err, errnum, "%s cannot be searched for git directories", path);
}

static int refuse_size(const struct search *search, struct err *err)
{
    return err_set(err, "%s has too many files, or too many levels, to be searched for git directories",
                   search->tree);
}

static int refuse_alias(const char *path, struct err *err)
{
    return err_set(err, "git obeys %s, which has a second name (a hard link) and could be written by it",
                   path);
}

/*
 * Opens a directory of the tree. Returns -2 where there is none to search: it is gone, or no directory, or
 * another user's that is closed. One that the user has closed can be opened by a program of the user's.
 */
static int open_folder(int parent_fd, const char *name, const char *path, struct err *err)
{
    enum { NOTHING_TO_SEARCH = -2 };
    struct stat status;
    int fd = open_directory_at(parent_fd, name);
    if (fd >= 0)
        return fd;
    int errnum = errno;
    if (errnum == ENOENT || errnum == ENOTDIR || errnum == ELOOP)
        return NOTHING_TO_SEARCH;
    bool is_own = fstatat(parent_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0 || status.st_uid == geteuid();
    return errnum == EACCES && !is_own ? NOTHING_TO_SEARCH : cannot_search(path, errnum, err);
}

/* Have all files of a git directory one name? Those of objects may have more: git shares them between clones. Owns the descriptor. */
static int check_names(struct search *search, int directory_fd, const char *path, unsigned depth,
                       struct err *err)
{
    auto_dir DIR *directory = directories_take(directory_fd);
    if (!directory)
        return cannot_search(path, errno, err);
    int trouble = 0;
    for (const struct dirent *entry; (entry = directories_next(directory, &trouble));) {
        struct stat status;
        const char *full = path_join(search->fs->arena, path, entry->d_name);
        if (++search->entries > MOST_ENTRIES || depth > DEEPEST)
            return refuse_size(search, err);
        if (fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0)
            continue; /* it is gone */
        if (S_ISREG(status.st_mode) && status.st_nlink > 1)
            return refuse_alias(full, err);
        if (!S_ISDIR(status.st_mode) || strcmp(entry->d_name, "objects") == 0)
            continue;
        int fd = open_folder(dirfd(directory), entry->d_name, full, err);
        if (fd == -1 || (fd >= 0 && check_names(search, fd, full, depth + 1, err) < 0))
            return -1;
    }
    return trouble ? cannot_search(path, trouble, err) : 0;
}

static bool is_found(const struct search *search, const char *path)
{
    for (size_t i = 0; i < search->found->count; i++) {
        if (path_is_beneath(path, search->found->at[i]))
            return true;
    }
    return false;
}

/* Adds a path that git obeys, unless it is part of another, lies elsewhere or is not there. */
static int add(struct search *search, const char *path, struct err *err)
{
    struct stat status;
    auto_fd int fd =
        is_found(search, path) || !path_is_beneath(path, search->tree) ? -1 : open_absolute(path, O_PATH);
    if (fd < 0 || fstat(fd, &status) < 0)
        return 0;
    if (strcmp(path, search->tree) == 0)
        return err_set(err, "git obeys all of %s", path);
    if (S_ISLNK(status.st_mode))
        return err_set(err, "git obeys %s, which is a symbolic link", path);
    if (S_ISREG(status.st_mode) && status.st_nlink > 1)
        return refuse_alias(path, err);
    int own_fd = S_ISDIR(status.st_mode) ? open_absolute(path, O_RDONLY | O_DIRECTORY) : -1;
    if (S_ISDIR(status.st_mode) && own_fd < 0)
        return cannot_search(path, errno, err);
    if (own_fd >= 0 && check_names(search, own_fd, path, 0, err) < 0)
        return -1;
    vec_push(search->found, path);
    return 0;
}

/* Adds the git directories of a work tree, and what their configuration leads to. */
static int add_repository(struct search *search, const char *root, struct err *err)
{
    struct git_repo repo;
    git_find(search->fs, root, NULL, &repo);
    int result = add(search, path_join(search->fs->arena, root, ".git"), err);
    for (size_t i = 0; result == 0 && i < repo.dirs.count; i++)
        result = add(search, repo.dirs.at[i], err);
    for (size_t i = 0; result == 0 && i < repo.links.count; i++)
        result = add(search, repo.links.at[i], err);
    for (size_t i = 0; result == 0 && i < repo.whole.count; i++)
        result = add(search, repo.whole.at[i].path, err);
    for (size_t i = 0; result == 0 && i < repo.flagged.count; i++)
        result = add(search, repo.flagged.at[i].path, err);
    git_repo_free(&repo);
    return result;
}

/* Owns the descriptor. */
static int search_folder(struct search *search, int directory_fd, const char *path, unsigned depth,
                         struct err *err)
{
    auto_dir DIR *directory = directories_take(directory_fd);
    if (!directory)
        return cannot_search(path, errno, err);
    if (depth > DEEPEST)
        return refuse_size(search, err);
    if (git_is_repository(dirfd(directory)))
        return add(search, path, err);
    if (has(dirfd(directory), ".git") && add_repository(search, path, err) < 0)
        return -1;
    int trouble = 0;
    for (const struct dirent *entry; (entry = directories_next(directory, &trouble));) {
        if (++search->entries > MOST_ENTRIES)
            return refuse_size(search, err);
        const char *full = path_join(search->fs->arena, path, entry->d_name);
        if ((entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN) || is_found(search, full))
            continue;
        int fd = open_folder(dirfd(directory), entry->d_name, full, err);
        if (fd == -1 || (fd >= 0 && search_folder(search, fd, full, depth + 1, err) < 0))
            return -1;
    }
    return trouble ? cannot_search(path, trouble, err) : 0;
}

int git_find_within(struct fsview *fs, const char *tree, git_paths *ret_paths, struct err *err)
{
    git_paths found = {0};
    struct search search = {fs, tree, &found, 0};
    int fd = open_absolute(tree, O_RDONLY | O_DIRECTORY);
    int result = fd < 0 ? cannot_search(tree, errno, err) : search_folder(&search, fd, tree, 0, err);
    if (result == 0)
        result = fs_check(fs, err);
    if (result < 0) {
        vec_free(&found);
        return -1;
    }
    *ret_paths = found;
    return 0;
}
