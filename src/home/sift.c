#include "home/sift.h"

#include <string.h>

#include "base/json.h"
#include "home/sift_parts.h"

/* The settings that may pass. Names are matched whole; `*` matches part of a name. */
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
/* Where certificates lie, by format. Such a value passes only if it is a path: npm's `cert` can be a certificate itself. */
static const char *const npm_paths[] = {"cafile", NULL};
static const char *const pip_paths[] = {"*.cert", NULL};
static const char *const cargo_paths[] = {"http.cainfo", NULL};
static const char *const bun_paths[] = {"install.cafile", NULL};
static const char *const poetry_paths[] = {"certificates.*.cert", NULL};
static const char *const pip_keys[] = {
    "*.index-url", "*.extra-index-url", "*.trusted-host",       "*.timeout",
    "*.retries",   "*.prefer-binary",   "*.require-virtualenv", NULL};
static const char *const cargo_keys[] = {
    "source.*.replace-with", "source.*.registry", "registries.*.index",
    "registry.default",      "net.retry",         "net.git-fetch-with-cli",
    "build.target",          "build.jobs",        NULL};
static const char *const uv_keys[] = {
    "index-url",     "offline",        "native-tls",       "[index].name", "[index].url", "[index].default",
    "pip.index-url", "[index].format", "[index].explicit", "link-mode",    NULL};
static const char *const bun_keys[] = {
    "install.registry", "install.registry.url", "install.scopes.*", "install.exact", "telemetry", NULL};
static const char *const poetry_keys[] = {"repositories.*.url",
                                          "plugins.pypi_mirror.url",
                                          "virtualenvs.create",
                                          "virtualenvs.in-project",
                                          "virtualenvs.prefer-active-python",
                                          "virtualenvs.use-poetry-python",
                                          "installer.parallel",
                                          "installer.max-workers",
                                          NULL};
static const char *const mise_keys[] = {"tools.*", NULL};
static const char *const yarn_old_keys[] = {
    "registry", "@*:registry", "\"@*:registry\"", "save-prefix", "strict-ssl", "network-timeout", NULL};
static const char *const claude_keys[] = {"hasCompletedOnboarding",
                                          "lastOnboardingVersion",
                                          "theme",
                                          "oauthAccount",
                                          "installMethod",
                                          "editorMode",
                                          "preferredNotifChannel",
                                          "bypassPermissionsModeAccepted",
                                          NULL};

/* "[name]": finds the name. */
static bool take_section(struct bytes line, struct bytes *ret_name)
{
    if (line.size < 2 || *line.at != '[' || line.at[line.size - 1] != ']')
        return false;
    *ret_name = (struct bytes){line.at + 1, line.size - 2};
    return true;
}

/* Splits "key = value", or "key value". */
static bool take_setting(struct bytes line, char between, struct bytes *ret_key, struct bytes *ret_value)
{
    const char *middle = line.size && !strchr("#;", *line.at) ? memchr(line.at, between, line.size) : NULL;
    if (!middle)
        return false;
    *ret_key = sift_trim((struct bytes){line.at, (size_t)(middle - line.at)});
    *ret_value = sift_trim((struct bytes){middle + 1, line.size - (size_t)(middle + 1 - line.at)});
    return ret_key->size > 0;
}

static bool is_one_word(struct bytes value)
{
    return value.size && sift_size_up_to(value, 0, " \t") == value.size;
}

/* Is it a TOML value that ends on its line: "text", a number, true or false? */
static bool is_whole_toml(struct bytes value)
{
    if (value.size >= 2 && *value.at == '"')
        return memchr(value.at + 1, '"', value.size - 1) == value.at + value.size - 1;
    for (size_t i = 0; i < value.size; i++) {
        if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789", value.at[i]))
            return false;
    }
    return value.size > 0;
}

/* Is it a list of versions on one line? */
static bool is_list_of_versions(struct bytes value)
{
    if (value.size < 2 || *value.at != '[' || value.at[value.size - 1] != ']')
        return false;
    for (size_t i = 1; i + 1 < value.size; i++) {
        if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789.-_\", ", value.at[i]))
            return false;
    }
    return true;
}

/* Of a value such as { url = "…", token = "…" }: the value of one key, with its quotes. */
static bool take_inline(struct bytes value, const char *key, struct bytes *ret_value)
{
    size_t at = 1, key_size = strlen(key);
    if (value.size < 2 || *value.at != '{' || value.at[value.size - 1] != '}')
        return false;
    while (at < value.size) {
        struct bytes part = {value.at + at, sift_size_up_to(value, at, "\",}")};
        size_t equals = sift_size_up_to(part, 0, "=");
        struct bytes name = sift_trim((struct bytes){part.at, equals});
        size_t quote = at + part.size;
        if (quote >= value.size || value.at[quote] != '"' || equals == part.size ||
            sift_trim((struct bytes){part.at + equals + 1, part.size - equals - 1}).size)
            return false; /* numbers and other values are not parsed */
        size_t size = sift_size_up_to(value, quote + 1, "\"");
        if (quote + 1 + size >= value.size)
            return false;
        if (name.size == key_size && memcmp(name.at, key, key_size) == 0) {
            *ret_value = (struct bytes){value.at + quote, size + 2};
            return true;
        }
        at = quote + size + 2;
        at += sift_size_up_to(value, at, ",}") + 1;
    }
    return false;
}

/* Is it the absolute path of a file, or one in the home? */
static bool is_path(struct bytes value)
{
    static const char *const starts[] = {"/", "~/", "${HOME}/"};
    bool is_quoted = value.size && *value.at == '"';
    for (size_t i = 0; i < array_len(starts); i++) {
        size_t size = strlen(starts[i]);
        if (value.size > size + is_quoted && memcmp(value.at + is_quoted, starts[i], size) == 0)
            return !memmem(value.at, value.size, "//", 2);
    }
    return false;
}

/* The differences between line formats. */
struct dialect {
    const char *const *keys;
    const char *const *paths; /* keys whose values are paths; may be NULL */
    bool has_sections, continues, is_toml;
    bool has_lists;         /* lists of versions */
    bool has_comments;      /* also behind a value */
    bool is_one_word;       /* each value is one word */
    bool has_words;         /* "key value", each one word, from the start of the line */
    const char *inline_key; /* the key that is kept of a one-line table */
};

/* "[index]" inside "[[index]]": another item of a list. */
static bool is_plain_section(struct bytes section)
{
    bool is_item = section.size > 2 && *section.at == '[' && section.at[section.size - 1] == ']';
    return sift_is_plain_name(is_item ? (struct bytes){section.at + 1, section.size - 2} : section);
}

static void add_setting(struct buf *out, struct bytes section, struct bytes *ret_written, struct bytes key,
                        struct bytes value, const char *between, const char *inline_key)
{
    if (section.size && ret_written->at != section.at) {
        buf_printf(out, "[%.*s]\n", (int)section.size, section.at);
        *ret_written = section;
    }
    buf_printf(out, "%.*s%s", (int)key.size, key.at, between);
    if (inline_key)
        buf_printf(out, "{ %s = ", inline_key);
    sift_add_value(out, value);
    buf_add_str(out, inline_key ? " }\n" : "\n");
}

/* Removes a trailing comment. It must follow a space; no secret may be hidden in the rest. */
static bool cut_comment(struct bytes *value)
{
    for (size_t i = 0; i < value->size; i++) {
        if (strchr("#;", value->at[i]) && (i == 0 || strchr(" \t", value->at[i - 1])))
            value->size = i;
    }
    if (!sift_is_understood(*value))
        return false;
    value->size = sift_size_up_to(*value, 0, "#;");
    *value = sift_trim(*value);
    return true;
}

/* .npmrc, pip.conf, Cargo's config.toml, yarn 1's .yarnrc. */
static void sift_lines(const struct dialect *dialect, struct bytes text, struct buf *out)
{
    struct bytes raw, section = {0}, written = {0}, key, value;
    bool is_kept = false;
    while (bytes_take_line(&text, &raw)) {
        struct bytes line = sift_trim(raw);
        bool goes_on = dialect->continues && raw.size && strchr(" \t", *raw.at) && line.size;
        if (goes_on && is_kept && cut_comment(&line) && line.size) { /* a value of several lines */
            buf_add_str(out, "    ");
            sift_add_value(out, line);
            buf_add_char(out, '\n');
        }
        if (goes_on)
            continue;
        is_kept = false;
        if (dialect->has_sections && take_section(line, &section))
            continue;
        if (!take_setting(line, dialect->has_words ? ' ' : '=', &key, &value) || !is_plain_section(section) ||
            !sift_is_plain_name(key))
            continue;
        if (dialect->has_words && (line.at != raw.at || !is_one_word(value)))
            continue;
        bool is_inline = dialect->inline_key && take_inline(value, dialect->inline_key, &value);
        if (dialect->is_toml && !is_whole_toml(value) && !(dialect->has_lists && is_list_of_versions(value)))
            continue;
        if (dialect->has_comments ? !cut_comment(&value) : !sift_is_understood(value))
            continue;
        if (dialect->is_one_word)
            value.size = sift_size_up_to(value, 0, " \t");
        auto_buf struct buf full = {0};
        if (section.size)
            buf_printf(&full, "%.*s.", (int)section.size, section.at);
        buf_add(&full, key.at, key.size);
        if (is_inline)
            buf_printf(&full, ".%s", dialect->inline_key);
        struct bytes name = {full.bytes, full.size};
        is_kept = sift_is_listed(dialect->keys, name) ||
                  (dialect->paths && sift_is_listed(dialect->paths, name) && is_path(value));
        if (is_kept)
            add_setting(out, section, &written, key, value, dialect->has_words ? " " : " = ",
                        is_inline ? dialect->inline_key : NULL);
    }
}

/* Of claude's state: that it was set up, and for whom. Projects, servers and their keys do not pass. */
static void sift_claude(struct bytes text, struct buf *out)
{
    auto_buf struct buf kept = {0};
    struct json_value whole, key, value;
    if (!json_read(text.at, text.size, &whole))
        return;
    for (size_t at = 0; json_next_member(whole, &at, &key, &value);) {
        if (key.size > 2 && sift_is_listed(claude_keys, (struct bytes){key.at + 1, key.size - 2}))
            buf_printf(&kept, "%s%.*s:%.*s", kept.size ? "," : "", (int)key.size, key.at, (int)value.size,
                       value.at);
    }
    if (kept.size)
        buf_printf(out, "{%s}\n", buf_text(&kept));
}

/* The format of the file; NULL if it has no line format. */
static const struct dialect *dialect_of(enum sifted file)
{
    static const struct dialect npm = {
        .keys = npm_keys, .paths = npm_paths, .has_comments = true, .is_one_word = true};
    static const struct dialect pip = {
        .keys = pip_keys, .paths = pip_paths, .has_sections = true, .continues = true, .has_comments = true};
    static const struct dialect cargo = {.keys = cargo_keys,
                                         .paths = cargo_paths,
                                         .has_sections = true,
                                         .is_toml = true,
                                         .inline_key = "index"};
    static const struct dialect uv = {.keys = uv_keys, .has_sections = true, .is_toml = true};
    static const struct dialect poetry = {
        .keys = poetry_keys, .paths = poetry_paths, .has_sections = true, .is_toml = true};
    static const struct dialect mise = {
        .keys = mise_keys, .has_sections = true, .is_toml = true, .has_lists = true, .inline_key = "version"};
    static const struct dialect yarn_old = {.keys = yarn_old_keys, .paths = npm_paths, .has_words = true};
    static const struct dialect bun = {
        .keys = bun_keys, .paths = bun_paths, .has_sections = true, .is_toml = true, .inline_key = "url"};
    switch (file) {
    case SIFTED_NPM:
    case SIFTED_PNPM:
    case SIFTED_NPM_SYSTEM:
        return &npm;
    case SIFTED_PIP:
    case SIFTED_PIP_OLD:
    case SIFTED_PIP_SYSTEM:
        return &pip;
    case SIFTED_CARGO:
        return &cargo;
    case SIFTED_UV:
        return &uv;
    case SIFTED_POETRY:
        return &poetry;
    case SIFTED_MISE:
        return &mise;
    case SIFTED_YARN_OLD:
        return &yarn_old;
    case SIFTED_BUN:
        return &bun;
    case SIFTED_YARN:
    case SIFTED_CONDA:
    case SIFTED_MAVEN:
    case SIFTED_MAVEN_SYSTEM:
    case SIFTED_NUGET:
    case SIFTED_CLAUDE:
    case SIFTED_UNKNOWN:
        return NULL;
    }
    return NULL;
}

void sift_text(enum sifted file, const char *text, size_t size, struct buf *out)
{
    const struct dialect *dialect = dialect_of(file);
    struct bytes whole = {text, size};
    auto_buf struct buf bare = {0};
    if (size == 0 || memchr(text, '\0', size))
        return;
    bool is_maven = file == SIFTED_MAVEN || file == SIFTED_MAVEN_SYSTEM;
    if (is_maven || file == SIFTED_NUGET) {
        sift_drop_comments(whole, &bare);
        whole = (struct bytes){bare.size ? bare.bytes : "", bare.size};
    }
    if (dialect)
        sift_lines(dialect, whole, out);
    else if (file == SIFTED_YARN)
        sift_yarn(whole, out);
    else if (file == SIFTED_CONDA)
        sift_conda(whole, out);
    else if (is_maven)
        sift_maven(whole, out);
    else if (file == SIFTED_NUGET)
        sift_nuget(whole, out);
    else if (file == SIFTED_CLAUDE)
        sift_claude(whole, out);
}
