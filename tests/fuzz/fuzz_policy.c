/* Any bytes as a policy file: the parser takes them, and what it says about them holds. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "policy/parse.h"

/* The first byte chooses whose file it is, since some verbs belong to some files. */
static struct source source_for(uint8_t choice)
{
    return (struct source){
        .name = "fuzz",
        .layer = choice % LAYER_COUNT,
        .asked_by = choice % LAYER_COUNT,
        .is_profile = choice & 0x80,
    };
}

static void insist(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct arena arena = {0};
    struct diags diags = {.arena = &arena};
    rule_list rules = {0};
    struct source source = source_for(size ? bytes[0] : 0);
    source.text = (const char *)bytes + (size ? 1 : 0);
    source.size = size ? size - 1 : 0;
    parse_source(&arena, &source, &rules, &diags);
    for (size_t i = 0; i < rules.count; i++) {
        const struct rule *rule = &rules.at[i];
        insist(rule->verb > VERB_NONE && rule->verb < VERB_COUNT && rule->line > 0 && rule->column > 0);
        insist(strlen(rule->written) <= source.size);
        if (verb_object(rule->verb) == OBJECT_PATH)
            insist(rule->path.start < START_COUNT && rule->path.pattern[0] != '/');
    }
    for (size_t i = 0; i < diags.list.count; i++)
        insist(diags.list.at[i].message[0] != '\0' && diags.list.at[i].column <= source.size + 1);
    insist(rules.count == 0 || diags.errors > 0 || size > 1);

    /* The same bytes as one argument of the command line. */
    char *argument = arena_copy(&arena, source.text, source.size);
    for (enum verb verb = VERB_NONE + 1; verb < VERB_COUNT; verb++)
        parse_argument(&arena, &source, verb, argument, &rules, &diags);
    vec_free(&rules);
    diags_free(&diags);
    arena_free(&arena);
    return 0;
}
