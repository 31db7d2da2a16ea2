/*
 * A change as `git apply --binary` takes it. git knows files, programs and links: it has no directories, no
 * other bits of a mode and no attributes, so that they are not in a patch. A file that is renamed is removed
 * and added, and so is one that becomes a link. What cannot be in a patch is named in a line that begins with
 * `#`, which git leaves out, as it does the reasons.
 */
#include <inttypes.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/text.h"
#include "git/refs.h"
#include "report/patch.h"

enum { LARGEST = 256 * 1024 * 1024, LARGEST_TEXT = 8 * 1024 * 1024, BLOCK = 65535 };

/* "100755"; NULL: git has no such file. */
static const char *mode_of(const struct entry *entry)
{
    return !entry                  ? NULL
           : S_ISLNK(entry->mode)  ? "120000"
           : !S_ISREG(entry->mode) ? NULL
           : entry->mode & S_IXUSR ? "100755"
                                   : "100644";
}

enum { IN_A_LINE = 52, LETTERS = 26, GROUP = 4, BASE = 85, DIGITS = 5 };

/* git's base 85. A line tells first how many bytes it has, A to Z and a to z. */
static void add_base85_line(struct buf *out, const char *bytes, size_t count)
{
    static const char digits[] =
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
    buf_add_char(out, (char)(count <= LETTERS ? 'A' + count - 1 : 'a' + count - LETTERS - 1));
    for (size_t at = 0; at < count; at += GROUP) {
        uint32_t value = 0;
        char text[DIGITS];
        for (size_t i = at; i < at + GROUP; i++)
            value = value * 256 + (i < count ? (unsigned char)bytes[i] : 0);
        for (size_t i = DIGITS; i--; value /= BASE)
            text[i] = digits[value % BASE];
        buf_add(out, text, DIGITS);
    }
    buf_add_char(out, '\n');
}

/* The bytes as zlib's format has them (RFC 1950), stored and not packed. */
static void add_stored(struct buf *out, const struct buf *content)
{
    enum { PRIME = 65521 };
    uint32_t low = 1, high = 0;
    buf_add(out, "\x78\x01", 2);
    for (size_t at = 0; at == 0 || at < content->size; at += BLOCK) {
        size_t size = content->size - at < BLOCK ? content->size - at : BLOCK;
        const char head[] = {at + size == content->size, (char)size, (char)(size >> 8), (char)~size,
                             (char)(~size >> 8)};
        buf_add(out, head, sizeof(head));
        buf_add(out, buf_text(content) + at, size);
    }
    for (size_t i = 0; i < content->size; i++) {
        low = (low + (unsigned char)content->bytes[i]) % PRIME;
        high = (high + low) % PRIME;
    }
    const char sum[] = {(char)(high >> 8), (char)high, (char)(low >> 8), (char)low};
    buf_add(out, sum, sizeof(sum));
}

static void add_literal(struct buf *out, const struct buf *content)
{
    auto_buf struct buf stored = {0};
    buf_printf(out, "literal %zu\n", content->size);
    add_stored(&stored, content);
    for (size_t at = 0; at < stored.size; at += IN_A_LINE)
        add_base85_line(out, stored.bytes + at, stored.size - at < IN_A_LINE ? stored.size - at : IN_A_LINE);
    buf_add_char(out, '\n');
}

/* The change of one path, as it was or NULL, and as it is or NULL. */
struct side {
    const struct entry *entry;
    const char *mode, *shown;
    struct buf content;
    char name[SHA256_HEX_SIZE]; /* of git's object */
};

/* Returns NULL, or why it cannot be in a patch. */
static const char *read_side(const struct patch *patch, struct side *side)
{
    memset(side->name, '0', SHA1_DIGITS);
    side->name[SHA1_DIGITS] = '\0';
    if (!side->entry)
        return NULL;
    const char *problem = patch_read_side(patch, side->entry, LARGEST, &side->content);
    if (problem)
        return problem;
    return git_object_name("blob", bytes_of(buf_text(&side->content), side->content.size), SHA1_DIGITS,
                           side->name)
               ? NULL
               : "was made to be taken for another one";
}

static bool is_text(const struct side *side)
{
    return side->content.size <= LARGEST_TEXT && lines_are_text(buf_text(&side->content), side->content.size);
}

static void add_content(const struct patch *patch, const struct side *old, const struct side *new,
                        struct buf *out)
{
    if (!is_text(old) || !is_text(new)) {
        bool is_kept = old->mode && new->mode && old->mode == new->mode;
        buf_printf(out, "index %s..%s%s%s\nGIT binary patch\n", old->name, new->name, is_kept ? " " : "",
                   is_kept ? new->mode : "");
        add_literal(out, &new->content);
        add_literal(out, &old->content);
        return;
    }
    auto_hunks struct hunks hunks = {0};
    hunks_find(&old->content, &new->content, &hunks);
    buf_printf(out, "--- %s\n+++ %s\n", old->shown, new->shown);
    for (size_t i = 0; i < hunks.list.count; i++)
        patch_add_hunk(patch, &hunks, i, out);
}

static void add_pair(const struct patch *patch, const char *path, const struct entry *before,
                     const struct entry *after, struct buf *out)
{
    const char *from = patch_quoted_name(patch, "a/", path), *to = patch_quoted_name(patch, "b/", path);
    struct side old = {.entry = before, .mode = mode_of(before), .shown = before ? from : "/dev/null"};
    struct side new = {.entry = after, .mode = mode_of(after), .shown = after ? to : "/dev/null"};
    const char *problem = read_side(patch, &old);
    if (!problem)
        problem = read_side(patch, &new);
    bool is_same = before && after && strcmp(old.name, new.name) == 0;
    if (problem) {
        buf_printf(out, "# %s is not in this patch: it %s\n", patch_quoted_name(patch, "", path), problem);
    } else if (!is_same || old.mode != new.mode) {
        buf_printf(out, "diff --git %s %s\n", from, to);
        if (!before)
            buf_printf(out, "new file mode %s\n", new.mode);
        else if (!after)
            buf_printf(out, "deleted file mode %s\n", old.mode);
        else if (old.mode != new.mode)
            buf_printf(out, "old mode %s\nnew mode %s\n", old.mode, new.mode);
        if (!is_same && (old.content.size || new.content.size))
            add_content(patch, &old, &new, out);
    }
    buf_free(&old.content);
    buf_free(&new.content);
}

/* git takes no patch that reaches into a repository. */
static bool is_of_repository(const char *path)
{
    for (const char *name = path; name; name = (name = strchr(name, '/')) ? name + 1 : NULL) {
        if (strcspn(name, "/") == 4 && strncasecmp(name, ".git", 4) == 0)
            return true;
    }
    return false;
}

void patch_add_for_git(const struct patch *patch, const struct change *change, struct buf *out)
{
    const struct entry *before = mode_of(change->before) ? change->before : NULL;
    const struct entry *after = mode_of(change->after) ? change->after : NULL;
    if (!before && !after)
        return;
    patch_add_reasons(patch, change, out);
    if (is_of_repository(change->path)) {
        buf_printf(out, "# %s is not in this patch: it belongs to a repository inside\n",
                   patch_quoted_name(patch, "", change->path));
        return;
    }
    if (before && after && (before->mode & S_IFMT) != (after->mode & S_IFMT)) {
        add_pair(patch, change->path, before, NULL, out);
        before = NULL;
    }
    add_pair(patch, change->path, before, after, out);
}
