#include "trust/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "kernel/directories.h"

enum { LARGEST = 1 << 20 }; /* as the policy itself reads it */

static int read_policy(const char *path, struct buf *ret_text, mode_t *ret_mode, struct err *err)
{
    auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    *ret_mode = 0600;
    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0 || fstat(fd, &status) < 0)
        return err_sys(err, errno, "cannot read %s", path);
    *ret_mode = status.st_mode & 0777;
    if (buf_read(ret_text, fd, LARGEST + 1) < 0)
        return err_sys(err, errno, "cannot read %s", path);
    return ret_text->size > LARGEST ? err_sys(err, EFBIG, "cannot read %s", path) : 0;
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

int own_policy_add(struct arena *arena, const char *path, const char *line, struct err *err)
{
    auto_buf struct buf text = {0};
    mode_t mode;
    auto_free char *real = realpath(path, NULL);
    const char *target = real ? real : path;
    if (directories_make(path_parent(arena, target), err) < 0 || read_policy(target, &text, &mode, err) < 0)
        return -1;
    if (has_line(&text, line))
        return 0;
    if (text.size && text.bytes[text.size - 1] != '\n')
        buf_add_char(&text, '\n');
    buf_printf(&text, "%s\n", line);
    char *aside = arena_printf(arena, "%s.XXXXXX", target);
    auto_fd int fd = mkostemp(aside, O_CLOEXEC);
    if (fd < 0)
        return err_sys(err, errno, "cannot write beside %s", target);
    if (fchmod(fd, mode) < 0 || write(fd, text.bytes, text.size) != (ssize_t)text.size || fsync(fd) < 0 ||
        rename(aside, target) < 0) {
        err_sys(err, errno, "cannot write %s", target);
        unlink(aside);
        return -1;
    }
    return 1;
}
