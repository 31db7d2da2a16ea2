/*
 * As much of TOML as Codex's config.toml needs: tables, and keys with strings, lists of strings, inline tables of strings, numbers
 * and booleans. Other forms (strings of several lines, lists of other things) are errors: what is not understood might say
 * where a table ends.
 */
#include "translate/toml.h"

#include <string.h>

enum { KEY_LONGEST = 1024 };

static void skip_space(struct toml *toml, bool with_lines)
{
    while (*toml->at) {
        if (*toml->at == '#')
            toml->at += strcspn(toml->at, "\n");
        else if (*toml->at == '\n' && with_lines)
            toml->line++, toml->at++;
        else if (strchr(" \t\r", *toml->at))
            toml->at++;
        else
            return;
    }
}

static bool take(struct toml *toml, char wanted)
{
    skip_space(toml, false);
    if (*toml->at != wanted)
        return false;
    toml->at++;
    return true;
}

/* The text of an escape; false if it is not one of TOML's that give a character of ASCII. */
static bool take_escape(struct toml *toml, struct buf *out)
{
    static const char names[] = "btnfr\"\\", meanings[] = "\b\t\n\f\r\"\\";
    const char *name = *toml->at ? strchr(names, *toml->at) : NULL;
    if (!name)
        return false;
    buf_add_char(out, meanings[name - names]);
    toml->at++;
    return true;
}

/* "basic" or 'literal', on one line; NULL: neither. */
static const char *take_string(struct toml *toml)
{
    auto_buf struct buf text = {0};
    skip_space(toml, false);
    char quote = *toml->at;
    if ((quote != '"' && quote != '\'') || (toml->at[1] == quote && toml->at[2] == quote))
        return NULL;
    toml->at++;
    while (*toml->at && *toml->at != quote && *toml->at != '\n') {
        char byte = *toml->at++;
        if (byte != '\\' || quote == '\'')
            buf_add_char(&text, byte);
        else if (!take_escape(toml, &text))
            return NULL;
    }
    if (*toml->at != quote)
        return NULL;
    toml->at++;
    return arena_str(toml->arena, buf_text(&text));
}

static const char *take_bare(struct toml *toml)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+:.";
    skip_space(toml, false);
    size_t size = strspn(toml->at, plain);
    toml->at += size;
    return size ? arena_copy(toml->arena, toml->at - size, size) : NULL;
}

/* "a", 'a' or a, with dots between several. NULL: no key. */
static const char *take_key(struct toml *toml)
{
    const char *whole = NULL;
    do {
        skip_space(toml, false);
        bool is_quoted = *toml->at == '"' || *toml->at == '\'';
        const char *part = is_quoted ? take_string(toml) : take_bare(toml);
        if (!part || (whole && strlen(whole) + strlen(part) > KEY_LONGEST))
            return NULL;
        whole = whole ? arena_printf(toml->arena, "%s.%s", whole, part) : part;
    } while (take(toml, '.'));
    return whole;
}

static bool take_list(struct toml *toml, const char *key)
{
    toml->found(toml->context, toml->table, key, NULL); /* even if it is empty */
    while (true) {
        skip_space(toml, true);
        if (take(toml, ']'))
            return true;
        const char *text = take_string(toml);
        if (!text)
            return false;
        toml->found(toml->context, toml->table, key, text);
        skip_space(toml, true);
        if (!take(toml, ',') && *toml->at != ']')
            return false;
    }
}

static bool take_inline(struct toml *toml, const char *key)
{
    const char *around = toml->table;
    toml->table = *around ? arena_printf(toml->arena, "%s.%s", around, key) : key;
    bool is_good = true;
    while (is_good && !take(toml, '}')) {
        const char *inner = take_key(toml);
        const char *text = inner && take(toml, '=') ? take_string(toml) : NULL;
        is_good = text && (take(toml, ',') || *toml->at == '}');
        if (is_good)
            toml->found(toml->context, toml->table, inner, text);
    }
    toml->table = around;
    return is_good;
}

static bool take_value(struct toml *toml, const char *key)
{
    if (take(toml, '['))
        return take_list(toml, key);
    if (take(toml, '{'))
        return take_inline(toml, key);
    skip_space(toml, false);
    const char *text = *toml->at == '"' || *toml->at == '\'' ? take_string(toml) : take_bare(toml);
    if (text)
        toml->found(toml->context, toml->table, key, text);
    return text;
}

static bool take_table(struct toml *toml)
{
    bool is_list = take(toml, '[');
    const char *name = take_key(toml);
    if (!name || !take(toml, ']') || (is_list && !take(toml, ']')))
        return false;
    toml->table = name;
    return true;
}

static bool take_line(struct toml *toml)
{
    const char *key = NULL;
    bool is_good = take(toml, '[') ? take_table(toml)
                                   : (key = take_key(toml)) && take(toml, '=') && take_value(toml, key);
    skip_space(toml, false);
    return is_good && (!*toml->at || *toml->at == '\n');
}

int toml_read(struct toml *toml, struct err *err)
{
    toml->line = 1;
    toml->table = "";
    for (skip_space(toml, true); *toml->at; skip_space(toml, true)) {
        size_t line = toml->line;
        if (!take_line(toml)) {
            err_set(err, "cannot read line %zu of the TOML", line);
            return err_hint(err, "bawn reads strings of one line, lists of strings, numbers and booleans");
        }
    }
    return 0;
}
