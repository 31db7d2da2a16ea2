#include "home/sift.h"

#include <string.h>

#include "base/json_read.h"
#include "base/pattern.h"
#include "base/text.h"

/* What may pass. The words are matched whole; `*` stands for a part of a name. */
static const char *const npm_keys[] = {"registry",
                                       "@*:registry",
                                       "strict-ssl",
                                       "legacy-peer-deps",
                                       "save-exact",
                                       "save-prefix",
                                       "engine-strict",
                                       "fund",
                                       "audit",
                                       "update-notifier",
                                       "auto-install-peers",
                                       "shamefully-hoist",
                                       "node-linker",
                                       NULL};
static const char *const pip_keys[] = {
    "*.index-url", "*.extra-index-url", "*.trusted-host",       "*.timeout",
    "*.retries",   "*.prefer-binary",   "*.require-virtualenv", NULL};
static const char *const cargo_keys[] = {
    "source.*.replace-with", "source.*.registry", "registries.*.index",
    "registry.default",      "net.retry",         "net.git-fetch-with-cli",
    "build.target",          "build.jobs",        NULL};
static const char *const maven_elements[] = {"id", "name", "url", "mirrorOf", "blocked", NULL};
static const char *const nuget_attributes[] = {"key", "value", "protocolVersion", NULL};
static const char *const claude_keys[] = {"hasCompletedOnboarding",
                                          "lastOnboardingVersion",
                                          "theme",
                                          "oauthAccount",
                                          "installMethod",
                                          "editorMode",
                                          "preferredNotifChannel",
                                          "bypassPermissionsModeAccepted",
                                          NULL};

struct span {
    const char *at;
    size_t size;
};

static bool is_listed(const char *const *list, struct span name)
{
    for (; *list; list++) {
        if (pattern_matches_name(*list, name.at, name.size))
            return true;
    }
    return false;
}

/* Sections and keys go out as they are written: only plain words do, which cannot hold an URL. "@scope:key" is one. */
static bool is_plain_name(struct span name)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:\"";
    for (size_t i = 0; i < name.size; i++) {
        if (!strchr(plain, name.at[i]) && !(i == 0 && *name.at == '@'))
            return false;
    }
    return true;
}

static struct span trim(struct span span)
{
    while (span.size && strchr(" \t\r\n", *span.at)) {
        span.at++;
        span.size--;
    }
    while (span.size && strchr(" \t\r\n", span.at[span.size - 1]))
        span.size--;
    return span;
}

/* How many characters from `at` on are none of these. */
static size_t size_up_to(struct span text, size_t at, const char *ends)
{
    size_t size = 0;
    while (at + size < text.size && !strchr(ends, text.at[at + size]))
        size++;
    return size;
}

/* Adds a value, every URL in it without what stands before its host (a name, a password) and behind its path (a query). */
static void add_value(struct buf *out, struct span value)
{
    bool in_url = false;
    for (size_t i = 0; i < value.size; i++) {
        if (i >= 3 && memcmp(value.at + i - 3, "://", 3) == 0) {
            size_t host = i;
            /* Up to the last @ before the path: a password may hold one itself. */
            for (size_t end = i; end < value.size && !strchr("/ \t\"'<>?#", value.at[end]); end++)
                host = value.at[end] == '@' ? end + 1 : host;
            i = host;
            in_url = true;
        }
        if (in_url && i < value.size && strchr("?#", value.at[i]))
            i += size_up_to(value, i, " \t\"'<>");
        in_url = in_url && i < value.size && !strchr(" \t\"'<>", value.at[i]);
        if (i < value.size)
            buf_add_char(out, value.at[i]);
    }
}

/* The next line of the text, without its end; false after the last. */
static bool next_line(struct span *text, struct span *ret_line)
{
    if (!text->size)
        return false;
    const char *end = memchr(text->at, '\n', text->size);
    size_t size = end ? (size_t)(end - text->at) : text->size;
    *ret_line = (struct span){text->at, size};
    text->at += size + (end ? 1 : 0);
    text->size -= size + (end ? 1 : 0);
    return true;
}

/* A line of the kind "[name]": returns its name, or nothing. */
static bool take_section(struct span line, struct span *ret_name)
{
    if (line.size < 2 || *line.at != '[' || line.at[line.size - 1] != ']')
        return false;
    *ret_name = (struct span){line.at + 1, line.size - 2};
    return true;
}

/* Splits "key = value". */
static bool take_setting(struct span line, struct span *ret_key, struct span *ret_value)
{
    const char *equals = line.size && !strchr("#;", *line.at) ? memchr(line.at, '=', line.size) : NULL;
    if (!equals)
        return false;
    *ret_key = trim((struct span){line.at, (size_t)(equals - line.at)});
    *ret_value = trim((struct span){equals + 1, line.size - (size_t)(equals + 1 - line.at)});
    return ret_key->size > 0;
}

/* A value of TOML that ends on its line: "text", a number, true or false. */
static bool is_whole_toml(struct span value)
{
    if (value.size >= 2 && *value.at == '"')
        return memchr(value.at + 1, '"', value.size - 1) == value.at + value.size - 1;
    for (size_t i = 0; i < value.size; i++) {
        if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789", value.at[i]))
            return false;
    }
    return value.size > 0;
}

/* How files of lines differ. */
struct dialect {
    const char *const *keys;
    bool has_sections, continues, is_toml;
};

static void add_setting(struct buf *out, struct span section, struct span *ret_written, struct span key,
                        struct span value)
{
    if (section.size && ret_written->at != section.at) {
        buf_printf(out, "[%.*s]\n", (int)section.size, section.at);
        *ret_written = section;
    }
    buf_printf(out, "%.*s = ", (int)key.size, key.at);
    add_value(out, value);
    buf_add_char(out, '\n');
}

/* .npmrc, pip.conf, Cargo's config.toml. */
static void sift_lines(const struct dialect *dialect, struct span text, struct buf *out)
{
    struct span raw, section = {0}, written = {0}, key, value;
    bool is_kept = false;
    while (next_line(&text, &raw)) {
        struct span line = trim(raw);
        bool goes_on = dialect->continues && raw.size && strchr(" \t", *raw.at) && line.size;
        if (goes_on && is_kept) { /* a value of several lines */
            buf_add_str(out, "    ");
            add_value(out, line);
            buf_add_char(out, '\n');
        }
        if (goes_on)
            continue;
        is_kept = false;
        if (dialect->has_sections && take_section(line, &section))
            continue;
        if (!take_setting(line, &key, &value) || !is_plain_name(section) || !is_plain_name(key) ||
            (dialect->is_toml && !is_whole_toml(value)))
            continue;
        auto_buf struct buf full = {0};
        if (section.size)
            buf_printf(&full, "%.*s.", (int)section.size, section.at);
        buf_add(&full, key.at, key.size);
        is_kept = is_listed(dialect->keys, (struct span){full.bytes, full.size});
        if (is_kept)
            add_setting(out, section, &written, key, value);
    }
}

/* The text between <name> and </name>, from *at on, which is moved behind it. */
static bool take_element(struct span text, size_t *at, const char *name, struct span *ret_inner)
{
    auto_buf struct buf open = {0};
    auto_buf struct buf close = {0};
    buf_printf(&open, "<%s>", name);
    buf_printf(&close, "</%s>", name);
    const char *begin = memmem(text.at + *at, text.size - *at, open.bytes, open.size);
    if (!begin)
        return false;
    begin += open.size;
    const char *end = memmem(begin, text.size - (size_t)(begin - text.at), close.bytes, close.size);
    if (!end)
        return false;
    *ret_inner = (struct span){begin, (size_t)(end - begin)};
    *at = (size_t)(end - text.at) + close.size;
    return true;
}

/* Text of an element that holds no other: no markup in it. */
static bool is_plain_text(struct span text)
{
    return !memchr(text.at, '<', text.size) && !memchr(text.at, '>', text.size);
}

/* Examples in comments are no settings. */
static void drop_comments(struct span text, struct buf *out)
{
    static const char open[] = "<!--", close[] = "-->";
    while (text.size) {
        const char *begin = memmem(text.at, text.size, open, strlen(open));
        size_t size = begin ? (size_t)(begin - text.at) : text.size;
        buf_add(out, text.at, size);
        const char *end = begin ? memmem(begin, text.size - size, close, strlen(close)) : NULL;
        if (!end)
            return;
        text.size -= (size_t)(end + strlen(close) - text.at);
        text.at = end + strlen(close);
    }
}

/* Of Maven's settings, the mirrors. */
static void sift_maven(struct span text, struct buf *out)
{
    struct span mirrors, mirror, value;
    size_t at = 0, inside = 0;
    if (!take_element(text, &at, "mirrors", &mirrors))
        return;
    buf_add_str(out, "<settings>\n  <mirrors>\n");
    while (take_element(mirrors, &inside, "mirror", &mirror)) {
        buf_add_str(out, "    <mirror>\n");
        for (const char *const *name = maven_elements; *name; name++) {
            size_t start = 0;
            if (!take_element(mirror, &start, *name, &value) || !is_plain_text(value))
                continue;
            buf_printf(out, "      <%s>", *name);
            add_value(out, trim(value));
            buf_printf(out, "</%s>\n", *name);
        }
        buf_add_str(out, "    </mirror>\n");
    }
    buf_add_str(out, "  </mirrors>\n</settings>\n");
}

/* The value of an attribute in "<add key="a" value="b" />". */
static bool take_attribute(struct span tag, const char *name, struct span *ret_value)
{
    auto_buf struct buf word = {0};
    buf_printf(&word, " %s=\"", name);
    const char *begin = memmem(tag.at, tag.size, word.bytes, word.size);
    if (!begin)
        return false;
    begin += word.size;
    const char *end = memchr(begin, '"', tag.size - (size_t)(begin - tag.at));
    if (!end)
        return false;
    *ret_value = (struct span){begin, (size_t)(end - begin)};
    return true;
}

/* Of NuGet's, where packages come from. */
static void sift_nuget(struct span text, struct buf *out)
{
    static const char add[] = "<add ";
    struct span sources, value;
    size_t at = 0;
    if (!take_element(text, &at, "packageSources", &sources))
        return;
    buf_add_str(out, "<configuration>\n  <packageSources>\n");
    if (memmem(sources.at, sources.size, "<clear", strlen("<clear")))
        buf_add_str(out, "    <clear />\n");
    for (const char *tag = sources.at;
         (tag = memmem(tag, sources.size - (size_t)(tag - sources.at), add, strlen(add)));) {
        const char *end = memchr(tag, '>', sources.size - (size_t)(tag - sources.at));
        if (!end)
            break;
        struct span whole = {tag, (size_t)(end - tag)};
        buf_add_str(out, "    <add");
        for (const char *const *name = nuget_attributes; *name; name++) {
            if (!take_attribute(whole, *name, &value))
                continue;
            buf_printf(out, " %s=\"", *name);
            add_value(out, value);
            buf_add_char(out, '"');
        }
        buf_add_str(out, " />\n");
        tag = end;
    }
    buf_add_str(out, "  </packageSources>\n</configuration>\n");
}

/* Of claude's state: that it was set up, and for whom. Projects, servers and their keys stay out. */
static void sift_claude(struct span text, struct buf *out)
{
    auto_buf struct buf kept = {0};
    struct json_value whole, key, value;
    if (!json_read(text.at, text.size, &whole))
        return;
    for (size_t at = 0; json_next_member(whole, &at, &key, &value);) {
        if (key.size > 2 && is_listed(claude_keys, (struct span){key.at + 1, key.size - 2}))
            buf_printf(&kept, "%s%.*s:%.*s", kept.size ? "," : "", (int)key.size, key.at, (int)value.size,
                       value.at);
    }
    if (kept.size)
        buf_printf(out, "{%s}\n", buf_text(&kept));
}

void sift_text(enum sifted file, const char *text, size_t size, struct buf *out)
{
    static const struct dialect npm = {.keys = npm_keys};
    static const struct dialect pip = {.keys = pip_keys, .has_sections = true, .continues = true};
    static const struct dialect cargo = {.keys = cargo_keys, .has_sections = true, .is_toml = true};
    struct span whole = {text, size};
    auto_buf struct buf bare = {0};
    if (size == 0 || memchr(text, '\0', size))
        return;
    if (file == SIFTED_MAVEN || file == SIFTED_NUGET) {
        drop_comments(whole, &bare);
        whole = (struct span){bare.size ? bare.bytes : "", bare.size};
    }
    switch (file) {
    case SIFTED_NPM:
        sift_lines(&npm, whole, out);
        return;
    case SIFTED_PIP:
    case SIFTED_PIP_OLD:
        sift_lines(&pip, whole, out);
        return;
    case SIFTED_CARGO:
        sift_lines(&cargo, whole, out);
        return;
    case SIFTED_MAVEN:
        sift_maven(whole, out);
        return;
    case SIFTED_NUGET:
        sift_nuget(whole, out);
        return;
    case SIFTED_CLAUDE:
        sift_claude(whole, out);
        return;
    case SIFTED_UNKNOWN:
        return;
    }
}
