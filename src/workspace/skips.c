#include "workspace/scan.h"

#include <string.h>

static const char built_in[] = "node_modules\n"
                               ".venv\n"
                               "venv if pyproject.toml\n"
                               "venv if requirements.txt\n"
                               "__pycache__\n"
                               ".mypy_cache\n"
                               ".pytest_cache\n"
                               ".ruff_cache\n"
                               ".tox\n"
                               ".nox\n"
                               "target if Cargo.toml\n"
                               "target if pom.xml\n"
                               "target if build.sbt\n"
                               ".gradle\n"
                               ".next\n"
                               ".nuxt\n"
                               ".turbo\n"
                               ".parcel-cache\n"
                               ".svelte-kit\n"
                               ".zig-cache\n"
                               "zig-cache if build.zig\n"
                               ".terraform\n"
                               "_build if mix.exs\n"
                               "deps if mix.exs\n"
                               "DerivedData\n";

static size_t next_word(const char **at, const char *end, const char **ret_word)
{
    while (*at < end && (**at == ' ' || **at == '\t' || **at == '\r'))
        (*at)++;
    *ret_word = *at;
    while (*at < end && **at != ' ' && **at != '\t' && **at != '\r')
        (*at)++;
    return (size_t)(*at - *ret_word);
}

static void parse_line(struct arena *arena, const char *line, const char *end, struct skips *skips)
{
    const char *name, *condition, *beside, *rest;
    size_t name_size = next_word(&line, end, &name), condition_size = next_word(&line, end, &condition);
    size_t beside_size = next_word(&line, end, &beside), rest_size = next_word(&line, end, &rest);
    bool is_comment = name_size == 0 || *name == '#', is_plain = condition_size == 0;
    bool has_condition = condition_size == 2 && memcmp(condition, "if", 2) == 0 && beside_size && !rest_size;
    if (is_comment || !(is_plain || has_condition) || memchr(name, '/', name_size))
        return;
    struct skip skip = {arena_copy(arena, name, name_size),
                        has_condition ? arena_copy(arena, beside, beside_size) : NULL};
    vec_push(&skips->list, skip);
}

void skips_parse(struct arena *arena, const char *text, struct skips *ret_skips)
{
    *ret_skips = (struct skips){0};
    for (const char *line = text ? text : built_in; *line;) {
        size_t size = strcspn(line, "\n");
        parse_line(arena, line, line + size, ret_skips);
        line += size + (line[size] == '\n');
    }
}

bool skips_match(const struct skips *skips, const char *name, skips_has_name *has_name, void *context)
{
    for (size_t i = 0; skips && i < skips->list.count; i++) {
        const struct skip *skip = &skips->list.at[i];
        if (strcmp(skip->name, name) == 0 && (!skip->beside || has_name(context, skip->beside)))
            return true;
    }
    return false;
}

void skips_free(struct skips *skips)
{
    vec_free(&skips->list);
}
