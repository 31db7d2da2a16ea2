#include "hold/content.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/timespec.h"
#include "base/vec.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"

enum { AT_START_LARGEST = 1024 * 1024, MOST_AT_START = 4000, ALL_LARGEST = 256 * 1024 * 1024, DEEPEST = 128 };

/* How a path is read. */
struct reading {
    struct arena *arena;
    file_contents *contents;
    size_t most_files;
    off_t largest; /* whose bytes are kept */
    bool opens_up;
};

static void note_trouble(const struct reading *reading, int errnum)
{
    if (!reading->contents->trouble && errno_is_of_machine(errnum))
        reading->contents->trouble = errnum;
}

/* A file that was read only partly counts as too large. */
static void read_bytes(const struct reading *reading, int fd, struct file_content *content)
{
    size_t expected = (size_t)content->length, size = 0;
    char *bytes = arena_alloc(reading->arena, expected + 1);
    ssize_t got = 1;
    while (size < expected && got != 0) {
        got = read(fd, bytes + size, expected - size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            note_trouble(reading, errno);
            return;
        }
        size += (size_t)got;
    }
    content->bytes = bytes_of(bytes, size);
    content->length = size;
    reading->contents->bytes += size == expected ? size : 0;
}

static void add_entry(struct reading *reading, int parent_fd, const char *name, const char *path,
                      unsigned depth);

static void add_directory(struct reading *reading, int directory_fd, const char *path, unsigned depth)
{
    auto_dir DIR *directory = directories_take(directory_fd);
    int trouble = directory ? 0 : errno;
    for (const struct dirent *entry; directory && reading->contents->count < reading->most_files &&
                                     (entry = directories_next(directory, &trouble));)
        add_entry(reading, dirfd(directory), entry->d_name, path_join(reading->arena, path, entry->d_name),
                  depth);
    note_trouble(reading, trouble);
}

static void add_entry(struct reading *reading, int parent_fd, const char *name, const char *path,
                      unsigned depth)
{
    struct stat status;
    file_contents *contents = reading->contents;
    if (fstatat(parent_fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0) {
        note_trouble(reading, errno);
        return;
    }
    if (S_ISDIR(status.st_mode)) {
        int fd = depth >= DEEPEST    ? -1
                 : reading->opens_up ? directories_open_up(parent_fd, name, DIRECTORY_LOOKS)
                                     : open_directory_at(parent_fd, name);
        if (fd >= 0)
            add_directory(reading, fd, path, depth + 1);
        else if (depth < DEEPEST)
            note_trouble(reading, errno);
        if (fd >= 0 || !reading->opens_up)
            return;
        status.st_size = 0; /* it stands for all that lies in it */
    }
    struct file_content content = {.path = path,
                                   .mode = status.st_mode,
                                   .links = status.st_nlink,
                                   .device = status.st_dev,
                                   .inode = status.st_ino,
                                   .changed = status.st_ctim,
                                   .length = (uint64_t)status.st_size};
    if (S_ISREG(status.st_mode) && status.st_size <= reading->largest && contents->bytes < ALL_LARGEST) {
        auto_fd int fd = openat(parent_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0)
            note_trouble(reading, errno);
        else
            read_bytes(reading, fd, &content);
        if (fd >= 0 && fstat(fd, &status) == 0)
            content.changed = status.st_ctim; /* while it was read, perhaps */
    } else if (S_ISLNK(status.st_mode)) {
        char target[PATH_LONGEST];
        ssize_t size = readlinkat(parent_fd, name, target, sizeof(target));
        if (size >= 0) {
            content.bytes = bytes_of(arena_copy(reading->arena, target, (size_t)size), (size_t)size);
            content.length = (uint64_t)size;
        }
    }
    vec_push(contents, content);
}

static void add(struct reading *reading, const char *path)
{
    auto_fd int parent_fd = open_parent_absolute(path);
    if (parent_fd < 0)
        note_trouble(reading, errno);
    else
        add_entry(reading, parent_fd, path_name(path), path, 0);
}

void content_add(struct arena *arena, const char *path, file_contents *contents)
{
    struct reading reading = {arena, contents, .most_files = MOST_AT_START, .largest = AT_START_LARGEST};
    add(&reading, path);
}

void content_add_all(struct arena *arena, const char *path, file_contents *contents)
{
    struct reading reading = {arena, contents, .most_files = SIZE_MAX, .largest = FILE_CONTENT_LARGEST,
                              .opens_up = true};
    add(&reading, path);
}

const struct file_content *content_find(const file_contents *contents, const char *path)
{
    for (size_t i = 0; i < contents->count; i++) {
        if (strcmp(contents->at[i].path, path) == 0)
            return &contents->at[i];
    }
    return NULL;
}

bool content_equal(const struct file_content *one, const struct file_content *two)
{
    if (one->mode != two->mode || one->length != two->length)
        return false;
    if (bytes_known(one->bytes) && bytes_known(two->bytes))
        return bytes_equal(one->bytes, two->bytes);
    return one->device == two->device && one->inode == two->inode &&
           timespec_is_same(one->changed, two->changed);
}

static int fill(int fd, const struct file_content *content)
{
    return write_whole(fd, content->bytes.at, content->bytes.size) < 0 ? -1
                                                                       : fchmod(fd, content->mode & 0777);
}

/* An unnamed file until it is complete: nothing remains if bawn is killed. */
static int make_unnamed(int parent_fd, const struct file_content *content)
{
    auto_fd int directory_fd = open_directory_at(parent_fd, ".");
    auto_fd int fd = openat(directory_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    return fd < 0 || fill(fd, content) < 0
               ? -1
               : linkat(AT_FDCWD, fd_path(fd).text, parent_fd, path_name(content->path), AT_SYMLINK_FOLLOW);
}

int content_make(int directory_fd, const char *name, const struct file_content *content)
{
    auto_fd int fd = openat(directory_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || fill(fd, content) == 0)
        return fd_take(&fd);
    int why = errno;
    unlinkat(directory_fd, name, 0);
    errno = why;
    return -1;
}

/* Where the file system has no such files. */
static int make_aside(int parent_fd, const struct file_content *content)
{
    char temporary[64];
    snprintf(temporary, sizeof(temporary), ".bawn-restore-%d", getpid());
    auto_fd int fd = content_make(parent_fd, temporary, content);
    if (fd < 0)
        return -1;
    if (renameat2(parent_fd, temporary, parent_fd, path_name(content->path), RENAME_NOREPLACE) == 0)
        return 0;
    int why = errno;
    unlinkat(parent_fd, temporary, 0);
    errno = why;
    return -1;
}

int content_restore(const struct file_content *content, struct err *err)
{
    if (!bytes_known(content->bytes))
        return err_set(err, "%s was too large to be kept as it was, or could not be read", content->path);
    auto_fd int parent_fd = open_parent_absolute(content->path);
    /* The directory may have been closed to prevent this. */
    int result = parent_fd < 0 || directories_allow_owner(parent_fd, S_IRWXU) < 0 ? -1
                 : S_ISLNK(content->mode) ? symlinkat(content->bytes.at, parent_fd, path_name(content->path))
                                          : make_unnamed(parent_fd, content);
    if (result < 0 && parent_fd >= 0 && S_ISREG(content->mode) && (errno == EOPNOTSUPP || errno == EISDIR))
        result = make_aside(parent_fd, content);
    return result < 0 ? err_sys(err, errno, "cannot bring %s back as it was", content->path) : 0;
}
