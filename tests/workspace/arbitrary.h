/*
 * Arbitrary trees and what an agent might do to them, from a seed; and a description of a tree that shares no code with
 * what is tested: one line a file, with everything that a restore has to bring back.
 */
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/vec.h"

static uint64_t arbitrary_state;

static inline uint64_t arbitrary(uint64_t below)
{
    arbitrary_state ^= arbitrary_state << 13;
    arbitrary_state ^= arbitrary_state >> 7;
    arbitrary_state ^= arbitrary_state << 17;
    return below ? arbitrary_state % below : 0;
}

static inline bool chance(unsigned percent)
{
    return arbitrary(100) < percent;
}

/* --- what is there ------------------------------------------------------------------------------------------------ */

struct described {
    VEC(char *) lines;
    bool with_directory_times;
    bool contents_only; /* kinds and contents, but no modes, times and attributes */
};

static struct described *describing;
static size_t describing_from;

static inline uint64_t sum_of(const char *bytes, size_t size, uint64_t sum)
{
    for (size_t i = 0; i < size; i++)
        sum = (sum ^ (unsigned char)bytes[i]) * 1099511628211U;
    return sum;
}

static inline void add_hex(struct buf *out, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        buf_printf(out, "%02x", (unsigned char)bytes[i]);
}

static inline int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static inline void describe_attributes(struct buf *line, const char *path)
{
    char names[4096], value[4096];
    ssize_t size = llistxattr(path, names, sizeof(names));
    VEC(char *) sorted = {0};
    for (char *name = names; size > 0 && name < names + size; name += strlen(name) + 1) {
        if (strncmp(name, "user.", 5) == 0)
            vec_push(&sorted, name);
    }
    if (sorted.count)
        qsort(sorted.at, sorted.count, sizeof(char *), compare_lines);
    for (size_t i = 0; i < sorted.count; i++) {
        ssize_t got = lgetxattr(path, sorted.at[i], value, sizeof(value));
        buf_printf(line, " %s=", sorted.at[i]);
        add_hex(line, value, got > 0 ? (size_t)got : 0);
    }
    vec_free(&sorted);
}

static inline void describe_content(struct buf *line, const char *path)
{
    static char part[65536];
    uint64_t sum = 14695981039346656037U;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    for (ssize_t got; fd >= 0 && (got = read(fd, part, sizeof(part))) > 0;)
        sum = sum_of(part, (size_t)got, sum);
    if (fd >= 0)
        close(fd);
    buf_printf(line, " sum=%016" PRIx64, sum);
}

static inline int describe_one(const char *path, const struct stat *unused, int kind, struct FTW *where)
{
    (void)unused, (void)kind, (void)where;
    struct stat status;
    if (strlen(path) <= describing_from || lstat(path, &status) < 0)
        return 0;
    struct buf line = {0};
    add_hex(&line, path + describing_from + 1, strlen(path) - describing_from - 1);
    buf_printf(&line, " %o", describing->contents_only ? status.st_mode & S_IFMT : status.st_mode);
    if (describing->contents_only)
        ;
    else if (!S_ISDIR(status.st_mode) || describing->with_directory_times)
        buf_printf(&line, " @%lld.%09ld", (long long)status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
    if (S_ISLNK(status.st_mode)) {
        char target[4096];
        ssize_t size = readlink(path, target, sizeof(target));
        buf_add_str(&line, " ->");
        add_hex(&line, target, size > 0 ? (size_t)size : 0);
    } else if (!describing->contents_only) {
        describe_attributes(&line, path);
    }
    if (S_ISREG(status.st_mode)) {
        buf_printf(&line, " %lld", (long long)status.st_size);
        describe_content(&line, path);
    }
    vec_push(&describing->lines, line.bytes);
    return 0;
}

static inline void describe_as(const char *root, struct described *ret_described)
{
    describing = ret_described;
    describing_from = strlen(root);
    nftw(root, describe_one, 64, FTW_PHYS);
    if (ret_described->lines.count)
        qsort(ret_described->lines.at, ret_described->lines.count, sizeof(char *), compare_lines);
}

static inline void describe(const char *root, bool with_directory_times, struct described *ret_described)
{
    *ret_described = (struct described){.with_directory_times = with_directory_times};
    describe_as(root, ret_described);
}

static inline void describe_contents(const char *root, struct described *ret_described)
{
    *ret_described = (struct described){.contents_only = true};
    describe_as(root, ret_described);
}

static inline void described_free(struct described *described)
{
    for (size_t i = 0; i < described->lines.count; i++)
        free(described->lines.at[i]);
    vec_free(&described->lines);
}

static inline bool described_has(const struct described *described, char *line)
{
    return described->lines.count &&
           bsearch(&line, described->lines.at, described->lines.count, sizeof(char *), compare_lines);
}

/* The first line that one has and the other has not, or NULL. */
static inline const char *first_difference(const struct described *a, const struct described *b)
{
    size_t i = 0, j = 0;
    while (i < a->lines.count || j < b->lines.count) {
        int order = i >= a->lines.count   ? 1
                    : j >= b->lines.count ? -1
                                          : strcmp(a->lines.at[i], b->lines.at[j]);
        if (order != 0)
            return order < 0 ? a->lines.at[i] : b->lines.at[j];
        i++, j++;
    }
    return NULL;
}

/* Which files are one file under several names: "a=b" for each pair, with the first by its bytes. */
struct hard_link {
    uint64_t inode;
    char *path;
};
static VEC(struct hard_link) hard_links_found;

static inline int find_hard_link(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)kind, (void)where;
    if (!S_ISDIR(status->st_mode) && status->st_nlink > 1)
        vec_push(&hard_links_found, (struct hard_link){status->st_ino, strdup(path)});
    return 0;
}

static inline int compare_hard_links(const void *a, const void *b)
{
    return strcmp(((const struct hard_link *)a)->path, ((const struct hard_link *)b)->path);
}

static inline char *describe_hard_links(const char *root)
{
    hard_links_found.count = 0;
    nftw(root, find_hard_link, 64, FTW_PHYS);
    if (hard_links_found.count)
        qsort(hard_links_found.at, hard_links_found.count, sizeof(struct hard_link), compare_hard_links);
    struct buf out = {0};
    for (size_t i = 0; i < hard_links_found.count; i++) {
        size_t first = 0;
        while (hard_links_found.at[first].inode != hard_links_found.at[i].inode)
            first++;
        if (first != i)
            buf_printf(&out, "%s=%s\n", hard_links_found.at[first].path, hard_links_found.at[i].path);
    }
    for (size_t i = 0; i < hard_links_found.count; i++)
        free(hard_links_found.at[i].path);
    vec_free(&hard_links_found);
    buf_add_str(&out, "");
    return out.bytes;
}

/* --- arbitrary trees ----------------------------------------------------------------------------------------------- */

static inline void arbitrary_name(char *ret_name)
{
    static const char *const common[] = {"src", "a", "b", "main.c", ".git", ".git", "HEAD", "lib", "README", "x.txt", "..."};
    if (chance(60)) {
        strcpy(ret_name, common[arbitrary(sizeof(common) / sizeof(*common))]);
        return;
    }
    size_t size = chance(3) ? 255 : 1 + arbitrary(6);
    for (size_t i = 0; i < size; i++) {
        do
            ret_name[i] = (char)(1 + arbitrary(255));
        while (ret_name[i] == '/');
    }
    ret_name[size] = '\0';
    if (strcmp(ret_name, ".") == 0 || strcmp(ret_name, "..") == 0)
        strcpy(ret_name, "dot");
}

/* Some existing path of the tree: a directory, or anything. */
static VEC(char *) arbitrary_paths;
static bool arbitrary_directories_only;

static inline int collect_path(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)kind, (void)where;
    if (!arbitrary_directories_only || S_ISDIR(status->st_mode))
        vec_push(&arbitrary_paths, strdup(path));
    return 0;
}

static inline char *arbitrary_path(const char *root, bool directory)
{
    arbitrary_directories_only = directory;
    nftw(root, collect_path, 64, FTW_PHYS);
    char *chosen = NULL;
    size_t pick = arbitrary(arbitrary_paths.count);
    for (size_t i = 0; i < arbitrary_paths.count; i++) {
        if (i == pick)
            chosen = arbitrary_paths.at[i];
        else
            free(arbitrary_paths.at[i]);
    }
    vec_free(&arbitrary_paths);
    return chosen;
}

static inline void arbitrary_new_path(const char *root, char *ret_path, size_t size)
{
    char name[256], *directory = arbitrary_path(root, true);
    arbitrary_name(name);
    snprintf(ret_path, size, "%s/%s", directory, name);
    free(directory);
}

static inline void write_arbitrary(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | (chance(50) ? O_TRUNC : 0), 0644);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode)) {
        if (fd >= 0)
            close(fd);
        return;
    }
    if (chance(8)) { /* holes, and more than a small file */
        off_t at = (off_t)arbitrary(3 * 1024 * 1024);
        if (ftruncate(fd, at + (off_t)arbitrary(100000)) < 0 || pwrite(fd, "data", 4, at) < 0)
            abort();
    } else {
        char bytes[64];
        for (size_t i = 0; i < sizeof(bytes); i++)
            bytes[i] = (char)arbitrary(chance(70) ? 256 : 2);
        if (pwrite(fd, bytes, arbitrary(sizeof(bytes)), (off_t)arbitrary(40)) < 0)
            abort();
    }
    close(fd);
}

/* A file that looks as it did, to who does not read it. */
static inline void rewrite_unseen(const char *path)
{
    char bytes[64];
    struct stat status;
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
        ssize_t size = pread(fd, bytes, sizeof(bytes), 0);
        for (ssize_t i = 0; i < size; i++)
            bytes[i] ^= (char)(1 + arbitrary(255));
        struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, status.st_mtim};
        if ((size > 0 && pwrite(fd, bytes, (size_t)size, 0) < 0) || futimens(fd, times) < 0)
            abort();
    }
    if (fd >= 0)
        close(fd);
}

static inline int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status, (void)kind, (void)where;
    return remove(path);
}

static inline void remove_all(const char *path)
{
    nftw(path, remove_one, 64, FTW_DEPTH | FTW_PHYS);
}

static inline void make_deep(const char *root)
{
    char path[3000];
    size_t at = (size_t)snprintf(path, sizeof(path), "%s/deep", root);
    for (int i = 0; i < 60 && mkdir(path, 0755) == 0; i++)
        at += (size_t)snprintf(path + at, sizeof(path) - at, "/d%d", i);
    write_arbitrary(path);
}

/* One thing that a program might do to a tree. */
static inline void do_something(const char *root)
{
    static const mode_t modes[] = {0644, 0755, 0600, 0, 0444, 0777, 0111, 0555};
    char path[6000], target[64];
    char *old = arbitrary_path(root, false);
    bool is_root = strcmp(old, root) == 0;
    arbitrary_new_path(root, path, sizeof(path));
    switch (arbitrary(17)) {
    case 0:
    case 1:
    case 2:
        write_arbitrary(path);
        break;
    case 3:
    case 4:
        write_arbitrary(old);
        break;
    case 5:
        mkdir(path, 0755);
        break;
    case 6:
        if (!is_root)
            remove_all(old);
        break;
    case 7:
        if (!is_root)
            rename(old, path);
        break;
    case 8: {
        struct stat status;
        if (!is_root && lstat(old, &status) == 0 && !S_ISLNK(status.st_mode))
            chmod(old, modes[arbitrary(sizeof(modes) / sizeof(*modes))]);
        break;
    }
    case 9:
        snprintf(target, sizeof(target), "%s", chance(50) ? "../../etc/passwd" : "a");
        if (symlink(target, path) < 0)
            break;
        break;
    case 10:
        if (link(old, path) < 0)
            break;
        break;
    case 11: {
        struct timespec times[] = {{.tv_nsec = UTIME_OMIT},
                                   {.tv_sec = (time_t)arbitrary(2000000000), .tv_nsec = (long)arbitrary(1000000000)}};
        utimensat(AT_FDCWD, old, times, AT_SYMLINK_NOFOLLOW);
        break;
    }
    case 12:
        snprintf(target, sizeof(target), "user.%c", (char)('a' + arbitrary(3)));
        if (chance(60))
            lsetxattr(old, target, "value", arbitrary(6), 0);
        else
            lremovexattr(old, target);
        break;
    case 13: /* a file in the place of a directory, or the reverse */
        if (is_root)
            break;
        remove_all(old);
        if (chance(50))
            mkdir(old, 0755);
        else
            write_arbitrary(old);
        break;
    case 14:
        mkfifo(path, 0644);
        break;
    case 15:
        rewrite_unseen(old);
        break;
    default:
        if (chance(5))
            make_deep(root);
        break;
    }
    free(old);
}
