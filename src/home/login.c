#include "home/login.h"

#include <ctype.h>
#include <string.h>
#include <time.h>

/* Stands for a token that no placeholder was made for: one that came into the file while a session ran. */
#define UNKNOWN_TOKEN "kept-outside-until-the-next-run"

static bool is_place_word(struct bytes name)
{
    for (size_t i = 0; i < name.size; i++) {
        if (!isgraph((unsigned char)name.at[i]) || name.at[i] == '.')
            return false;
    }
    return name.size > 0;
}

/* Names a command or a variable, in the place of a key. */
static bool is_reference(struct json_value value)
{
    return (value.size > 1 && value.at[1] == '!') || memchr(value.at, '$', value.size);
}

/* `is_named`: a rule names this very member. */
static enum token_kind kind_of(struct json_value name, struct json_value value, bool is_named)
{
    enum token_kind kind = token_kind_of(name);
    if (!kind && (is_named || json_is(name, "key")))
        kind = TOKEN_KEY;
    return *value.at != '"' || (kind == TOKEN_KEY && is_reference(value)) ? TOKEN_NONE : kind;
}

struct finding {
    struct arena *arena;
    login_tokens *tokens;
};

static void find_in(const struct finding *finding, struct json_value value, const char *place);

/* `place` is that of the object, with a dot at its end; NULL: it has none. */
static void find_in_member(const struct finding *finding, struct json_value name, struct json_value value,
                           const char *place, bool is_named)
{
    struct bytes word = token_text(name);
    bool has_place = place && is_place_word(word);
    enum token_kind kind = kind_of(name, value, is_named);
    const char *here = has_place ? arena_printf(finding->arena, "%s%.*s%s", place, (int)word.size, word.at,
                                                *value.at == '"' ? "" : ".")
                                 : NULL;
    if (kind)
        vec_push(finding->tokens, (struct login_token){kind, here, bytes_of(value.at + 1, value.size - 2)});
    else
        find_in(finding, value, here);
}

/* One level of nesting a call: json_read bounds it. */
static void find_in(const struct finding *finding, struct json_value value, const char *place)
{
    struct json_value name, inner;
    for (size_t at = 0; json_next_item(value, &at, &inner);)
        find_in(finding, inner, NULL);
    for (size_t at = 0; json_next_member(value, &at, &name, &inner);)
        find_in_member(finding, name, inner, place, false);
}

static bool is_entry(const char *entries, struct json_value name)
{
    struct bytes word = token_text(name);
    for (size_t size; *entries; entries += size + (entries[size] == ' ')) {
        size = strcspn(entries, " ");
        if (bytes_equal(word, bytes_of(entries, size)))
            return true;
    }
    return false;
}

bool login_find(struct arena *arena, struct bytes text, const char *entries, login_tokens *ret_tokens)
{
    struct json_value root, name, inner;
    const struct finding finding = {arena, ret_tokens};
    if (!text.size || !json_read(text.at, text.size, &root))
        return false;
    if (!entries)
        find_in(&finding, root, "");
    for (size_t at = 0; entries && json_next_member(root, &at, &name, &inner);) {
        if (is_entry(entries, name))
            find_in_member(&finding, name, inner, "", true);
    }
    return true;
}

const char *login_placeholder(const kept_tokens *kept, const char *file, const char *place)
{
    for (size_t i = 0; place && i < kept->count; i++) {
        if (strcmp(kept->at[i].place, place) == 0 && strcmp(kept->at[i].file, file) == 0)
            return kept->at[i].placeholder;
    }
    return NULL;
}

bool login_mask(struct bytes text, const char *file, const char *entries, const kept_tokens *kept,
                struct buf *out)
{
    auto_arena struct arena arena = {0};
    auto_vec login_tokens tokens = {0};
    const char *at = text.at;
    if (!login_find(&arena, text, entries, &tokens))
        return false;
    vec_each (const struct login_token, token, &tokens) {
        const char *placeholder = login_placeholder(kept, file, token->place);
        if (token->value.size < TOKEN_SHORTEST)
            continue; /* another kind of setting */
        if (!placeholder)
            placeholder = UNKNOWN_TOKEN;
        buf_add(out, at, (size_t)(token->value.at - at));
        token_add_stand_in(token->value, bytes_of(placeholder, strlen(placeholder)), out);
        at = token->value.at + token->value.size;
    }
    buf_add(out, at, (size_t)(text.at + text.size - at));
    return true;
}

static bool has(struct bytes text, const char *part)
{
    return text.size && memmem(text.at, text.size, part, strlen(part));
}

bool login_is_masked(struct bytes text, const kept_tokens *kept)
{
    bool is_masked = has(text, UNKNOWN_TOKEN);
    vec_each (const struct kept_token, token, kept)
        is_masked |= has(text, token->placeholder);
    return is_masked;
}

bool login_has_stand_ins(struct bytes inside, struct bytes hosts, const char *file, const char *entries,
                         const kept_tokens *kept)
{
    auto_arena struct arena arena = {0};
    auto_vec login_tokens tokens = {0};
    bool has_all = login_find(&arena, hosts, entries, &tokens);
    vec_each (const struct login_token, token, &tokens) {
        const char *placeholder = login_placeholder(kept, file, token->place);
        has_all &= token->value.size < TOKEN_SHORTEST || (placeholder && has(inside, placeholder));
    }
    return has_all;
}

bool login_has_tokens(struct bytes text, const char *entries)
{
    auto_arena struct arena arena = {0};
    auto_vec login_tokens tokens = {0};
    bool has_one = false;
    if (!login_find(&arena, text, entries, &tokens))
        return false;
    vec_each (const struct login_token, token, &tokens)
        has_one |= token_is_plain(token->value);
    return has_one;
}

/* --- one entry ---------------------------------------------------------------------------------------------------- */

static bool find_object(struct bytes text, const char *place, struct json_value *ret_object)
{
    struct json_value value;
    if (!text.size || !json_read(text.at, text.size, &value))
        return false;
    while (*place) {
        size_t size = strcspn(place, "."), at = 0;
        struct json_value name, inner = {0};
        bool is_found = false;
        while (!is_found && json_next_member(value, &at, &name, &inner))
            is_found = bytes_equal(token_text(name), bytes_of(place, size));
        if (!is_found)
            return false;
        value = inner;
        place += size + (place[size] == '.');
    }
    *ret_object = value;
    return *value.at == '{';
}

static bool is_expiry(struct json_value name)
{
    return json_is(name, "expiresAt") || json_is(name, "expiry_date") || json_is(name, "expires");
}

bool login_entry_read(struct bytes text, const char *place, struct login_entry *ret_entry)
{
    struct json_value object, name, value;
    *ret_entry = (struct login_entry){0};
    if (!find_object(text, place, &object))
        return false;
    for (size_t at = 0; json_next_member(object, &at, &name, &value);) {
        enum token_kind kind = token_kind_of(name);
        int64_t number = is_expiry(name) ? token_number(value) : -1;
        if (kind && token_is_plain(token_text(value)))
            ret_entry->tokens[kind] = token_text(value);
        if (number > 0)
            ret_entry->expires = number;
        if (json_is(name, "scopes") || json_is(name, "scope"))
            ret_entry->scopes = value;
    }
    if (!ret_entry->expires)
        ret_entry->expires = token_expiry(ret_entry->tokens[TOKEN_ACCESS]) * 1000;
    return true;
}

static void add_time(int64_t now, struct buf *out)
{
    char text[64];
    struct tm parts;
    time_t seconds = (time_t)(now / 1000);
    if (gmtime_r(&seconds, &parts) && strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts))
        buf_printf(out, "\"%s.%03dZ\"", text, (int)(now % 1000));
}

/* Adds what a member of the entry becomes; nothing: it stays. */
static void add_new_value(struct json_value name, struct json_value value, const struct login_entry *wanted,
                          int64_t now, struct buf *out)
{
    struct bytes token = wanted->tokens[token_kind_of(name)];
    if (token.size && *value.at == '"')
        buf_printf(out, "\"%.*s\"", (int)token.size, token.at);
    else if (wanted->expires && is_expiry(name) && token_number(value) > 0)
        buf_printf(out, "%lld", (long long)wanted->expires);
    else if (json_is(name, "last_refresh") && *value.at == '"')
        add_time(now, out);
}

bool login_entry_write(struct bytes text, const char *place, const struct login_entry *wanted, int64_t now,
                       struct buf *out)
{
    struct json_value object, name, value;
    const char *from = text.at;
    if (!find_object(text, place, &object))
        return false;
    for (size_t at = 0; json_next_member(object, &at, &name, &value);) {
        auto_buf struct buf changed = {0};
        add_new_value(name, value, wanted, now, &changed);
        if (!changed.size)
            continue;
        buf_add(out, from, (size_t)(value.at - from));
        buf_add(out, changed.bytes, changed.size);
        from = value.at + value.size;
        explicit_bzero(changed.bytes, changed.size);
    }
    buf_add(out, from, (size_t)(text.at + text.size - from));
    return true;
}
