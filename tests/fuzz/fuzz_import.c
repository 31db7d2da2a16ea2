/*
 * Any bytes as a file of another tool: the first byte chooses the format. What an import prints must be a policy that bawn's own
 * parser takes without a mistake.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "policy/parse.h"
#include "translate/translate.h"

static void check(struct arena *arena, const struct buf *text)
{
    struct source source = {.name = "imported",
                            .text = buf_text(text),
                            .size = text->size,
                            .layer = LAYER_USER,
                            .asked_by = LAYER_USER,
                            .all_workspaces = true};
    rule_list rules = {0};
    struct diags diags = {.arena = arena};
    parse_source(arena, &source, &rules, &diags);
    if (diags.errors)
        abort();
    vec_free(&rules);
    diags_free(&diags);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const char *const formats[] = {"bwrap", "claude",    "codex",    "firejail",
                                          "nono",  "safehouse", "seatbelt", "srt"};
    enum { LARGEST = 64 * 1024 };
    if (size == 0 || size > LARGEST)
        return FUZZ_NOT_TAKEN;
    struct arena arena = {0};
    struct translation translation = {0};
    struct err err = {0};
    const char *format = formats[bytes[0] % 8], *text = arena_copy(&arena, (const char *)bytes + 1, size - 1);
    if (import_policy(&arena, "file", text, size - 1, format, &translation, &err) == 0 &&
        translation.text.size < POLICY_LARGEST)
        check(&arena, &translation.text);
    translation_free(&translation);
    arena_free(&arena);
    return 0;
}
