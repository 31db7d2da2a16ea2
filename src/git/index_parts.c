/* The extensions of git's index, each in the form that git writes. An unknown one is not sound: a later git may obey it. */
#include <ctype.h>
#include <string.h>
#include <sys/stat.h>

#include "base/attr.h"
#include "base/reader.h"
#include "git/index.h"

enum { DEEPEST_TREE = 2048, MODES_OF_CONFLICT = 3 };

/* Text up to a byte, which is passed too; NULL where it does not come. */
static const char *take_text(struct reader *rest, char end, size_t *ret_size)
{
    const uint8_t *found = rest->failed ? NULL : memchr(rest->at, end, rest->size);
    if (!found) {
        rest->failed = true;
        return NULL;
    }
    *ret_size = (size_t)(found - rest->at);
    return (const char *)reader_take(rest, *ret_size + 1).at;
}

/* A decimal number of at most nine digits, perhaps -1, up to a byte. */
static int64_t take_decimal(struct reader *rest, char end)
{
    size_t size = 0;
    int64_t number = 0;
    const char *text = take_text(rest, end, &size);
    if (text && size == 2 && memcmp(text, "-1", 2) == 0)
        return -1;
    if (!text || size == 0 || size > 9)
        rest->failed = true;
    for (size_t i = 0; !rest->failed && i < size; i++) {
        rest->failed = !isdigit((unsigned char)text[i]);
        number = number * 10 + (text[i] - '0');
    }
    return rest->failed ? 0 : number;
}

/* A name in the tree of directories: one name, and none that no index may hold. */
static bool is_tree_name(const char *name, size_t size, size_t depth)
{
    return depth == 0 ? size == 0 : !memchr(name, '/', size) && git_path_is_allowed(name, S_IFREG);
}

/* Directories and the trees that they were: a name, two numbers and, where it is valid, a hash; then those in it. */
static bool tree_is_sound(struct reader rest, size_t hash_size)
{
    int64_t left[DEEPEST_TREE] = {1};
    for (size_t depth = 0;;) {
        size_t size = 0;
        const char *name = take_text(&rest, '\0', &size);
        int64_t entries = take_decimal(&rest, ' '), inner = take_decimal(&rest, '\n');
        if (entries >= 0)
            reader_take(&rest, hash_size);
        if (rest.failed || inner < 0 || !is_tree_name(name, size, depth))
            return false;
        left[depth]--;
        if (inner && ++depth == DEEPEST_TREE)
            return false;
        if (inner)
            left[depth] = inner;
        while (depth && !left[depth])
            depth--;
        if (depth == 0)
            return rest.size == 0;
    }
}

/* An octal mode as text, or 0 for a side that was not there. */
static unsigned take_mode(struct reader *rest)
{
    size_t size = 0;
    unsigned mode = 0;
    const char *text = take_text(rest, '\0', &size);
    rest->failed |= !text || size == 0 || size > 6;
    for (size_t i = 0; !rest->failed && i < size; i++) {
        rest->failed = text[i] < '0' || text[i] > '7';
        mode = mode << 3 | (unsigned)(text[i] - '0');
    }
    rest->failed |= mode != 0 && !git_mode_is_written(mode);
    return rest->failed ? 0 : mode;
}

/* The sides of conflicts that were resolved: a path, three modes, and a hash for each side that there was. */
static bool conflicts_are_sound(struct reader rest, size_t hash_size)
{
    while (rest.size && !rest.failed) {
        size_t size = 0, sides = 0;
        const char *path = take_text(&rest, '\0', &size);
        for (size_t i = 0; i < MODES_OF_CONFLICT; i++) {
            unsigned mode = take_mode(&rest);
            sides += mode != 0;
            rest.failed |= path && mode && !git_path_is_allowed(path, mode);
        }
        reader_take(&rest, sides * hash_size);
    }
    return !rest.failed;
}

static uint64_t take_word(struct reader *rest)
{
    uint64_t high = reader_number(rest, 4);
    return high << 32 | reader_number(rest, 4);
}

/*
 * A compressed set of bits: their number, the number of words, the words, and where the last head is. A head says how many words
 * are all the same, and how many follow it as they are.
 */
static bool take_bits(struct reader *rest)
{
    uint64_t bits = reader_number(rest, 4), words = reader_number(rest, 4), last_head = 0, stands_for = 0;
    if (rest->failed || words == 0 || words > rest->size / 8)
        return false;
    struct reader body = reader_take(rest, (size_t)words * 8);
    for (uint64_t at = 0; at < words;) {
        uint64_t head = take_word(&body), same = head >> 1 & 0xffffffff, literal = head >> 33;
        last_head = at;
        at += 1 + literal;
        stands_for += same + literal;
        if (at > words || stands_for > bits / 64 + 1)
            return false;
        reader_take(&body, (size_t)literal * 8);
    }
    return reader_number(rest, 4) == last_head && !rest->failed;
}

static bool difference_is_sound(struct reader rest, size_t hash_size)
{
    reader_take(&rest, hash_size);
    if (!rest.failed && rest.size == 0)
        return true;
    bool has_deletions = take_bits(&rest), has_replacements = take_bits(&rest);
    return has_deletions && has_replacements && rest.size == 0;
}

/* The token is handed to the monitor: printable, as monitors make them. */
static bool monitor_is_sound(struct reader rest)
{
    size_t size = 0;
    uint32_t version = reader_number(&rest, 4);
    if (version == 1)
        reader_take(&rest, 8);
    const char *token = version == 2 ? take_text(&rest, '\0', &size) : NULL;
    for (size_t i = 0; token && i < size; i++) {
        if (!isgraph((unsigned char)token[i]))
            return false;
    }
    uint32_t of_bits = reader_number(&rest, 4);
    return (version == 1 || token) && !rest.failed && of_bits == rest.size && take_bits(&rest) &&
           rest.size == 0;
}

/* Where the extensions begin. A thread of git's own reads them from there. */
static bool end_is_sound(struct reader rest, const struct git_index_part *part)
{
    return rest.size == 4 + part->hash_size && reader_number(&rest, 4) == part->entries_end;
}

bool git_index_part_is_sound(const struct git_index_part *part)
{
    struct reader rest = {part->bytes, part->size, false};
    const char *name = (const char *)part->name;
    if (memcmp(name, "TREE", 4) == 0)
        return part->size == 0 || tree_is_sound(rest, part->hash_size);
    if (memcmp(name, "REUC", 4) == 0)
        return conflicts_are_sound(rest, part->hash_size);
    if (memcmp(name, "link", 4) == 0)
        return difference_is_sound(rest, part->hash_size);
    if (memcmp(name, "FSMN", 4) == 0)
        return monitor_is_sound(rest);
    if (memcmp(name, "UNTR", 4) ==
        0) /* names of files that git does not track; git reads them within these bounds */
        return part->size > 1 && part->bytes[part->size - 1] == '\0';
    if (memcmp(name, "IEOT", 4) == 0)
        return part->size > 4 && (part->size - 4) % 8 == 0 && reader_number(&rest, 4) == 1;
    if (memcmp(name, "EOIE", 4) == 0)
        return end_is_sound(rest, part);
    return memcmp(name, "sdir", 4) == 0 && part->size == 0;
}
