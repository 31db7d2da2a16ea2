#include "cli/rules.h"

#include <string.h>

#include "plan/plan.h"

const char *rule_text(struct arena *arena, const struct rule *rule)
{
    return arena_printf(arena, "%s%s %s%s%s", rule->locked ? "lock " : "", verb_word(rule->verb),
                        rule->written, rule->unless ? " unless " : "", rule->unless ? rule->unless : "");
}

const char *rule_place(const struct style *style, struct arena *arena, const struct rule *rule)
{
    const char *origin = style_path(style, arena, rule_origin(arena, rule));
    if (rule->line == 0)
        return origin;
    return arena_printf(arena, "%s (%s)", origin, layer_name(rule->source->layer));
}

const char *shell_word(struct arena *arena, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_~";
    if (*word && strspn(word, plain) == strlen(word))
        return word;
    auto_buf struct buf quoted = {0};
    buf_add_char(&quoted, '\'');
    for (; *word; word++) {
        if (*word == '\'')
            buf_add_str(&quoted, "'\\'");
        buf_add_char(&quoted, *word);
    }
    buf_add_char(&quoted, '\'');
    return arena_copy(arena, quoted.bytes, quoted.size);
}
