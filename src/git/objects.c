#include "git/objects.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/reader.h"
#include "base/text.h"
#include "git/refs.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"

enum { ALTERNATES_LARGEST = 64 * 1024, STORES_MOST = 32, HASH_MOST = GIT_HASH_MOST };

static const char hex[] = "0123456789abcdef";

/* --- names -------------------------------------------------------------------------------------------------------- */

bool git_is_object_path(const char *path)
{
    static const char *const endings[] = {".pack", ".idx", ".rev"};
    if (strcmp(path, "pack") == 0)
        return true;
    if (text_starts_with(path, "pack/pack-")) {
        const char *ending = path + strlen("pack/pack-");
        ending += strspn(ending, hex);
        for (size_t i = 0; i < array_len(endings); i++) {
            if (strcmp(ending, endings[i]) == 0)
                return true;
        }
        return false;
    }
    size_t first = strspn(path, hex);
    if (first != 2 || !path[2])
        return first == 2;
    size_t rest = path[2] == '/' ? strspn(path + 3, hex) : 0;
    return (rest == 38 || rest == 62) && !path[3 + rest];
}

const char *git_object_path(struct arena *arena, const char *digits)
{
    return arena_printf(arena, "%.2s/%s", digits, digits + 2);
}

/* --- the index of a pack ------------------------------------------------------------------------------------------ */

/* Where a hash lies in the table of an index: version 2 has them one after the other, version 1 each after an offset. */
struct table {
    int fd;
    off_t fanout, first;
    size_t stride, hash_size;
    uint32_t count; /* of all objects */
};

static bool read_at(int fd, void *bytes, size_t size, off_t at)
{
    return pread(fd, bytes, size, at) == (ssize_t)size;
}

/* How many objects have a first byte of at most this. */
static bool read_fanout(const struct table *table, unsigned byte, uint32_t *ret_count)
{
    unsigned char number[4];
    if (!read_at(table->fd, number, sizeof(number), table->fanout + (off_t)(byte * sizeof(number))))
        return false;
    *ret_count = reader_number(&(struct reader){number, sizeof(number), false}, sizeof(number));
    return true;
}

static bool open_table(int fd, size_t hash_size, struct table *ret_table)
{
    enum { FANOUT = 256 * 4 };
    static const unsigned char second[] = {0xff, 't', 'O', 'c', 0, 0, 0, 2};
    unsigned char head[sizeof(second)];
    struct stat status;
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || !read_at(fd, head, sizeof(head), 0))
        return false;
    bool is_second = memcmp(head, second, sizeof(head)) == 0;
    struct table table = {.fd = fd, .hash_size = hash_size, .stride = is_second ? hash_size : hash_size + 4};
    table.fanout = is_second ? (off_t)sizeof(second) : 0;
    table.first = table.fanout + FANOUT + (is_second ? 0 : 4);
    if (!read_fanout(&table, 255, &table.count))
        return false;
    /* What follows the names of version 2: sums and offsets, and at the end of both two hashes of the whole. */
    off_t each = (off_t)(is_second ? hash_size + 8 : hash_size + 4);
    if (table.fanout + FANOUT + (off_t)table.count * each + (off_t)(2 * hash_size) > status.st_size)
        return false;
    *ret_table = table;
    return true;
}

static size_t parse_digits(const char *digits, unsigned char ret_hash[HASH_MOST])
{
    size_t size = strspn(digits, hex) / 2;
    for (size_t i = 0; i < size && i < HASH_MOST; i++)
        ret_hash[i] =
            (unsigned char)((strchr(hex, digits[2 * i]) - hex) << 4 | (strchr(hex, digits[2 * i + 1]) - hex));
    return size;
}

bool git_pack_index_has(int index_fd, const char *digits)
{
    unsigned char wanted[HASH_MOST] = {0}, found[HASH_MOST];
    struct table table;
    struct git_position sound;
    uint32_t low = 0, high = 0;
    if (!git_position_parse(digits, &sound) || !open_table(index_fd, parse_digits(digits, wanted), &table) ||
        (wanted[0] && !read_fanout(&table, wanted[0] - 1U, &low)) || !read_fanout(&table, wanted[0], &high) ||
        high > table.count)
        return false;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (!read_at(table.fd, found, table.hash_size, table.first + (off_t)(middle * table.stride)))
            return false;
        int order = memcmp(found, wanted, table.hash_size);
        if (order == 0)
            return true;
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return false;
}

/* --- the whole store ---------------------------------------------------------------------------------------------- */

struct search {
    struct arena *arena;
    const char *digits;
    unsigned stores_left; /* that may be looked through: one may borrow from another that borrows from it */
};

/* A file of no bytes is what a crash leaves of an object. */
static bool has_bytes(int directory_fd, const char *path)
{
    struct stat status;
    auto_fd int fd = open_beneath(directory_fd, path, O_PATH, 0);
    return fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0;
}

/* How long a name is without its ending; 0 where it has another one. */
static size_t stem_size(const char *name, const char *ending)
{
    size_t size = strlen(name), of_ending = strlen(ending);
    return size > of_ending && strcmp(name + size - of_ending, ending) == 0 ? size - of_ending : 0;
}

static bool is_packed(const struct search *search, int objects_fd)
{
    auto_fd int packs_fd = open_beneath(objects_fd, "pack", O_RDONLY | O_DIRECTORY, 0);
    auto_dir DIR *list = packs_fd < 0 ? NULL : directories_list(packs_fd);
    bool found = false;
    for (const struct dirent *entry; list && !found && (entry = readdir(list));) {
        size_t size = stem_size(entry->d_name, ".idx");
        if (!size)
            continue;
        auto_fd int fd = open_beneath(packs_fd, entry->d_name, O_RDONLY | O_NONBLOCK, 0);
        found = fd >= 0 && git_pack_index_has(fd, search->digits) &&
                has_bytes(packs_fd, arena_printf(search->arena, "%.*s.pack", (int)size, entry->d_name));
    }
    return found;
}

static enum git_presence look(struct search *search, int objects_fd);

/* A line of the list of stores that this one borrows from. What lies behind a link, or in quotes, is not looked through. */
static enum git_presence look_there(struct search *search, int objects_fd, const char *line)
{
    char own[PATH_LONGEST];
    ssize_t size = readlink(fd_path(objects_fd).text, own, sizeof(own) - 1);
    if (size <= 0 || *line == '"' || search->stores_left == 0)
        return GIT_UNCLEAR;
    search->stores_left--;
    own[size] = '\0';
    auto_fd int fd = open_absolute(path_clean(search->arena, own, line), O_RDONLY | O_DIRECTORY);
    return fd < 0 ? GIT_UNCLEAR : look(search, fd);
}

static enum git_presence look_elsewhere(struct search *search, int objects_fd)
{
    enum git_presence presence = GIT_MISSING;
    auto_buf struct buf text = {0};
    auto_fd int file_fd = open_beneath(objects_fd, "info/alternates", O_RDONLY | O_NONBLOCK, 0);
    if (file_fd < 0)
        return errno == ENOENT ? GIT_MISSING : GIT_UNCLEAR;
    if (buf_read(&text, file_fd, ALTERNATES_LARGEST) < 0)
        return GIT_UNCLEAR;
    for (const char *line = buf_text(&text), *end; *line && presence != GIT_THERE;
         line = *end ? end + 1 : end) {
        end = strchrnul(line, '\n');
        if (end == line || *line == '#')
            continue;
        enum git_presence there =
            look_there(search, objects_fd, arena_copy(search->arena, line, (size_t)(end - line)));
        presence = there == GIT_MISSING ? presence : there;
    }
    return presence;
}

static enum git_presence look(struct search *search, int objects_fd)
{
    if (has_bytes(objects_fd, git_object_path(search->arena, search->digits)) ||
        is_packed(search, objects_fd))
        return GIT_THERE;
    return look_elsewhere(search, objects_fd);
}

bool git_objects_are_promised(int objects_fd)
{
    auto_fd int packs_fd = open_beneath(objects_fd, "pack", O_RDONLY | O_DIRECTORY, 0);
    auto_dir DIR *list = packs_fd < 0 ? NULL : directories_list(packs_fd);
    bool found = false;
    for (const struct dirent *entry; list && !found && (entry = readdir(list));)
        found = stem_size(entry->d_name, ".promisor") > 0;
    return found;
}

enum git_presence git_objects_have(int objects_fd, struct arena *arena, const char *digits)
{
    struct search search = {arena, digits, STORES_MOST};
    return look(&search, objects_fd);
}

/* --- many objects at once ----------------------------------------------------------------------------------------- */

struct git_pack_names *git_pack_names_open(int *index_fd, size_t hash_size)
{
    struct table table;
    if (!open_table(*index_fd, hash_size, &table))
        return NULL;
    struct git_pack_names *names = must_realloc(NULL, 1, sizeof(*names));
    names->fd = fd_take(index_fd);
    names->first = table.first;
    names->stride = table.stride;
    names->hash_size = hash_size;
    names->count = table.count;
    names->at = names->held = names->held_from = 0;
    return names;
}

void git_pack_names_close(struct git_pack_names *names)
{
    if (!names)
        return;
    close(names->fd);
    free(names);
}

/* The name of that number, or NULL where the file ends before. */
static const unsigned char *name_at(struct git_pack_names *names, uint32_t number)
{
    if (number < names->held_from || number >= names->held_from + names->held) {
        size_t room = sizeof(names->piece) / names->stride, left = names->count - number;
        size_t size = (left < room ? left : room) * names->stride;
        ssize_t got =
            pread(names->fd, names->piece, size, names->first + (off_t)number * (off_t)names->stride);
        names->held_from = number;
        names->held = got <= 0 ? 0 : (uint32_t)((size_t)got / names->stride);
        if (names->held == 0)
            return NULL;
    }
    return names->piece + (number - names->held_from) * names->stride;
}

const unsigned char *git_pack_names_next(struct git_pack_names *names, bool *ret_is_cut)
{
    const unsigned char *name = names->at < names->count ? name_at(names, names->at) : NULL;
    *ret_is_cut = !name && names->at < names->count;
    names->at += name != NULL;
    return name;
}

/*
 * Goes on from the last answer in steps that double, then halves the rest: near questions cost little, far ones a
 * logarithm. A damaged index gives wrong answers at worst, and ends.
 */
static bool names_have(struct git_pack_names *names, const unsigned char *hash)
{
    const unsigned char *name = names->at < names->count ? name_at(names, names->at) : NULL;
    uint32_t low = name && memcmp(name, hash, names->hash_size) <= 0 ? names->at : 0, high = low;
    for (uint32_t step = 1; high < names->count; step = step < names->count ? step * 2 : step) {
        name = name_at(names, high);
        if (!name || memcmp(name, hash, names->hash_size) >= 0)
            break;
        low = high + 1;
        high = names->count - high > step ? high + step : names->count;
    }
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        name = name_at(names, middle);
        if (name && memcmp(name, hash, names->hash_size) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    names->at = low;
    name = low < names->count ? name_at(names, low) : NULL;
    return name && memcmp(name, hash, names->hash_size) == 0;
}

void git_lookup_begin(int objects_fd, size_t hash_size, struct git_lookup *ret_lookup)
{
    *ret_lookup = (struct git_lookup){.objects_fd = objects_fd, .hash_size = hash_size};
    auto_fd int packs_fd = open_beneath(objects_fd, "pack", O_RDONLY | O_DIRECTORY, 0);
    auto_dir DIR *list = packs_fd < 0 ? NULL : directories_list(packs_fd);
    for (const struct dirent *entry; list && (entry = readdir(list));) {
        size_t size = stem_size(entry->d_name, ".idx");
        char pack[NAME_MAX + 8];
        snprintf(pack, sizeof(pack), "%.*s.pack", (int)size, entry->d_name);
        if (!size || !has_bytes(packs_fd, pack))
            continue;
        auto_fd int fd = open_beneath(packs_fd, entry->d_name, O_RDONLY | O_NONBLOCK, 0);
        struct git_pack_names *names = fd < 0 ? NULL : git_pack_names_open(&fd, hash_size);
        if (names)
            vec_push(&ret_lookup->packs, names);
    }
}

bool git_lookup_has(struct git_lookup *lookup, const unsigned char *hash)
{
    for (size_t i = 0; i < lookup->packs.count; i++) {
        if (names_have(lookup->packs.at[i], hash))
            return true;
    }
    char digits[2 * GIT_HASH_MOST + 1], path[sizeof(digits) + 1];
    text_hex(hash, lookup->hash_size, digits);
    snprintf(path, sizeof(path), "%.2s/%s", digits, digits + 2);
    return has_bytes(lookup->objects_fd, path);
}

void git_lookup_end(struct git_lookup *lookup)
{
    for (size_t i = 0; i < lookup->packs.count; i++)
        git_pack_names_close(lookup->packs.at[i]);
    vec_free(&lookup->packs);
}
