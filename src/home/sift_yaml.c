/* The little of YAML in which yarn keeps its settings. */
#include <string.h>

#include "home/sift_parts.h"

static const char *const yarn_keys[] = {"npmRegistryServer", "npmScopes.*.npmRegistryServer",
                                        "nodeLinker",        "enableTelemetry",
                                        "enableStrictSsl",   NULL};

/* A value of YAML that ends on its line: a plain word or URL, or one in quotes. */
static bool is_whole_yaml(struct span value)
{
    if (value.size == 0 || strchr("[{|>&*!%@`#,?-", *value.at))
        return false;
    if (strchr("\"'", *value.at))
        return value.size >= 2 &&
               memchr(value.at + 1, *value.at, value.size - 1) == value.at + value.size - 1;
    return !memmem(value.at, value.size, " #", 2) && !memmem(value.at, value.size, ": ", 2);
}

/* "key: value" or "key:", two spaces a level, as yarn writes it. Returns the level, or -1 where it is something else. */
static int take_yaml(struct span raw, struct span *ret_key, struct span *ret_value)
{
    size_t indent = 0;
    while (indent < raw.size && raw.at[indent] == ' ')
        indent++;
    struct span line = sift_trim((struct span){raw.at + indent, raw.size - indent});
    const char *colon = line.size ? memchr(line.at, ':', line.size) : NULL;
    if (!colon || indent % 2 || raw.at[indent] == '\t' ||
        (colon + 1 < line.at + line.size && colon[1] != ' '))
        return -1;
    *ret_key = (struct span){line.at, (size_t)(colon - line.at)};
    *ret_value = sift_trim((struct span){colon + 1, line.size - ret_key->size - 1});
    return ret_key->size ? (int)(indent / 2) : -1;
}

/* Of yarn's, settings of one line at the top, and of each scope its registry. */
void sift_yarn(struct span text, struct buf *out)
{
    static const struct span nothing = {NULL, 0};
    struct span raw, key, value, parents[2] = {0};
    size_t told = 0; /* how many of the parents stand in the output already */
    while (sift_next_line(&text, &raw)) {
        int level = take_yaml(raw, &key, &value);
        if (level < 0 || level > 2 || !sift_is_plain_name(key))
            continue;
        told = (size_t)level < told ? (size_t)level : told;
        if (level < 2)
            parents[level] = value.size ? nothing : key;
        if (level < 1)
            parents[1] = nothing;
        auto_buf struct buf full = {0};
        bool has_parents = true;
        for (int i = 0; i < level; i++) {
            has_parents &= parents[i].size > 0;
            buf_printf(&full, "%.*s.", (int)parents[i].size, parents[i].at ? parents[i].at : "");
        }
        buf_add(&full, key.at, key.size);
        if (!has_parents || !is_whole_yaml(value) || !sift_is_understood(value) ||
            !sift_is_listed(yarn_keys, (struct span){full.bytes, full.size}))
            continue;
        for (; told < (size_t)level; told++)
            buf_printf(out, "%*s%.*s:\n", (int)(2 * told), "", (int)parents[told].size, parents[told].at);
        buf_printf(out, "%*s%.*s: ", 2 * level, "", (int)key.size, key.at);
        sift_add_value(out, value);
        buf_add_char(out, '\n');
    }
}
