/*
 * Adds lines to a policy file that somebody was shown before, in a folder that a sandbox may write meanwhile: a workspace.
 *
 * 1. No link is followed, neither in the folder's path nor at the file's own name.
 * 2. The new content is written aside and takes the name in one step: a crash leaves the old file or the new one.
 * 3. It takes the name only from the content that was read. The names are exchanged first; the old file is
 *    then looked at under the name that the new one had. If it is another one, the names are exchanged back.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "kernel/beneath.h"
#include "trust/trust.h"

enum { LARGEST = 1 << 20 }; /* as the policy itself reads it */

/* --- reading -------------------------------------------------------------------------------------------------------- */

/* Opens a regular file. Returns -1 with errno; ELOOP for anything that is no regular file. */
static int open_regular(int folder_fd, const char *name, struct stat *ret_status)
{
    auto_fd int fd = open_beneath(folder_fd, name, O_RDONLY | O_NONBLOCK, 0);
    if (fd < 0 || fstat(fd, ret_status) < 0)
        return -1;
    if (!S_ISREG(ret_status->st_mode)) {
        errno = ELOOP;
        return -1;
    }
    return fd_take(&fd);
}

int policy_file_read(struct arena *arena, const char *path, mode_t mode, struct policy_file *ret_file,
                     struct err *err)
{
    struct stat status;
    *ret_file = (struct policy_file){.path = path, .name = path_name(path), .mode = mode};
    ret_file->folder_fd = open_absolute(path_parent(arena, path), O_PATH | O_DIRECTORY);
    auto_fd int fd =
        ret_file->folder_fd < 0 ? -1 : open_regular(ret_file->folder_fd, ret_file->name, &status);
    if (fd < 0 && ret_file->folder_fd >= 0 && errno == ENOENT)
        return 0;
    if (fd < 0 && errno == ELOOP) {
        err_set(err, "%s is not a regular file, and a symlink is not followed here", path);
        return err_hint(err, "make it a regular file, or remove it");
    }
    if (fd < 0 || buf_read(&ret_file->before, fd, LARGEST + 1) < 0)
        return err_sys(err, errno, "cannot read %s", path);
    if (ret_file->before.size > LARGEST)
        return err_sys(err, EFBIG, "cannot read %s", path);
    ret_file->is_there = true;
    ret_file->mode = status.st_mode & 0777;
    buf_add(&ret_file->after, buf_text(&ret_file->before), ret_file->before.size);
    return 0;
}

void policy_file_state(const struct policy_file *file, char ret_state[SHA256_HEX_SIZE])
{
    auto_buf struct buf all = {0};
    buf_add_char(&all, file->is_there ? 'f' : 'n'); /* an empty file is not a missing one */
    buf_add(&all, buf_text(&file->before), file->before.size);
    sha256_hex(all.bytes, all.size, ret_state);
}

static bool has_line(const struct buf *text, const char *line)
{
    size_t size = strlen(line);
    for (size_t at = 0; at < text->size;) {
        const char *end = memchr(text->bytes + at, '\n', text->size - at);
        size_t length = end ? (size_t)(end - text->bytes) - at : text->size - at;
        if (length == size && memcmp(text->bytes + at, line, size) == 0)
            return true;
        at += length + 1;
    }
    return false;
}

bool policy_file_add(struct policy_file *file, const char *line)
{
    struct buf *text = &file->after;
    if (has_line(text, line))
        return false;
    if (text->size && text->bytes[text->size - 1] != '\n')
        buf_add_char(text, '\n');
    buf_printf(text, "%s\n", line);
    return true;
}

/* --- writing -------------------------------------------------------------------------------------------------------- */

static bool has_content(int folder_fd, const char *name, const struct buf *wanted)
{
    struct stat status;
    auto_buf struct buf text = {0};
    auto_fd int fd = open_regular(folder_fd, name, &status);
    return fd >= 0 && buf_read(&text, fd, LARGEST + 1) == 0 && text.size == wanted->size &&
           memcmp(buf_text(&text), buf_text(wanted), text.size) == 0;
}

static int fail_as_changed(void)
{
    errno = EBUSY;
    return -1;
}

/* For a file that was not there. Not every file system has RENAME_NOREPLACE; a hard link replaces nothing either. */
static int take_free_name(const struct policy_file *file, const char *aside)
{
    if (renameat2(file->folder_fd, aside, file->folder_fd, file->name, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno == EINVAL && linkat(file->folder_fd, aside, file->folder_fd, file->name, 0) == 0)
        return unlinkat(file->folder_fd, aside, 0);
    return errno == EEXIST ? fail_as_changed() : -1;
}

static int exchange(const struct policy_file *file, const char *aside)
{
    return renameat2(file->folder_fd, aside, file->folder_fd, file->name, RENAME_EXCHANGE);
}

static int take_name(const struct policy_file *file, const char *aside)
{
    if (!file->is_there)
        return take_free_name(file, aside);
    if (exchange(file, aside) == 0) {
        if (has_content(file->folder_fd, aside, &file->before))
            return unlinkat(file->folder_fd, aside, 0);
        return exchange(file, aside) < 0 ? -1 : fail_as_changed();
    }
    if (errno == ENOENT)
        return fail_as_changed();
    /* EINVAL: not every file system can exchange names. */
    if (errno != EINVAL)
        return -1;
    return has_content(file->folder_fd, file->name, &file->before)
               ? renameat(file->folder_fd, aside, file->folder_fd, file->name)
               : fail_as_changed();
}

/* The new content under a name that nobody else has. Returns -1 with errno. */
static int write_aside(const struct policy_file *file, const char *aside)
{
    auto_fd int fd =
        openat(file->folder_fd, aside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || fchmod(fd, file->mode) < 0 || write_whole(fd, file->after.bytes, file->after.size) < 0)
        return -1;
    return fsync(fd);
}

int policy_file_write(struct arena *arena, const struct policy_file *file, struct err *err)
{
    unsigned char number[8];
    char digits[2 * sizeof(number) + 1];
    if (getrandom(number, sizeof(number), 0) != (ssize_t)sizeof(number))
        return err_sys(err, errno, "cannot get random bytes");
    text_hex(number, sizeof(number), digits);
    const char *aside = arena_printf(arena, "%s.%s", file->name, digits);
    if (write_aside(file, aside) == 0 && take_name(file, aside) == 0) {
        /* What was written aside could be replaced there before it took the name. */
        if (has_content(file->folder_fd, file->name, &file->after))
            return 0;
        errno = EBUSY;
    }
    int why = errno;
    unlinkat(file->folder_fd, aside, 0);
    if (why != EBUSY)
        return err_sys(err, why, "cannot write %s", file->path);
    err_set(err, "%s was changed in the meantime", file->path);
    return err_hint(err, "look at it again");
}

void policy_file_free(struct policy_file *file)
{
    fd_close(file->folder_fd);
    buf_free(&file->before);
    buf_free(&file->after);
}
