/* Parses the subset of YAML that yarn and conda use. */
#include <string.h>

#include "home/sift_parts.h"

static const char *const yarn_keys[] = {"npmRegistryServer", "npmScopes.*.npmRegistryServer",
                                        "nodeLinker",        "enableTelemetry",
                                        "enableStrictSsl",   NULL};

/* Is it a YAML value that ends on its line: a plain word or URL, or a quoted one? */
static bool is_whole_yaml(struct bytes value)
{
    if (value.size == 0 || strchr("[{|>&*!%@`#,?-", *value.at))
        return false;
    if (strchr("\"'", *value.at))
        return value.size >= 2 &&
               memchr(value.at + 1, *value.at, value.size - 1) == value.at + value.size - 1;
    return !memmem(value.at, value.size, " #", 2) && !memmem(value.at, value.size, ": ", 2);
}

/* "key: value" or "key:", two spaces a level, as yarn writes it. Returns the level, or -1 for anything else. */
static int take_yaml(struct bytes raw, struct bytes *ret_key, struct bytes *ret_value)
{
    size_t indent = 0;
    while (indent < raw.size && raw.at[indent] == ' ')
        indent++;
    struct bytes line = sift_trim((struct bytes){raw.at + indent, raw.size - indent});
    const char *colon = line.size ? memchr(line.at, ':', line.size) : NULL;
    if (!colon || indent % 2 || raw.at[indent] == '\t' ||
        (colon + 1 < line.at + line.size && colon[1] != ' '))
        return -1;
    *ret_key = (struct bytes){line.at, (size_t)(colon - line.at)};
    *ret_value = sift_trim((struct bytes){colon + 1, line.size - ret_key->size - 1});
    return ret_key->size ? (int)(indent / 2) : -1;
}

/* Keeps one-line settings at the top, and the registry of each scope. */
void sift_yarn(struct bytes text, struct buf *out)
{
    static const struct bytes nothing = {NULL, 0};
    struct bytes raw, key, value, parents[2] = {0};
    size_t told = 0; /* how many parents are already in the output */
    while (bytes_take_line(&text, &raw)) {
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
            !sift_is_listed(yarn_keys, (struct bytes){full.bytes, full.size}))
            continue;
        for (; told < (size_t)level; told++)
            buf_printf(out, "%*s%.*s:\n", (int)(2 * told), "", (int)parents[told].size, parents[told].at);
        buf_printf(out, "%*s%.*s: ", 2 * level, "", (int)key.size, key.at);
        sift_add_value(out, value);
        buf_add_char(out, '\n');
    }
}

/* --- conda's ------------------------------------------------------------------------------------------------------ */

static const char *const conda_keys[] = {"channel_alias",
                                         "channel_priority",
                                         "show_channel_urls",
                                         "auto_activate_base",
                                         "changeps1",
                                         "solver",
                                         "pip_interop_enabled",
                                         "always_yes",
                                         "auto_update_conda",
                                         "notify_outdated_conda",
                                         "remote_connect_timeout_secs",
                                         "remote_read_timeout_secs",
                                         "remote_max_retries",
                                         NULL};
static const char *const conda_lists[] = {"channels", "default_channels", "create_default_packages", NULL};
static const char *const conda_maps[] = {"custom_channels", NULL};

/*
 * A list or map while it is parsed. One item that is not understood omits all of it, because the rest would have another
 * meaning.
 */
struct yaml_block {
    struct bytes key; /* empty: no block is open */
    bool is_map, is_understood;
    size_t indent;
    struct buf items;
};

static struct bytes without_comment(struct bytes value)
{
    bool is_quoted = value.size && strchr("\"'", *value.at);
    const char *comment = value.size && !is_quoted ? memmem(value.at, value.size, " #", 2) : NULL;
    return comment ? sift_trim((struct bytes){value.at, (size_t)(comment - value.at)}) : value;
}

/* No escapes, and no token in the place of a channel's name: "t/TOKEN/name". */
static bool is_plain_value(struct bytes value)
{
    size_t quote = value.size && strchr("\"'", *value.at) ? 1 : 0;
    return is_whole_yaml(value) && sift_is_understood(value) && !memchr(value.at, '\\', value.size) &&
           !memchr(value.at, '%', value.size) &&
           !(value.size > quote + 1 && memcmp(value.at + quote, "t/", 2) == 0);
}

/*
 * A channel's URL may also contain a token: "https://conda.anaconda.org/t/TOKEN/name". The token is removed. Returns false if
 * the value, or the rest of it, is not understood.
 */
static bool take_value(struct bytes value, struct buf *ret_value)
{
    static const char mark[] = "/t/";
    auto_buf struct buf whole = {0}, again = {0};
    if (!is_plain_value(value))
        return false;
    sift_add_value(&whole, value);
    struct bytes rest = {buf_text(&whole), whole.size};
    for (const char *token; (token = memmem(rest.at, rest.size, mark, strlen(mark)));) {
        size_t before = (size_t)(token - rest.at), behind = before + strlen(mark);
        behind += sift_size_up_to(rest, behind, "/\"'");
        buf_add(ret_value, rest.at, before);
        rest = (struct bytes){rest.at + behind, rest.size - behind};
    }
    buf_add(ret_value, rest.at, rest.size);
    struct bytes left = {buf_text(ret_value), ret_value->size};
    sift_add_value(&again, left);
    return is_plain_value(left) && strcmp(buf_text(&again), left.at) == 0;
}

static void end_block(struct yaml_block *block, struct buf *out)
{
    if (block->is_understood && block->items.size) {
        buf_printf(out, "%.*s:\n", (int)block->key.size, block->key.at);
        buf_add(out, block->items.bytes, block->items.size);
    }
    buf_free(&block->items);
    *block = (struct yaml_block){0};
}

/* "- item" of a list, which may start in the column of its key, or "key: value" of a map. */
static void take_item(struct yaml_block *block, struct bytes raw, size_t indent)
{
    struct bytes line = sift_trim(raw), key = {0}, value = {0};
    bool is_item = line.size > 2 && memcmp(line.at, "- ", 2) == 0;
    if (block->is_map && (take_yaml(raw, &key, &value) != 1 || !sift_is_plain_name(key)))
        value.size = 0;
    if (!block->is_map && is_item)
        value = sift_trim((struct bytes){line.at + 2, line.size - 2});
    value = without_comment(value);
    block->indent = block->items.size ? block->indent : indent;
    auto_buf struct buf taken = {0};
    block->is_understood &= indent == block->indent && take_value(value, &taken);
    if (!block->is_understood)
        return;
    buf_printf(&block->items, block->is_map ? "  %.*s: " : "  - %.*s", (int)key.size, key.size ? key.at : "");
    buf_printf(&block->items, "%s\n", buf_text(&taken));
}

/* A setting at the top: a one-line value, or the start of a list or map. */
static void take_top(struct yaml_block *block, struct bytes raw, struct buf *out)
{
    struct bytes key, value;
    end_block(block, out);
    if (take_yaml(raw, &key, &value) != 0 || !sift_is_plain_name(key))
        return;
    value = without_comment(value);
    bool is_map = sift_is_listed(conda_maps, key);
    if (value.size == 0 && (is_map || sift_is_listed(conda_lists, key)))
        *block = (struct yaml_block){.key = key, .is_map = is_map, .is_understood = true};
    auto_buf struct buf taken = {0};
    if (sift_is_listed(conda_keys, key) && take_value(value, &taken))
        buf_printf(out, "%.*s: %s\n", (int)key.size, key.at, buf_text(&taken));
}

/* Keeps the channels, without their credentials. */
void sift_conda(struct bytes text, struct buf *out)
{
    struct yaml_block block = {0};
    struct bytes raw;
    while (bytes_take_line(&text, &raw)) {
        struct bytes line = sift_trim(raw);
        if (line.size == 0 || *line.at == '#')
            continue;
        size_t indent = (size_t)(line.at - raw.at);
        if (indent == 0 && !(block.key.size && !block.is_map && *line.at == '-'))
            take_top(&block, raw, out);
        else if (block.key.size)
            take_item(&block, raw, indent);
    }
    end_block(&block, out);
}
