/* Any bytes as git's packed refs: what is sound is written as it was read, and no edit loses another ref. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz.h"
#include "git/judge.h"
#include "git/refs.h"
#include "workspace/repo_texts.h"

static void check_edit(struct arena *arena, const struct packed_refs *refs)
{
    packed_edits edits = {0};
    auto_buf struct buf text = {0};
    struct packed_refs after;
    packed_refs_edit(&edits, refs->lines.at[0].name, NULL);
    packed_refs_write(refs, refs, &edits, &text);
    packed_refs_parse(arena, &text, &after);
    if (!after.is_sound || packed_refs_find(&after, refs->lines.at[0].name))
        abort();
    for (size_t i = 1; i < refs->lines.count; i++) {
        const char *name = refs->lines.at[i].name;
        if (strcmp(name, refs->lines.at[0].name) != 0 && !packed_refs_find(&after, name))
            abort();
    }
    packed_refs_free(&after);
    vec_free(&edits);
}

/* The reader's lines cover the text, one after the other, and name nothing outside their own bytes. */
static void check_lines(struct bytes text)
{
    const char *at = text.at;
    struct bytes rest = text;
    for (struct git_packed_line line; git_packed_next(&rest, &line);) {
        const char *end = line.text.at + line.text.size;
        bool is_ref = line.kind == GIT_PACKED_REF, has_hash = is_ref || line.kind == GIT_PACKED_PEELED;
        if (line.text.at != at || rest.at < end || rest.at > end + 1 || (is_ref != (line.name.size > 0)))
            abort();
        if (is_ref && (line.name.at <= line.text.at || line.name.at + line.name.size != end))
            abort();
        if (has_hash && strlen(line.at.digits) != SHA1_DIGITS && strlen(line.at.digits) != SHA256_DIGITS)
            abort();
        at = rest.at;
    }
    if (at != text.at + text.size)
        abort();
}

/* What the judge calls inert can be edited. */
static bool is_inert(struct bytes text)
{
    const struct git_entry entry = {
        .path = "packed-refs", .mode = S_IFREG | 0644, .links = 1, .length = text.size, .bytes = text};
    return !git_judge(&entry);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct bytes given = bytes_of((const char *)bytes, size);
    if (size)
        check_lines(given);
    struct arena arena = {0};
    auto_buf struct buf text = {0}, again = {0};
    const packed_edits none = {0};
    struct packed_refs refs, second;
    buf_add(&text, (const char *)bytes, size);
    packed_refs_parse(&arena, &text, &refs);
    if (!refs.is_sound && is_inert(given))
        abort();
    if (refs.is_sound) {
        packed_refs_write(&refs, &refs, &none, &again);
        packed_refs_parse(&arena, &again, &second);
        if (!second.is_sound || second.lines.count != refs.lines.count)
            abort();
        packed_refs_free(&second);
        if (refs.lines.count)
            check_edit(&arena, &refs);
    }
    packed_refs_free(&refs);
    arena_free(&arena);
    return 0;
}
