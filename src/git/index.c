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
#include "base/sha256.h"
#include "base/text.h"
#include "git/sha1.h"
#include "kernel/beneath.h"

enum {
    HEAD_SIZE = 12,
    MODE_AT = 24,
    HASH_AT = 40,
    FLAGS_SIZE = 2,          /* and as many where there are more */
    NAME_SIZE_MASK = 0x0fff, /* of the flags; the other bits mean something */
    EXTENDED = 0x4000,
    STAGE_MASK = 0x3000,
    MORE_FLAGS_KNOWN = 0x6000,
    PART_HEAD_SIZE = 8, /* of what follows the entries: a name and a size */
    HASH_SIZE_MOST = GIT_DIGITS_MOST / 2,
};

struct index {
    const unsigned char *at, *end;
    size_t hash_size;
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
    size_t flags_at = HASH_AT + index->hash_size;
    if (!index->left-- || (size_t)(index->end - start) < flags_at + 2 * (size_t)FLAGS_SIZE)
        return false;
    index->entry = start;
    index->flags = half_at(start + flags_at);
    index->more_flags = index->flags & EXTENDED ? half_at(start + flags_at + FLAGS_SIZE) : 0;
    index->at += flags_at + (index->flags & EXTENDED ? 2 : 1) * (size_t)FLAGS_SIZE;
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

static bool begin(struct index *index, const unsigned char *bytes, size_t size, size_t hash_size)
{
    if (size < HEAD_SIZE || memcmp(bytes, "DIRC", 4) != 0)
        return false;
    *index = (struct index){.at = bytes + HEAD_SIZE,
                            .end = bytes + size,
                            .hash_size = hash_size,
                            .version = word_at(bytes + 4),
                            .left = word_at(bytes + 8)};
    return index->version >= 2 && index->version <= 4;
}

void git_index_read(const unsigned char *bytes, size_t size, git_index_name *name, void *context)
{
    struct index index;
    if (!begin(&index, bytes, size, SHA1_SIZE))
        return;
    while (next_entry(&index)) {
        if (is_plain(index.path))
            name(context, index.path);
    }
}

static bool is_same_entry(const struct index *a, const struct index *b)
{
    return memcmp(a->entry + MODE_AT, b->entry + MODE_AT, 4) == 0 &&
           memcmp(a->entry + HASH_AT, b->entry + HASH_AT, SHA1_SIZE) == 0 &&
           (a->flags & ~(unsigned)NAME_SIZE_MASK) == (b->flags & ~(unsigned)NAME_SIZE_MASK) &&
           a->more_flags == b->more_flags && strcmp(a->path, b->path) == 0;
}

/* What follows the entries, up to the hash of it all. */
struct part {
    const unsigned char *name, *bytes;
    size_t size;
};

/* Moves on to the next part. False at the end, and where it is cut off. */
static bool next_part(struct index *index, struct part *ret_part)
{
    size_t left = (size_t)(index->end - index->at), own = PART_HEAD_SIZE + index->hash_size;
    if (left < own || word_at(index->at + 4) > left - own)
        return false;
    *ret_part = (struct part){index->at, index->at + PART_HEAD_SIZE, word_at(index->at + 4)};
    index->at = ret_part->bytes + ret_part->size;
    return true;
}

static bool is_at_hash(const struct index *index)
{
    return (size_t)(index->end - index->at) == index->hash_size;
}

/* A cache has a name with a capital letter: who does not know it may leave it out. */
static bool is_cache(const struct part *part)
{
    return *part->name >= 'A' && *part->name <= 'Z';
}

static bool ends_in_caches(struct index *index)
{
    struct part part;
    while (next_part(index, &part)) {
        if (!is_cache(&part))
            return false;
    }
    return is_at_hash(index);
}

bool git_index_is_same(const unsigned char *bytes, size_t size, const unsigned char *other, size_t other_size)
{
    struct index a, b;
    if (!begin(&a, bytes, size, SHA1_SIZE) || !begin(&b, other, other_size, SHA1_SIZE) || a.left != b.left)
        return false;
    while (a.left) {
        if (!next_entry(&a) || !next_entry(&b) || !is_same_entry(&a, &b))
            return false;
    }
    return ends_in_caches(&a) && ends_in_caches(&b);
}

/* --- is it sound? ------------------------------------------------------------------------------------------------- */

/* One that was told not to (index.skipHash) leaves zeros. */
static bool has_its_hash(const unsigned char *bytes, size_t size, size_t hash_size)
{
    static const unsigned char none[HASH_SIZE_MOST];
    const unsigned char *end = bytes + size - hash_size;
    if (memcmp(end, none, hash_size) == 0)
        return true;
    if (hash_size == SHA1_SIZE) {
        unsigned char hash[SHA1_SIZE];
        sha1_of("", 0, bytes, size - hash_size, hash);
        return memcmp(end, hash, hash_size) == 0;
    }
    char digits[SHA256_HEX_SIZE], wanted[SHA256_HEX_SIZE];
    sha256_hex(bytes, size - hash_size, digits);
    text_hex(end, hash_size, wanted);
    return strcmp(digits, wanted) == 0;
}

/* git believes the size of a name that an entry gives, up to the largest that it can give. */
static bool entry_is_known(const struct index *index)
{
    size_t size = strlen(index->path), said = index->flags & NAME_SIZE_MASK;
    return said == (size < NAME_SIZE_MASK ? size : NAME_SIZE_MASK) &&
           !(index->more_flags & ~(unsigned)MORE_FLAGS_KNOWN);
}

/* The sides of a conflict share a name, in the order of their stages. */
static bool comes_after(const struct index *index, const char *last, unsigned last_flags)
{
    int order = strcmp(last, index->path);
    return order < 0 ||
           (order == 0 && last_flags & STAGE_MASK && (last_flags & STAGE_MASK) < (index->flags & STAGE_MASK));
}

/* Whether it is a difference to another is known only at its end, and then names may be missing: all are in that one. */
static bool is_sound(const unsigned char *bytes, size_t size, size_t hash_size)
{
    struct index index;
    struct part part;
    char last[PATH_LONGEST] = "";
    unsigned last_flags = 0;
    bool is_in_order = true, is_difference = false;
    if (size < HEAD_SIZE + hash_size || !begin(&index, bytes, size, hash_size))
        return false;
    for (bool is_first = true; index.left; is_first = false) {
        if (!next_entry(&index) || !entry_is_known(&index))
            return false;
        is_in_order &= *index.path && (is_first || comes_after(&index, last, last_flags));
        last_flags = index.flags;
        memcpy(last, index.path, strlen(index.path) + 1);
    }
    while (next_part(&index, &part)) {
        bool is_link = memcmp(part.name, "link", 4) == 0;
        bool is_known = is_link ? part.size >= hash_size : memcmp(part.name, "sdir", 4) == 0;
        if (!is_cache(&part) && !is_known)
            return false;
        is_difference |= is_link;
    }
    return is_at_hash(&index) && (is_in_order || is_difference) && has_its_hash(bytes, size, hash_size);
}

size_t git_index_check(const unsigned char *bytes, size_t size)
{
    return is_sound(bytes, size, SHA1_SIZE)        ? (size_t)SHA1_SIZE
           : is_sound(bytes, size, HASH_SIZE_MOST) ? (size_t)HASH_SIZE_MOST
                                                   : 0;
}

void git_index_objects(const unsigned char *bytes, size_t size, size_t hash_size, git_index_object *object,
                       void *context)
{
    enum { SUBMODULE = 0160000 };
    struct index index;
    struct git_position position;
    if (!begin(&index, bytes, size, hash_size))
        return;
    while (next_entry(&index)) {
        text_hex(index.entry + HASH_AT, hash_size, position.digits);
        if ((word_at(index.entry + MODE_AT) & S_IFMT) != SUBMODULE)
            object(context, position.digits);
    }
}

bool git_index_base(const unsigned char *bytes, size_t size, size_t hash_size, struct git_position *ret_base)
{
    struct index index;
    struct part part;
    if (!begin(&index, bytes, size, hash_size))
        return false;
    while (index.left) {
        if (!next_entry(&index))
            return false;
    }
    while (next_part(&index, &part)) {
        if (memcmp(part.name, "link", 4) == 0) {
            text_hex(part.bytes, hash_size, ret_base->digits);
            return strspn(ret_base->digits, "0") < 2 * hash_size; /* zeros: to none */
        }
    }
    return false;
}

/* --- of a git directory ------------------------------------------------------------------------------------------- */

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
