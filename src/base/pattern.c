#include "base/pattern.h"

#include <string.h>

bool pattern_has_wildcard(const char *pattern)
{
    for (const char *at = pattern; *at; at++) {
        if (*at == '\\' && at[1])
            at++;
        else if (*at == '*' || *at == '?')
            return true;
    }
    return false;
}

char *pattern_literal(struct arena *arena, const char *pattern)
{
    char *literal = arena_str(arena, pattern), *out = literal;
    for (const char *at = pattern; *at; at++) {
        if (*at == '\\' && at[1])
            at++;
        *out++ = *at;
    }
    *out = '\0';
    return literal;
}

char *pattern_quote(struct arena *arena, const char *text)
{
    char *quoted = arena_room(arena, 2 * strlen(text) + 1), *out = quoted;
    for (; *text; text++) {
        if (*text == '*' || *text == '?' || *text == '\\')
            *out++ = '\\';
        *out++ = *text;
    }
    *out = '\0';
    return quoted;
}

size_t pattern_weight(const char *pattern)
{
    size_t weight = 0;
    for (const char *at = pattern; *at; at++) {
        if (*at == '\\' && at[1])
            at++;
        else if (*at == '*' || *at == '?')
            continue;
        weight++;
    }
    return weight;
}

static const char *end_of_name(const char *pattern)
{
    while (*pattern && *pattern != '/')
        pattern += *pattern == '\\' && pattern[1] ? 2 : 1;
    return pattern;
}

/*
 * One name against one name pattern. Linear with a single point of return, so that no pattern can make it slow: after
 * a '*' only the latest star ever needs another try.
 */
static bool name_matches(const char *pattern, const char *pattern_end, const char *name, const char *name_end)
{
    const char *star = NULL, *star_name = NULL;
    while (name < name_end) {
        if (pattern < pattern_end && *pattern == '*') {
            star = ++pattern;
            star_name = name;
            continue;
        }
        bool quoted = pattern < pattern_end && *pattern == '\\' && pattern + 1 < pattern_end;
        const char *wanted = pattern + quoted;
        if (pattern < pattern_end && ((!quoted && *wanted == '?') || *wanted == *name)) {
            pattern = wanted + 1;
            name++;
        } else if (star) {
            pattern = star;
            name = ++star_name;
        } else {
            return false;
        }
    }
    while (pattern < pattern_end && *pattern == '*')
        pattern++;
    return pattern == pattern_end;
}

bool pattern_matches_name(const char *pattern, const char *name, size_t name_size)
{
    /* Most names differ from most patterns in the first byte. */
    bool is_literal = *pattern != '*' && *pattern != '?' && *pattern != '\\';
    if (is_literal && name_size && *pattern != *name)
        return false;
    return name_matches(pattern, pattern + strlen(pattern), name, name + name_size);
}

static bool is_any_depth(const char *name, const char *name_end)
{
    return name_end - name == 2 && name[0] == '*' && name[1] == '*';
}

/* The same idea one level up: names instead of characters, "**" instead of '*'. Both texts start at a '/'. */
bool pattern_matches_path(const char *pattern, const char *path, size_t path_size)
{
    const char *path_end = path_size == 1 ? path : path + path_size; /* "/" has no names */
    const char *star = NULL, *star_path = NULL;
    if (strcmp(pattern, "/") == 0)
        return path_size == 1;
    while (path < path_end) {
        const char *name = path + 1;
        const char *name_end = memchr(name, '/', (size_t)(path_end - name));
        name_end = name_end ? name_end : path_end;
        const char *wanted_end = *pattern ? end_of_name(pattern + 1) : pattern;
        if (*pattern && is_any_depth(pattern + 1, wanted_end)) {
            star = pattern = wanted_end;
            star_path = path;
        } else if (*pattern && name_matches(pattern + 1, wanted_end, name, name_end)) {
            pattern = wanted_end;
            path = name_end;
        } else if (star) {
            pattern = star;
            const char *next = memchr(star_path + 1, '/', (size_t)(path_end - star_path - 1));
            path = star_path = next ? next : path_end;
        } else {
            return false;
        }
    }
    while (*pattern && is_any_depth(pattern + 1, end_of_name(pattern + 1)))
        pattern = end_of_name(pattern + 1);
    return *pattern == '\0';
}

bool pattern_may_match_beneath(const char *pattern, const char *directory)
{
    const char *at = directory[1] ? directory : "";
    while (*at) {
        const char *wanted_end = *pattern ? end_of_name(pattern + 1) : pattern;
        if (!*pattern)
            return false;
        if (is_any_depth(pattern + 1, wanted_end))
            return true;
        const char *name_end = at + 1 + strcspn(at + 1, "/");
        if (!name_matches(pattern + 1, wanted_end, at + 1, name_end))
            return false;
        pattern = wanted_end;
        at = name_end;
    }
    return *pattern != '\0';
}

bool pattern_is_deep(const char *pattern)
{
    for (const char *name = pattern; *name == '/'; name = end_of_name(name + 1)) {
        if (is_any_depth(name + 1, end_of_name(name + 1)))
            return true;
    }
    return false;
}

char *pattern_fixed_directory(struct arena *arena, const char *pattern)
{
    size_t fixed = 0; /* bytes of whole names without a wildcard */
    for (const char *name = pattern; *name == '/';) {
        const char *end = end_of_name(name + 1);
        char *one = arena_copy(arena, name, (size_t)(end - name));
        if (pattern_has_wildcard(one))
            break;
        fixed = (size_t)(end - pattern);
        name = end;
    }
    return fixed ? pattern_literal(arena, arena_copy(arena, pattern, fixed)) : arena_str(arena, "/");
}
