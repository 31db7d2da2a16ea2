#include "git/index.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/fd.h"
#include "base/path.h"
#include "kernel/beneath.h"

enum { HEAD_SIZE = 12, FIXED_SIZE = 62, EXTENDED = 0x4000, EXTENDED_SIZE = 2 };

struct index {
    const unsigned char *at, *end;
    uint32_t version, left;
    char path[PATH_LONGEST];
};

static uint32_t word_at(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* How many bytes of the last name go, in version 4; as git's own variable-width numbers are. */
static bool read_strip(struct index *index, size_t *ret_strip)
{
    size_t value = 0;
    for (int i = 0; i < 5 && index->at < index->end; i++) {
        unsigned char byte = *index->at++;
        value = (i ? (value + 1) << 7 : 0) | (byte & 0x7f);
        if (!(byte & 0x80)) {
            *ret_strip = value;
            return true;
        }
    }
    return false;
}

/* Moves on to the next entry, whose name is then in `path`. */
static bool next_entry(struct index *index)
{
    const unsigned char *start = index->at;
    if (!index->left-- || index->end - start < FIXED_SIZE + EXTENDED_SIZE)
        return false;
    unsigned flags = (unsigned)start[FIXED_SIZE - 2] << 8 | start[FIXED_SIZE - 1];
    index->at += FIXED_SIZE + (flags & EXTENDED ? EXTENDED_SIZE : 0);
    size_t kept = 0, strip = 0;
    if (index->version == 4) {
        size_t before = strlen(index->path);
        if (!read_strip(index, &strip) || strip > before)
            return false;
        kept = before - strip;
    }
    const unsigned char *name_end = memchr(index->at, '\0', (size_t)(index->end - index->at));
    size_t size = name_end ? (size_t)(name_end - index->at) : 0;
    if (!name_end || kept + size >= sizeof(index->path))
        return false;
    memcpy(index->path + kept, index->at, size + 1);
    /* Entries are padded to eight bytes, with one NUL at least; not so in version 4. */
    size_t entry = (size_t)(name_end - start);
    index->at = index->version == 4 ? name_end + 1 : start + (entry + 8) / 8 * 8;
    return index->at <= index->end;
}

static bool is_plain(const char *path)
{
    return *path && *path != '/' && strncmp(path, "../", 3) != 0 && !strstr(path, "/../");
}

void git_index_read(const unsigned char *bytes, size_t size, git_index_name *name, void *context)
{
    if (size < HEAD_SIZE || memcmp(bytes, "DIRC", 4) != 0)
        return;
    struct index index = {bytes + HEAD_SIZE, bytes + size, word_at(bytes + 4), word_at(bytes + 8), ""};
    if (index.version < 2 || index.version > 4)
        return;
    while (next_entry(&index)) {
        if (is_plain(index.path))
            name(context, index.path);
    }
}

void git_index_names(const char *git_dir, size_t least, size_t most, git_index_name *name, void *context)
{
    char path[PATH_LONGEST];
    struct stat status;
    snprintf(path, sizeof(path), "%s/index", git_dir);
    auto_fd int fd = open_absolute(path, O_RDONLY | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
        return;
    size_t size = (size_t)status.st_size;
    if (size < least || size > most)
        return;
    auto_free unsigned char *bytes = must_realloc(NULL, size + 1, 1);
    if (read(fd, bytes, size) == (ssize_t)size)
        git_index_read(bytes, size, name, context);
}
