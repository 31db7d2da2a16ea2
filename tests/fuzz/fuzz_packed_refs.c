/* Any bytes as git's packed refs: what is sound is written as it was read, and no edit loses another ref. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
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

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct arena arena = {0};
    auto_buf struct buf text = {0}, again = {0};
    const packed_edits none = {0};
    struct packed_refs refs, second;
    buf_add(&text, (const char *)bytes, size);
    packed_refs_parse(&arena, &text, &refs);
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
