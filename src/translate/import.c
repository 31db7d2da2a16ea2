/*
 * From other tools' files to lines of a policy.
 *
 * Every line that is added was parsed by bawn's own parser first, so the result passes `bawn check`. What has no counterpart, or
 * more than one, becomes a comment: a reader decides. Refusals are translated as widely as the source may mean them, grants
 * as narrowly.
 *
 * In a policy the most specific rule decides; in most other tools a refusal decides over every grant. So a file is read twice:
 * the first pass collects what it refuses, and the second grants nothing inside that.
 */
#include "translate/import.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "base/pattern.h"
#include "base/text.h"
#include "policy/parse.h"

enum { ITEM_LONGEST = 300 };

void import_item(struct import *import, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *text = arena_vprintf(import->arena, format, arguments);
    va_end(arguments);
    struct buf *out = &import->translation->text;
    size_t size = strlen(text);
    bool is_cut = size > ITEM_LONGEST;
    buf_add_str(out, "\n# ");
    text_add_printable(out, text, is_cut ? ITEM_LONGEST : size);
    buf_add_str(out, is_cut ? "…\n" : "\n");
}

void import_left(struct import *import, enum lost_kind kind, const char *why)
{
    struct buf *out = &import->translation->text;
    buf_add_str(out, "#   not translated: ");
    text_add_printable(out, why, strlen(why));
    buf_add_char(out, '\n');
    vec_push(&import->translation->lost, (struct lost){kind, why});
}

void import_needless(struct import *import, const char *why)
{
    buf_printf(&import->translation->text, "#   needs no rule: %s\n", why);
}

static enum lost_kind lost_with(enum verb verb)
{
    bool refuses = verb == VERB_HIDE || verb == VERB_REFUSE || verb == VERB_UNSET || verb == VERB_NET;
    return refuses ? LOST_REFUSAL : LOST_GRANT;
}

void import_rule(struct import *import, enum verb verb, const char *object)
{
    const char *line = arena_printf(import->arena, "%s %s\n", verb_word(verb), object);
    struct source source = {.name = "imported",
                            .text = line,
                            .size = strlen(line),
                            .layer = LAYER_USER,
                            .asked_by = LAYER_USER,
                            .all_workspaces = true};
    auto_vec rule_list rules = {0};
    struct diags diags = {.arena = import->arena};
    parse_source(import->arena, &source, &rules, &diags);
    if (diags.errors == 0 && rules.count == 1)
        buf_add_str(&import->translation->text, line);
    else
        import_left(import, lost_with(verb),
                    diags.errors ? diags.list.at[0].message : "it is more than one rule");
    diags_free(&diags);
}

/* A path as a policy spells it, not quoted yet. `ret_start` is what must not be quoted: "~" or "". NULL: it has a variable. */
static const char *path_of(struct arena *arena, const char *path, const char **ret_start)
{
    static const char *const homes[] = {"~/", "$HOME/", "${HOME}/"};
    *ret_start = "";
    for (size_t i = 0; i < array_len(homes); i++) {
        if (text_starts_with(path, homes[i])) {
            *ret_start = "~";
            return strchr(path + strlen(homes[i]) - 1, '$') ? NULL : path + strlen(homes[i]) - 1;
        }
    }
    if (text_equal(path, "~") || text_equal(path, "$HOME") || text_equal(path, "${HOME}")) {
        *ret_start = "~";
        return "";
    }
    if (*path == '~' || strchr(path, '$'))
        return NULL;
    return *path == '/' || text_starts_with(path, "./") || text_starts_with(path, "../")
               ? path
               : arena_printf(arena, "./%s", path);
}

/* Why the path cannot be granted, or NULL. */
static const char *problem_with_grant(const struct import *import, const char *start, const char *rest)
{
    static const char *const own[] = {"/tmp", "/var/tmp", "/dev", "/proc", "/run", "/sys"};
    size_t size = strlen(rest);
    while (size && rest[size - 1] == '/')
        size--;
    if (size == 0)
        return *start ? "the home directory as a whole: name what is needed in it"
                      : "the root directory as a whole: name what is needed in it";
    for (size_t i = 0; i < array_len(own); i++) {
        if (!*start && strlen(own[i]) == size && memcmp(own[i], rest, size) == 0)
            return "bawn has its own";
    }
    return import->has_patterns && strpbrk(rest, "*?") ? "a grant cannot have wildcards" : NULL;
}

static bool is_workspace(const char *path)
{
    return text_equal(path, ".") || text_equal(path, "./") || text_equal(path, "");
}

/* A path to compare with others: it says where it starts. Wildcards and backslashes stay. */
static const char *key_of(struct arena *arena, const char *start, const char *rest)
{
    const char *top = *start ? "/~" : *rest == '/' ? "" : "/:/:/:/:";
    return path_clean(arena, "/", arena_printf(arena, "%s/%s", top, rest));
}

/* Does one of the patterns match the path or a directory around it? */
static bool is_within(struct arena *arena, const text_list *patterns, const char *path)
{
    for (size_t i = 0; i < patterns->count; i++) {
        const char *at = path;
        for (; at[1]; at = path_parent(arena, at)) {
            if (pattern_matches_path(patterns->at[i], at, strlen(at)))
                return true;
        }
    }
    return false;
}

/* What the file itself leaves of a grant; VERB_NONE: nothing. */
static enum verb what_is_left(const struct import *import, enum verb verb, const char *key)
{
    if (is_within(import->arena, &import->hidden, key) && !is_within(import->arena, &import->opened, key))
        return VERB_NONE;
    return verb == VERB_WRITE && is_within(import->arena, &import->kept, key) ? VERB_READ : verb;
}

static void add_grant(struct import *import, enum verb verb, const char *path)
{
    const char *start = NULL, *rest = path_of(import->arena, path, &start);
    if (is_workspace(path)) {
        import_needless(import, "it is the workspace");
        return;
    }
    const char *problem =
        rest ? problem_with_grant(import, start, rest) : "a variable that bawn does not know";
    if (problem) {
        import_left(import, LOST_GRANT, problem);
        return;
    }
    const char *key = key_of(import->arena, start, rest);
    verb = what_is_left(import, verb, key);
    if (verb == VERB_NONE)
        import_left(import, LOST_GRANT, "the file refuses it elsewhere");
    else
        import_rule(import, verb,
                    arena_printf(import->arena, "%s%s", start, word_quote(import->arena, rest, false)));
    if (verb == VERB_WRITE)
        vec_push(&import->written, key);
}

void import_reopen(struct import *import, const char *path)
{
    const char *start = NULL, *rest = path_of(import->arena, path, &start);
    if (import->collects && rest && !strpbrk(rest, "*?"))
        vec_push(&import->opened, pattern_quote(import->arena, key_of(import->arena, start, rest)));
    add_grant(import, VERB_READ, path);
}

void import_read(struct import *import, const char *path)
{
    add_grant(import, VERB_READ, path);
}

void import_write(struct import *import, const char *path)
{
    add_grant(import, VERB_WRITE, path);
}

void import_socket(struct import *import, const char *path)
{
    add_grant(import, VERB_SOCKET, path);
}

static void add_hide(struct import *import, const char *path, bool wildcards)
{
    const char *start = NULL, *rest = path_of(import->arena, path, &start);
    if (import->collects && rest)
        vec_push(&import->hidden, wildcards
                                      ? key_of(import->arena, start, rest)
                                      : pattern_quote(import->arena, key_of(import->arena, start, rest)));
    if (!rest || (wildcards && strpbrk(rest, "[{\\!")))
        import_left(import, LOST_REFUSAL,
                    rest ? "a pattern that bawn does not have" : "a variable that bawn does not know");
    else if (is_workspace(path))
        import_left(import, LOST_REFUSAL, "it is the workspace");
    else if (rest[strspn(rest, "/")] == '\0')
        import_needless(import, "what no rule grants is not there");
    else
        import_rule(import, VERB_HIDE,
                    arena_printf(import->arena, "%s%s", start, word_quote(import->arena, rest, wildcards)));
}

void import_hide(struct import *import, const char *path)
{
    add_hide(import, path, false);
}

void import_hide_pattern(struct import *import, const char *pattern)
{
    add_hide(import, pattern, true);
}

void import_keep(struct import *import, const char *path)
{
    const char *start = NULL, *rest = path_of(import->arena, path, &start);
    if (!rest || is_workspace(path) || (import->has_patterns && strpbrk(rest, "*?[{"))) {
        import_left(import, LOST_REFUSAL, "bawn makes only paths read-only that are named in full");
        return;
    }
    const char *word = arena_printf(import->arena, "%s%s", start, word_quote(import->arena, rest, false));
    const char *key = key_of(import->arena, start, rest);
    if (import->collects)
        vec_push(&import->kept, pattern_quote(import->arena, key));
    bool is_inside = !*start && *rest != '/';
    for (size_t i = 0; i < import->written.count; i++)
        is_inside |= path_is_inside(key, import->written.at[i]);
    if (is_within(import->arena, &import->hidden, key))
        import_needless(import, "the file hides it");
    else if (is_inside)
        import_rule(import, VERB_READ, word);
    else
        import_left(import, LOST_REFUSAL,
                    "add `read` for it if it lies in the workspace; elsewhere nothing is writable");
}

void import_connect(struct import *import, const char *host)
{
    import_rule(import, VERB_CONNECT, word_quote(import->arena, host, true));
}

void import_refuse(struct import *import, const char *host)
{
    import_rule(import, VERB_REFUSE, word_quote(import->arena, host, true));
}

void import_no_network(struct import *import)
{
    import_rule(import, VERB_NET, "off");
}

void import_pass(struct import *import, const char *name)
{
    import_rule(import, VERB_ENV, strchr(name, '=') ? "" : word_quote(import->arena, name, true));
}

void import_set(struct import *import, const char *name, const char *value)
{
    import_rule(import, VERB_ENV,
                arena_printf(import->arena, "%s=%s", word_quote(import->arena, name, false),
                             *value ? word_quote(import->arena, value, false) : ""));
}

void import_unset(struct import *import, const char *name)
{
    import_rule(import, VERB_UNSET, word_quote(import->arena, name, true));
}

/* --- the table --- */

static const struct format {
    const char *name;
    import_function *read;
    bool has_patterns;
} formats[] = {
    {"bwrap", import_bwrap, false},       {"claude", import_claude, true},
    {"codex", import_codex, true},        {"firejail", import_firejail, true},
    {"nono", import_nono, true},          {"safehouse", import_safehouse, false},
    {"seatbelt", import_seatbelt, false}, {"srt", import_srt, true},
};

/* The format that the file's name or its first character tells. JSON is told apart by its keys. */
static const char *recognize(const char *name, const char *text)
{
    static const struct {
        const char *ending, *format;
    } endings[] = {{".toml", "codex"},
                   {".profile", "firejail"},
                   {".local", "firejail"},
                   {".inc", "firejail"},
                   {".sb", "seatbelt"}};
    for (size_t i = 0; i < array_len(endings); i++) {
        if (text_ends_with(name, endings[i].ending))
            return endings[i].format;
    }
    if (strcmp(path_name(name), ".safehouse") == 0)
        return "safehouse";
    const char *first = text + strspn(text, " \t\r\n");
    if (*first == '{')
        return strstr(text, "\"sandbox\"") || strstr(text, "\"permissions\"")         ? "claude"
               : strstr(text, "\"allowWrite\"") || strstr(text, "\"allowedDomains\"") ? "srt"
               : strstr(text, "\"filesystem\"")                                       ? "nono"
                                                                                      : NULL;
    return strstr(text, "bwrap") ? "bwrap" : NULL;
}

static int no_format(const char *asked, struct err *err)
{
    auto_buf struct buf names = {0};
    for (size_t i = 0; i < array_len(formats); i++)
        buf_printf(&names, "%s%s", i == 0 ? "" : i + 1 < array_len(formats) ? ", " : " or ", formats[i].name);
    if (asked)
        err_set(err, "there is no format '%s'", asked);
    else
        err_set(err, "cannot tell the format of the file");
    return err_hint(err, "%s %s", asked ? "use" : "name it with --from:", buf_text(&names));
}

int import_policy(struct arena *arena, const char *name, const char *text, size_t size, const char *format,
                  struct translation *ret, struct err *err)
{
    *ret = (struct translation){0};
    if (memchr(text, '\0', size))
        return err_set(err, "%s has a NUL byte: it is not a text", name);
    const char *chosen = format ? format : recognize(name, text);
    for (size_t i = 0; chosen && i < array_len(formats); i++) {
        if (strcmp(formats[i].name, chosen) != 0)
            continue;
        struct import import = {.arena = arena,
                                .translation = ret,
                                .text = text,
                                .size = size,
                                .has_patterns = formats[i].has_patterns,
                                .collects = true};
        int status = formats[i].read(&import, err);
        translation_free(ret);
        ret->says_losses = true;
        import.collects = false;
        import.written.count = 0;
        buf_printf(&ret->text,
                   "# Imported from %s. Each rule stands below what the file says.\n"
                   "# The rules add to bawn's own: `bawn show` lists all that apply.\n",
                   chosen);
        if (status == 0)
            status = formats[i].read(&import, err);
        vec_free(&import.hidden);
        vec_free(&import.kept);
        vec_free(&import.opened);
        vec_free(&import.written);
        return status;
    }
    return no_format(format, err);
}
