/* What small files held at one moment, kept in memory: to tell afterwards what changed, and to bring it back. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/err.h"

struct file_content {
    const char *path;
    mode_t mode;
    nlink_t links; /* how many names it has */
    dev_t device;
    ino_t inode;
    struct timespec changed; /* as the kernel noted it: nobody can set it back */
    uint64_t length;         /* as the kernel says: that many bytes need not have been read */
    struct bytes bytes;      /* of a regular file, or a link's target; followed by a NUL */
};

typedef struct {
    struct file_content *at;
    size_t count, capacity; /* as VEC has them */
    size_t bytes;           /* kept so far */
    int trouble; /* where the machine let a look down, why: then something may be missing here. Otherwise 0 */
} file_contents;

/* Larger files are noticed when they change, and not brought back. */
enum { FILE_CONTENT_LARGEST = 16 * 1024 * 1024 };

/*
 * Adds a file, a link, or everything in a directory, following no link. A missing path adds nothing. The number of files is bounded by
 * what a folder of settings or hooks has, and each file by a mebibyte; what exceeds that is found at the end.
 */
void content_add(struct arena *arena, const char *path, file_contents *contents);

/* The same without a bound. Folders that are closed to their owner are opened: somebody may have hidden something there. */
void content_add_all(struct arena *arena, const char *path, file_contents *contents);

const struct file_content *content_find(const file_contents *contents, const char *path);

/* The same kind, mode and bytes? Where one was too large to be kept: the same file, unchanged since? */
bool content_equal(const struct file_content *one, const struct file_content *two);

/* Makes a regular file of this name, which nothing may have. Returns its descriptor, or -1 with errno. */
int content_make(int directory_fd, const char *name, const struct file_content *content);

/* Makes a regular file or a link anew, at once and through no link. Where something has its name by now, that stays. */
int content_restore(const struct file_content *content, struct err *err) must_check;
