#include "kernel/unix_sockets.h"

#include <fcntl.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"

const char *unix_sockets_read(struct arena *arena)
{
    enum { LARGEST = 4 * 1024 * 1024 };
    auto_fd int fd = open("/proc/net/unix", O_RDONLY | O_CLOEXEC);
    auto_buf struct buf list = {0};
    if (fd >= 0)
        buf_read(&list, fd, LARGEST);
    return arena_copy(arena, list.bytes, list.size);
}

/* "Num RefCount Protocol Flags Type St Inode Path": seven words before the name, which the rest of the line is. */
static const char *name_in(const char *line, size_t size)
{
    enum { WORDS_BEFORE = 7 };
    const char *at = line, *end = line + size;
    for (int words = 0; words < WORDS_BEFORE; words++) {
        while (at < end && *at == ' ')
            at++;
        while (at < end && *at != ' ')
            at++;
    }
    return at < end ? at + 1 : end;
}

const char *unix_sockets_next(const char **list, struct arena *arena)
{
    while (**list) {
        const char *line = *list;
        size_t size = strcspn(line, "\n");
        *list += size + (line[size] == '\n');
        const char *name = name_in(line, size), *end = line + size;
        bool is_head = size >= 3 && strncmp(line, "Num", 3) == 0;
        if (name < end && *name != '@' && !is_head)
            return arena_copy(arena, name, (size_t)(end - name));
    }
    return NULL;
}
