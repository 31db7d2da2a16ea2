/* Any two texts: the differences turn the one into the other. And the gate reads any content without harm. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz.h"
#include "workspace/diff.h"
#include "workspace/gate.h"

static void check_lines(const char *old, size_t old_size, const char *new, size_t new_size)
{
    line_list old_lines, new_lines;
    edit_list edits;
    lines_split(old, old_size, &old_lines);
    lines_split(new, new_size, &new_lines);
    lines_compare(&old_lines, &new_lines, &edits);
    struct buf was = {0}, becomes = {0};
    for (size_t i = 0; i < edits.count; i++) {
        const struct line_edit *edit = &edits.at[i];
        if (edit->kind != '+')
            buf_add(&was, old_lines.at[edit->old].text, old_lines.at[edit->old].size);
        if (edit->kind != '-')
            buf_add(&becomes, new_lines.at[edit->new].text, new_lines.at[edit->new].size);
    }
    if (was.size != old_size || becomes.size != new_size ||
        (old_size && memcmp(buf_text(&was), old, old_size) != 0) ||
        (new_size && memcmp(buf_text(&becomes), new, new_size) != 0))
        abort();
    buf_free(&was);
    buf_free(&becomes);
    vec_free(&edits);
    vec_free(&old_lines);
    vec_free(&new_lines);
}

static bool same(const struct buf *a, const struct buf *b)
{
    return a->size == b->size && (a->size == 0 || memcmp(a->bytes, b->bytes, a->size) == 0);
}

/* All pieces of a change are the change; and where only one side has changed something, the merge is that side. */
static void check_pieces(const char *old, size_t old_size, const char *new, size_t new_size)
{
    auto_buf struct buf was = {0}, becomes = {0}, composed = {0}, merged = {0}, clashing = {0};
    buf_add(&was, old, old_size);
    buf_add(&becomes, new, new_size);
    auto_hunks struct hunks hunks;
    hunks_find(&was, &becomes, &hunks);
    for (size_t i = 0; i < hunks.list.count; i++)
        i += hunks_split(&hunks, i) - 1;
    bool *all = malloc(hunks.list.count + 1);
    if (!all)
        abort();
    memset(all, true, hunks.list.count + 1);
    hunks_compose(&hunks, all, &composed);
    free(all);
    struct merge merge = {&was, &becomes, &was, "a", "b"}, added = {&merged, &was, &becomes, "a", "b"};
    if (merge_clashes(&added, &clashing) > 1) /* of two texts where there was none */
        abort();
    if (!same(&composed, &becomes) || merge_texts(&merge, &merged) != 0 || !same(&merged, &becomes))
        abort();
}

struct contents {
    const char *text;
    size_t size;
};

static int read_contents(void *context, const struct entry *entry, size_t most, struct buf *ret_bytes)
{
    const struct contents *contents = context;
    (void)entry;
    if (contents->size > most)
        return 0;
    buf_add(ret_bytes, contents->text, contents->size);
    return 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const char *const paths[] = {"package.json", ".git/rebase-merge/git-rebase-todo", "x/HEAD"};
    const char *text = size ? (const char *)bytes : "", *middle = size ? memchr(text, '\0', size) : NULL;
    size_t first = middle ? (size_t)(middle - text) : size, rest = middle ? size - first - 1 : 0;
    check_lines(text, first, middle ? middle + 1 : text, rest);
    check_pieces(text, first, middle ? middle + 1 : text, rest);
    for (size_t i = 0; i < array_len(paths); i++) {
        struct contents contents = {text, size};
        struct entry entry = {.path = paths[i], .mode = S_IFREG | 0644, .target = "", .linked_to = ""};
        struct gate_change change = {paths[i], NULL, &entry, read_contents, &contents};
        gate_reasons reasons = {0};
        gate_judge(&change, &reasons);
        vec_free(&reasons);
    }
    return 0;
}
