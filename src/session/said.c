/*
 * Notes that are said once in a project, and again when their text changes. A file of bawn's state remembers the hash of each: one line a
 * note. No sandbox sees it. A file that is full or damaged begins anew, and then the notes are said again; so
 * they are where it cannot be read or written.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "kernel/directories.h"
#include "session/run_parts.h"

enum { LINE_SIZE = SHA256_HEX_SIZE, LARGEST = 512 * LINE_SIZE };

/* "<hash>\n" */
static void make_line(const struct loaded *loaded, const char *text, char ret_line[LINE_SIZE])
{
    const struct policy *policy = &loaded->policy;
    auto_buf struct buf named = {0};
    buf_add_str(&named, policy->workspaces.count ? policy->workspaces.at[0].path : loaded->request.directory);
    buf_add_char(&named, '\n');
    buf_add_str(&named, text);
    sha256_hex(named.bytes, named.size, ret_line);
    ret_line[LINE_SIZE - 1] = '\n';
}

bool run_has_said(const struct loaded *loaded, const char *text)
{
    char line[LINE_SIZE];
    struct err ignored;
    auto_buf struct buf known = {0};
    const char *folder = arena_printf(loaded->policy.arena, "%s/bawn", loaded->request.starts[START_STATE]);
    auto_fd int folder_fd = directories_open_made(folder, &ignored);
    auto_fd int fd =
        folder_fd < 0 ? -1
                      : openat(folder_fd, "said", O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || buf_read(&known, fd, LARGEST) < 0)
        return false;
    bool is_fit = known.size % LINE_SIZE == 0 && known.size < LARGEST;
    if (!is_fit && ftruncate(fd, 0) < 0)
        return false;
    make_line(loaded, text, line);
    for (size_t at = 0; is_fit && at < known.size; at += LINE_SIZE) {
        if (memcmp(known.bytes + at, line, LINE_SIZE) == 0)
            return true;
    }
    if (write(fd, line, sizeof(line)) < 0)
        return false; /* it is said again, next time */
    return false;
}
