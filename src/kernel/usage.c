#include "kernel/usage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"

enum { DEEPEST = 256 }; /* each level takes a descriptor */

static void add_directory(int fd, unsigned depth, struct usage *usage);

/* Names come and go while they are counted. A directory of another user is not the command's either. */
static void add_entry(int parent_fd, const char *name, unsigned depth, struct usage *usage)
{
    struct stat status;
    if (fstatat(parent_fd, name, &status, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
        return;
    bool is_directory = S_ISDIR(status.st_mode);
    uint64_t links = is_directory || !status.st_nlink ? 1 : status.st_nlink;
    usage->bytes += (uint64_t)status.st_blocks * 512 / links;
    if (!is_directory)
        return;
    if (depth == DEEPEST) {
        usage->trouble = USAGE_DEEP;
        return;
    }
    auto_fd int fd = open_directory_at(parent_fd, name);
    if (fd >= 0)
        add_directory(fd, depth + 1, usage);
    else if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP && status.st_uid == geteuid())
        usage->trouble = USAGE_CLOSED;
}

static void add_directory(int fd, unsigned depth, struct usage *usage)
{
    int trouble = 0;
    auto_dir DIR *directory = directories_list(fd);
    for (const struct dirent *entry; directory && (entry = directories_next(directory, &trouble));)
        add_entry(fd, entry->d_name, depth, usage);
    if (!directory || trouble)
        usage->trouble = USAGE_CLOSED;
}

void usage_add(int fd, struct usage *usage)
{
    add_directory(fd, 0, usage);
}

void usage_add_path(const char *path, struct usage *usage)
{
    auto_fd int fd = open_parent_absolute(path);
    if (fd >= 0)
        add_entry(fd, path_name(path), 0, usage);
    else if (errno != ENOENT && errno != ENOTDIR)
        usage->trouble = USAGE_CLOSED;
}

const char *usage_trouble_text(enum usage_trouble trouble)
{
    static const char *const texts[] = {
        [USAGE_CLOSED] = "a directory cannot be read",
        [USAGE_DEEP] = "directories are nested too deep to be counted",
    };
    return texts[trouble];
}
