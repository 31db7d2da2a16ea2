/*
 * The form of what lies below objects/. An object's content is not judged here: git's own fsck does that, for whatever a ref comes
 * to name. A name and the first bytes tell whether git would take the file for what it is called.
 */
#include <string.h>

#include "base/attr.h"
#include "base/reader.h"
#include "base/text.h"
#include "git/judge.h"
#include "git/judge_form.h"
#include "git/refs.h"

enum {
    HEAD_SIZE = 12,          /* of a pack, and of most files beside it */
    FANOUT_SIZE = 256 * 4,   /* of an index of a pack: how many objects have a first byte of at most this */
    INDEX_HEAD_SIZE = 8,     /* of its second version, before the fanout */
    LIST_MOST = 1024 * 1024, /* of lists of packs and of commit graphs */
    LEAST_OF_OBJECT = 8,     /* a zlib stream with a checksum is no smaller */
};

static const char digits[] = "0123456789abcdef";

static const char no_object[] = "is not in the form of a git object";
static const char no_pack[] = "is not in the form of its name (a pack, or what belongs to one)";
static const char unknown[] = "is not a file that git keeps among its objects";
static const char borrows[] = "makes git read objects from elsewhere";

/* Is it the name of an object that lies by itself: "ab/cdef…"? */
static bool is_loose(const char *path)
{
    size_t rest = strspn(path, digits) == 2 && path[2] == '/' ? strspn(path + 3, digits) : 0;
    return (rest == 38 || rest == 62) && !path[3 + rest];
}

static bool is_one_of(const char *text, const char *const *all, size_t count)
{
    for (size_t i = 0; text && i < count; i++) {
        if (strcmp(text, all[i]) == 0)
            return true;
    }
    return false;
}

static bool is_directory_name(const char *path, size_t size)
{
    static const char *const known[] = {"pack", "info", "info/commit-graphs", "pack/multi-pack-index.d"};
    for (size_t i = 0; i < array_len(known); i++) {
        if (strlen(known[i]) == size && memcmp(path, known[i], size) == 0)
            return true;
    }
    return size == 2 && strspn(path, digits) >= 2;
}

/* Left behind by a git that was killed. git never reads these, and removes them. */
static bool is_temporary(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    bool is_placed = !slash || is_directory_name(path, (size_t)(slash - path));
    return is_placed && (text_starts_with(name, "tmp_") ||
                         (text_starts_with(path, "pack/") && text_starts_with(name, ".tmp-")));
}

/* Objects on their way in are laid into a directory of their own, which git removes if it is left behind. */
static const char *without_incoming(const char *path)
{
    const char *slash = text_starts_with(path, "tmp_objdir-") ? strchr(path, '/') : NULL;
    return slash ? slash + 1 : path;
}

/* Files that begin with four letters, by how their names end. */
static const struct {
    const char *ending, *magic;
} magics[] = {
    {".pack", "PACK"},
    {".rev", "RIDX"},
    {".bitmap", "BITM"},
    {".mtimes", "MTME"},
    {"/multi-pack-index", "MIDX"},
    {".midx", "MIDX"},
    {"/commit-graph", "CGPH"},
    {".graph", "CGPH"},
};

static const char *magic_of(const char *path)
{
    for (size_t i = 0; i < array_len(magics); i++) {
        if (text_ends_with(path, magics[i].ending))
            return magics[i].magic;
    }
    return NULL;
}

/* What follows a hash, if there is one; NULL otherwise. */
static const char *after_hash(const char *hash)
{
    size_t size = strspn(hash, digits);
    return (size == 40 || size == GIT_DIGITS_MOST) && hash[size] == '.' ? hash + size : NULL;
}

/* "START", a hash, and an ending? Returns the ending, or NULL. */
static const char *ending_of(const char *path, const char *start)
{
    return text_starts_with(path, start) ? after_hash(path + strlen(start)) : NULL;
}

/* The hash in the name of a pack: "pack/pack-HASH.idx", or "pack/loose-HASH.idx" from git's maintenance; NULL where it is no such name. */
static const char *pack_hash(const char *path)
{
    const char *word = text_starts_with(path, "pack/") ? path + strlen("pack/") : "";
    size_t size = strspn(word, "abcdefghijklmnopqrstuvwxyz");
    return size && word[size] == '-' ? word + size + 1 : NULL;
}

/* Do pack/ and info/ have files of this name? */
static bool is_known(const char *path)
{
    static const char *const of_pack[] = {".pack",   ".idx",  ".rev",     ".bitmap",
                                          ".mtimes", ".keep", ".promisor"};
    static const char *const of_many[] = {".bitmap", ".rev"};
    static const char *const alone[] = {"pack/multi-pack-index", "info/commit-graph"};
    static const char *const of_layer[] = {".midx"}, *const of_graph[] = {".graph"};
    const char *hash = pack_hash(path);
    return is_one_of(hash ? after_hash(hash) : NULL, of_pack, array_len(of_pack)) ||
           is_one_of(ending_of(path, "pack/multi-pack-index-"), of_many, array_len(of_many)) ||
           is_one_of(ending_of(path, "pack/multi-pack-index.d/multi-pack-index-"), of_layer,
                     array_len(of_layer)) ||
           is_one_of(ending_of(path, "info/commit-graphs/graph-"), of_graph, array_len(of_graph)) ||
           is_one_of(path, alone, array_len(alone));
}

static bool is_list(const char *path)
{
    static const char *const lists[] = {"info/packs", "info/commit-graphs/commit-graph-chain",
                                        "pack/multi-pack-index.d/multi-pack-index-chain"};
    return is_one_of(path, lists, array_len(lists));
}

size_t git_store_wants(const char *path)
{
    path = without_incoming(path);
    if (is_loose(path))
        return 2;
    if (is_list(path))
        return LIST_MOST;
    if (!is_known(path))
        return 0;
    return text_ends_with(path, ".idx") ? INDEX_HEAD_SIZE + FANOUT_SIZE : magic_of(path) ? HEAD_SIZE : 0;
}

/* --- forms ------------------------------------------------------------------------------------------------------------------- */

/* The head of a zlib stream: its method, its window, and a sum over both. */
static bool is_compressed(struct bytes bytes)
{
    const unsigned char *at = (const unsigned char *)bytes.at;
    return bytes.size >= 2 && (at[0] & 0x8f) == 0x08 && (at[0] << 8 | at[1]) % 31 == 0;
}

/* Is the file as large as the number of objects in it says? */
static bool is_pack_index(const struct git_entry *entry, const char *path)
{
    static const unsigned char second[] = {0xff, 't', 'O', 'c', 0, 0, 0, 2};
    uint64_t hash_size = strspn(pack_hash(path), digits) / 2;
    struct reader rest = {(const uint8_t *)entry->bytes.at, entry->bytes.size, false};
    bool is_second = rest.size >= sizeof(second) && memcmp(rest.at, second, sizeof(second)) == 0;
    uint32_t count = 0;
    if (is_second)
        reader_take(&rest, sizeof(second));
    for (unsigned i = 0; i < 256; i++) {
        uint32_t next = reader_number(&rest, 4);
        if (next < count)
            return false;
        count = next;
    }
    uint64_t least = FANOUT_SIZE + 2 * hash_size +
                     (is_second ? INDEX_HEAD_SIZE + count * (hash_size + 8) : count * (hash_size + 4));
    return !rest.failed && entry->length >= least;
}

/* "P pack-….pack" of packs; hashes of the others. */
static bool is_list_of_packs(struct bytes text)
{
    while (text.size) {
        const char *end = memchr(text.at, '\n', text.size);
        if (!end || (end != text.at && *text.at != 'P') || memchr(text.at, '/', (size_t)(end - text.at)))
            return false;
        text = bytes_of(end + 1, text.size - (size_t)(end + 1 - text.at));
    }
    return true;
}

const char *git_store_judge(const struct git_entry *entry, const char *path)
{
    path = without_incoming(path);
    if (strcmp(path, "info/alternates") == 0 || strcmp(path, "info/http-alternates") == 0)
        return borrows;
    if (is_temporary(path))
        return NULL;
    if (is_loose(path))
        return entry->length >= LEAST_OF_OBJECT && is_compressed(entry->bytes) ? NULL : no_object;
    if (is_list(path)) {
        bool is_whole = entry->length == entry->bytes.size && bytes_known(entry->bytes);
        bool has_form = strcmp(path, "info/packs") == 0 ? is_list_of_packs(entry->bytes)
                                                        : git_form_positions(entry->bytes);
        return is_whole && has_form ? NULL : no_pack;
    }
    if (!is_known(path))
        return unknown;
    if (text_ends_with(path, ".idx"))
        return is_pack_index(entry, path) ? NULL : no_pack;
    const char *magic = magic_of(path);
    return !magic || (entry->bytes.size >= 4 && memcmp(entry->bytes.at, magic, 4) == 0 &&
                      entry->length > HEAD_SIZE)
               ? NULL
               : no_pack;
}

bool git_store_has_directory(const char *path)
{
    bool is_incoming = text_starts_with(path, "tmp_objdir-");
    const char *rest = without_incoming(path);
    return is_incoming && rest == path ? true : is_directory_name(rest, strlen(rest));
}
