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

enum {
    HEAD_SIZE = 12,
    MODE_AT = 24,
    HASH_AT = 40,
    FIXED_SIZE = 62,
    NAME_SIZE_MASK = 0x0fff, /* of the flags; the other bits mean something */
    EXTENDED = 0x4000,
    EXTENDED_SIZE = 2,
    HASH_SIZE = 20,
};

struct index {
    const unsigned char *at, *end;
    uint32_t version, left;
    const unsigned char *entry; /* the current one */
    unsigned flags, more_flags; /* of it */
    char path[PATH_LONGEST];
};

static uint32_t word_at(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static unsigned half_at(const unsigned char *at)
{
    return (unsigned)at[0] << 8 | at[1];
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
    index->entry = start;
    index->flags = half_at(start + FIXED_SIZE - 2);
    index->more_flags = index->flags & EXTENDED ? half_at(start + FIXED_SIZE) : 0;
    index->at += FIXED_SIZE + (index->flags & EXTENDED ? EXTENDED_SIZE : 0);
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

static bool begin(struct index *index, const unsigned char *bytes, size_t size)
{
    if (size < HEAD_SIZE || memcmp(bytes, "DIRC", 4) != 0)
        return false;
    *index = (struct index){.at = bytes + HEAD_SIZE,
                            .end = bytes + size,
                            .version = word_at(bytes + 4),
                            .left = word_at(bytes + 8)};
    return index->version >= 2 && index->version <= 4;
}

void git_index_read(const unsigned char *bytes, size_t size, git_index_name *name, void *context)
{
    struct index index;
    if (!begin(&index, bytes, size))
        return;
    while (next_entry(&index)) {
        if (is_plain(index.path))
            name(context, index.path);
    }
}

static bool is_same_entry(const struct index *a, const struct index *b)
{
    return memcmp(a->entry + MODE_AT, b->entry + MODE_AT, 4) == 0 &&
           memcmp(a->entry + HASH_AT, b->entry + HASH_AT, HASH_SIZE) == 0 &&
           (a->flags & ~(unsigned)NAME_SIZE_MASK) == (b->flags & ~(unsigned)NAME_SIZE_MASK) &&
           a->more_flags == b->more_flags && strcmp(a->path, b->path) == 0;
}

/* Behind the entries: are there only caches, whose names have a capital letter, and the hash of it all? */
static bool ends_in_caches(const struct index *index)
{
    const unsigned char *at = index->at;
    while (index->end - at > HASH_SIZE) {
        if (index->end - at < HASH_SIZE + 8 || *at < 'A' || *at > 'Z' ||
            word_at(at + 4) > (size_t)(index->end - at) - HASH_SIZE - 8)
            return false;
        at += 8 + word_at(at + 4);
    }
    return index->end - at == HASH_SIZE;
}

bool git_index_is_same(const unsigned char *bytes, size_t size, const unsigned char *other, size_t other_size)
{
    struct index a, b;
    if (!begin(&a, bytes, size) || !begin(&b, other, other_size) || a.left != b.left)
        return false;
    while (a.left) {
        if (!next_entry(&a) || !next_entry(&b) || !is_same_entry(&a, &b))
            return false;
    }
    return ends_in_caches(&a) && ends_in_caches(&b);
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
