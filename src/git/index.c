#include "git/index.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/reader.h"
#include "base/text.h"
#include "git/refs.h"
#include "kernel/beneath.h"

enum {
    HEAD_SIZE = 12,
    BEFORE_MODE = 24,        /* two times, device, inode */
    AFTER_MODE = 12,         /* user, group, size */
    NAME_SIZE_MASK = 0x0fff, /* of the flags; the other bits mean something */
    EXTENDED = 0x4000,
    STAGE_MASK = 0x3000,
    MORE_FLAGS_KNOWN = 0x6000,
    HASH_SIZE_MOST = GIT_DIGITS_MOST / 2,
    MOST_PARTS = 16, /* git has eight kinds */
};

struct index {
    struct reader rest;
    size_t hash_size;
    uint32_t version, left;
    /* The current entry: */
    uint32_t mode, flags, more_flags;
    const uint8_t *hash;
    size_t shared; /* how many bytes of its path are those of the entry before it; version 4 */
    char path[PATH_LONGEST];
};

/* How many bytes of the last name go, in version 4; as git's own variable-width numbers are. */
static bool read_strip(struct index *index, size_t *ret_strip)
{
    size_t value = 0;
    for (int i = 0; i < 5 && !index->rest.failed; i++) {
        uint32_t byte = reader_number(&index->rest, 1);
        value = (i ? (value + 1) << 7 : 0) | (byte & 0x7f);
        if (!(byte & 0x80)) {
            *ret_strip = value;
            return !index->rest.failed;
        }
    }
    return false;
}

/* Moves on to the next entry, whose name is then in `path`. */
static bool next_entry(struct index *index)
{
    struct reader *rest = &index->rest;
    size_t before_entry = rest->size;
    if (!index->left--)
        return false;
    reader_take(rest, BEFORE_MODE);
    index->mode = reader_number(rest, 4);
    reader_take(rest, AFTER_MODE);
    index->hash = reader_take(rest, index->hash_size).at;
    index->flags = reader_number(rest, 2);
    index->more_flags = index->flags & EXTENDED ? reader_number(rest, 2) : 0;
    if (rest->failed)
        return false;
    size_t kept = 0, strip = 0;
    if (index->version == 4) {
        size_t before = strlen(index->path);
        if (!read_strip(index, &strip) || strip > before)
            return false;
        kept = before - strip;
    }
    size_t size = strnlen((const char *)rest->at, rest->size);
    if (size == rest->size || kept + size >= sizeof(index->path))
        return false;
    index->shared = kept;
    memcpy(index->path + kept, rest->at, size + 1);
    /* Entries are padded to eight bytes, with one NUL at least; not so in version 4. */
    size_t entry = before_entry - rest->size + size;
    reader_take(rest, size + (index->version == 4 ? 1 : 8 - entry % 8));
    return !rest->failed;
}

static bool is_plain(const char *path)
{
    return *path && *path != '/' && strncmp(path, "../", 3) != 0 && !strstr(path, "/../");
}

static bool begin(struct index *index, const unsigned char *bytes, size_t size, size_t hash_size)
{
    if (size < HEAD_SIZE || memcmp(bytes, "DIRC", 4) != 0)
        return false;
    *index = (struct index){.rest = {bytes + 4, size - 4, false}, .hash_size = hash_size};
    index->version = reader_number(&index->rest, 4);
    index->left = reader_number(&index->rest, 4);
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
    return a->mode == b->mode && memcmp(a->hash, b->hash, SHA1_SIZE) == 0 &&
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
    struct reader rest = index->rest, name = reader_take(&rest, 4), content = reader_vector(&rest, 4);
    if (name.failed || content.failed || rest.size < index->hash_size)
        return false;
    *ret_part = (struct part){name.at, content.at, content.size};
    index->rest = rest;
    return true;
}

static bool is_at_hash(const struct index *index)
{
    return !index->rest.failed && index->rest.size == index->hash_size;
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
        sha1_of((struct bytes){0}, bytes_of((const char *)bytes, size - hash_size), hash);
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
           !(index->more_flags & ~(unsigned)MORE_FLAGS_KNOWN) && git_mode_is_written(index->mode) &&
           (!size || git_path_is_allowed(index->path, index->mode));
}

/* The sides of a conflict share a name, in the order of their stages. */
static bool comes_after(const struct index *index, const char *last, unsigned last_flags)
{
    int order = strcmp(last, index->path);
    return order < 0 ||
           (order == 0 && last_flags & STAGE_MASK && (last_flags & STAGE_MASK) < (index->flags & STAGE_MASK));
}

/* What the entries of an index say together. */
struct entries {
    bool are_in_order; /* and every one has a name: a difference to another index leaves names out */
    bool have_directories;
};

static bool read_entries(struct index *index, struct entries *ret_entries)
{
    char last[PATH_LONGEST] = "";
    unsigned last_flags = 0;
    struct entries entries = {.are_in_order = true};
    for (bool is_first = true; index->left; is_first = false) {
        if (!next_entry(index) || !entry_is_known(index))
            return false;
        entries.are_in_order &= *index->path && (is_first || comes_after(index, last, last_flags));
        entries.have_directories |= S_ISDIR(index->mode);
        last_flags = index->flags;
        memcpy(last, index->path, strlen(index->path) + 1);
    }
    *ret_entries = entries;
    return true;
}

/*
 * With "IEOT" threads of git's own read blocks of entries, each from the offset that stands there. Those must be where the entries
 * are that a reader finds one after the other, or git would read others than were checked.
 */
static bool blocks_are_sound(const unsigned char *bytes, size_t size, const struct git_index_part *table)
{
    struct index index;
    struct reader rest = {table->bytes, table->size, false};
    reader_take(&rest, 4);
    if (!begin(&index, bytes, size, table->hash_size))
        return false;
    while (rest.size) {
        uint32_t offset = reader_number(&rest, 4), count = reader_number(&rest, 4);
        if (!count || count > index.left || offset != size - index.rest.size)
            return false;
        for (uint32_t i = 0; i < count; i++) {
            if (!next_entry(&index) || (i == 0 && index.shared))
                return false;
        }
    }
    return !index.left;
}

static bool is_named(const struct git_index_part *part, const char *name)
{
    return memcmp(part->name, name, 4) == 0;
}

/* Reads the extensions after the entries: each is sound, and there once. Of two of a kind, git and bawn might obey different ones. */
static bool read_parts(struct index *index, size_t size, struct git_index_part ret_parts[MOST_PARTS],
                       size_t *ret_count)
{
    struct part found;
    size_t count = 0, entries_end = size - index->rest.size;
    while (next_part(index, &found)) {
        struct git_index_part part = {found.name, found.bytes, found.size, index->hash_size, entries_end};
        for (size_t i = 0; i < count; i++) {
            if (is_named(&ret_parts[i], (const char *)part.name))
                return false;
        }
        if (count == MOST_PARTS || !git_index_part_is_sound(&part))
            return false;
        ret_parts[count++] = part;
    }
    *ret_count = count;
    return is_at_hash(index);
}

/* Whether it is a difference to another is known only at its end, and then names may be missing: all are in that one. */
bool git_index_is_sound(const unsigned char *bytes, size_t size, size_t hash_size)
{
    struct index index;
    struct entries entries;
    struct git_index_part parts[MOST_PARTS];
    size_t count = 0;
    bool is_difference = false, is_sparse = false;
    if (size < HEAD_SIZE + hash_size || !begin(&index, bytes, size, hash_size) ||
        !read_entries(&index, &entries) || !read_parts(&index, size, parts, &count))
        return false;
    for (size_t i = 0; i < count; i++) {
        is_difference |= is_named(&parts[i], "link");
        is_sparse |= is_named(&parts[i], "sdir");
        if (is_named(&parts[i], "IEOT") && !blocks_are_sound(bytes, size, &parts[i]))
            return false;
    }
    return (entries.are_in_order || is_difference) && (!entries.have_directories || is_sparse) &&
           has_its_hash(bytes, size, hash_size);
}

size_t git_index_check(const unsigned char *bytes, size_t size)
{
    return git_index_is_sound(bytes, size, SHA1_SIZE)        ? (size_t)SHA1_SIZE
           : git_index_is_sound(bytes, size, HASH_SIZE_MOST) ? (size_t)HASH_SIZE_MOST
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
        text_hex(index.hash, hash_size, position.digits);
        if ((index.mode & S_IFMT) != SUBMODULE)
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

/* Is it the entry of the path, or of something in it? A sparse index has a directory in the place of what lies in that. */
static bool entry_covers(const char *entry, const char *path)
{
    size_t size = strlen(path), entry_size = strlen(entry);
    if (strncmp(entry, path, size) == 0 && (!entry[size] || entry[size] == '/'))
        return true;
    return entry_size && entry[entry_size - 1] == '/' && strncmp(path, entry, entry_size) == 0;
}

static enum git_tracked look_for(const unsigned char *bytes, size_t size, size_t hash_size, const char *path,
                                 struct git_position *ret_base)
{
    struct index index;
    struct part part;
    enum git_tracked result = GIT_TRACKED_NOT;
    *ret_base = (struct git_position){0};
    if (size < HEAD_SIZE + hash_size || !begin(&index, bytes, size, hash_size))
        return GIT_TRACKED_UNKNOWN;
    while (index.left) {
        if (!next_entry(&index))
            return GIT_TRACKED_UNKNOWN;
        if (entry_covers(index.path, path))
            result = GIT_TRACKED;
    }
    while (next_part(&index, &part)) {
        bool is_difference = memcmp(part.name, "link", 4) == 0 && part.size >= hash_size;
        if (is_difference)
            text_hex(part.bytes, hash_size, ret_base->digits);
    }
    if (strspn(ret_base->digits, "0") == 2 * hash_size)
        *ret_base = (struct git_position){0}; /* zeros: to none */
    return is_at_hash(&index) ? result : GIT_TRACKED_UNKNOWN;
}

enum git_tracked git_index_tracks(const unsigned char *bytes, size_t size, const char *path,
                                  struct git_position *ret_base)
{
    enum git_tracked result = look_for(bytes, size, SHA1_SIZE, path, ret_base);
    return result == GIT_TRACKED_UNKNOWN ? look_for(bytes, size, HASH_SIZE_MOST, path, ret_base) : result;
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
