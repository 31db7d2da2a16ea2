#include "git/objects.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "git/sha1.h"
#include "kernel/beneath.h"

enum { MOST_PACKS = 1000, FANOUT = 256, INDEX_HEAD = 8 };

static bool is_older(const struct stat *status, struct timespec before)
{
    return status->st_ctim.tv_sec < before.tv_sec ||
           (status->st_ctim.tv_sec == before.tv_sec && status->st_ctim.tv_nsec < before.tv_nsec);
}

static bool has_loose(int objects_fd, const unsigned char hash[SHA1_SIZE], struct timespec before)
{
    char name[SHA1_DIGITS + 2] = "";
    struct stat status;
    size_t at = 0;
    for (size_t i = 0; i < SHA1_SIZE; i++)
        at += (size_t)snprintf(name + at, sizeof(name) - at, i == 0 ? "%02x/" : "%02x", hash[i]);
    return fstatat(objects_fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode) &&
           is_older(&status, before);
}

static bool read_word(int fd, off_t at, uint32_t *ret_word)
{
    unsigned char bytes[4];
    if (pread(fd, bytes, sizeof(bytes), at) != sizeof(bytes))
        return false;
    *ret_word = (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
    return true;
}

/* A pack's index, version 2: a head, 256 sums by first byte, then all names in order. */
static bool index_has(int fd, const unsigned char hash[SHA1_SIZE])
{
    uint32_t magic, version, low = 0, high;
    if (!read_word(fd, 0, &magic) || !read_word(fd, 4, &version) || magic != 0xff744f63 || version != 2 ||
        !read_word(fd, INDEX_HEAD + 4 * (off_t)hash[0], &high) ||
        (hash[0] && !read_word(fd, INDEX_HEAD + 4 * ((off_t)hash[0] - 1), &low)))
        return false;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        unsigned char found[SHA1_SIZE];
        off_t at = INDEX_HEAD + 4 * FANOUT + (off_t)middle * SHA1_SIZE;
        if (pread(fd, found, sizeof(found), at) != sizeof(found))
            return false;
        int order = memcmp(found, hash, sizeof(found));
        if (order == 0)
            return true;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

static bool has_packed(int objects_fd, const unsigned char hash[SHA1_SIZE], struct timespec before)
{
    int pack_fd = openat(objects_fd, "pack", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *packs = pack_fd < 0 ? NULL : fdopendir(pack_fd);
    bool found = false;
    size_t seen = 0;
    for (const struct dirent *entry; packs && !found && seen < MOST_PACKS && (entry = readdir(packs));) {
        size_t size = strlen(entry->d_name);
        struct stat status;
        if (size < 4 || strcmp(entry->d_name + size - 4, ".idx") != 0)
            continue;
        seen++;
        auto_fd int fd = openat(pack_fd, entry->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        found = fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && is_older(&status, before) &&
                index_has(fd, hash);
    }
    if (packs)
        closedir(packs);
    return found;
}

bool git_had_blob(const char *git_dir, const char *bytes, size_t size, struct timespec before)
{
    char head[32], path[PATH_LONGEST];
    unsigned char hash[SHA1_SIZE];
    int head_size = snprintf(head, sizeof(head), "blob %zu", size) + 1; /* with its NUL */
    sha1_of(head, (size_t)head_size, bytes, size, hash);
    snprintf(path, sizeof(path), "%s/objects", git_dir);
    auto_fd int objects_fd = open_absolute(path, O_RDONLY | O_DIRECTORY);
    return objects_fd >= 0 && (has_loose(objects_fd, hash, before) || has_packed(objects_fd, hash, before));
}
