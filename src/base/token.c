#include "base/token.h"

#include <ctype.h>
#include <string.h>

#include "base/base64.h"

DEFINE_TEXTS(token_kind_name, enum token_kind, TOKEN_KINDS, NAME_OF)

enum token_kind token_kind_of(struct json_value name)
{
    static const struct {
        const char *name;
        enum token_kind kind;
    } names[] = {
        {"accessToken", TOKEN_ACCESS},   {"access_token", TOKEN_ACCESS},   {"access", TOKEN_ACCESS},
        {"refreshToken", TOKEN_REFRESH}, {"refresh_token", TOKEN_REFRESH}, {"refresh", TOKEN_REFRESH},
        {"idToken", TOKEN_ID},           {"id_token", TOKEN_ID},           {"OPENAI_API_KEY", TOKEN_KEY},
        {"apiKey", TOKEN_KEY},           {"api_key", TOKEN_KEY},
    };
    for (size_t i = 0; i < array_len(names); i++) {
        if (json_is(name, names[i].name))
            return names[i].kind;
    }
    return TOKEN_NONE;
}

bool token_is_plain(struct bytes token)
{
    for (size_t i = 0; i < token.size; i++) {
        if (!isgraph((unsigned char)token.at[i]) || token.at[i] == '"' || token.at[i] == '\\')
            return false;
    }
    return token.size >= TOKEN_SHORTEST && token.size <= TOKEN_LONGEST;
}

/* "HEADER.CLAIMS.": its size; 0: it is no JWT. */
static size_t size_before_signature(struct bytes token)
{
    size_t dots = 0, before = 0;
    for (size_t i = 0; i < token.size; i++) {
        char byte = token.at[i];
        if (byte == '.') {
            dots++;
            before = i + 1;
        } else if (!isalnum((unsigned char)byte) && byte != '-' && byte != '_') {
            return 0;
        }
    }
    return dots == 2 ? before : 0;
}

struct bytes token_core(struct bytes token)
{
    enum { SIGNATURE_SHORTEST = 16 };
    size_t before = size_before_signature(token);
    return before && token.size - before >= SIGNATURE_SHORTEST ? bytes_after(token, before) : token;
}

void token_add_stand_in(struct bytes token, struct bytes placeholder, struct buf *out)
{
    struct bytes core = token_core(token);
    buf_add(out, token.at, token.size - core.size);
    buf_add(out, placeholder.at, placeholder.size);
}

bool token_stands_for(struct bytes word, struct bytes placeholder)
{
    if (word.size <= placeholder.size)
        return bytes_equal(word, placeholder);
    size_t before = size_before_signature(word);
    return before && bytes_equal(bytes_after(word, before), placeholder);
}

struct bytes token_text(struct json_value value)
{
    bool is_text = value.size >= 2 && *value.at == '"' && !memchr(value.at, '\\', value.size);
    return is_text ? bytes_of(value.at + 1, value.size - 2) : bytes_of(NULL, 0);
}

int64_t token_number(struct json_value value)
{
    enum { MOST_DIGITS = 15 };
    int64_t number = 0;
    size_t digits = 0;
    while (digits < value.size && isdigit((unsigned char)value.at[digits]) && digits <= MOST_DIGITS)
        number = number * 10 + (value.at[digits++] - '0');
    bool is_whole = digits == value.size || (digits < value.size && value.at[digits] == '.');
    return digits && digits <= MOST_DIGITS && is_whole ? number : -1;
}

/* Base64 of URLs, without padding. */
static bool decode_claims(struct bytes text, struct buf *out)
{
    auto_buf struct buf usual = {0};
    for (size_t i = 0; i < text.size; i++)
        buf_add_char(&usual, text.at[i] == '-' ? '+' : text.at[i] == '_' ? '/' : text.at[i]);
    while (usual.size % 4)
        buf_add_char(&usual, '=');
    return base64_decode(out, bytes_of(usual.bytes, usual.size));
}

int64_t token_expiry(struct bytes token)
{
    auto_buf struct buf claims = {0};
    struct json_value root, name, value;
    size_t before = size_before_signature(token), at = 0;
    const char *dot = before ? memchr(token.at, '.', token.size) : NULL;
    if (!dot || !decode_claims(bytes_of(dot + 1, (size_t)(token.at + before - 2 - dot)), &claims) ||
        !claims.size || !json_read(claims.bytes, claims.size, &root))
        return 0;
    while (json_next_member(root, &at, &name, &value)) {
        int64_t number = json_is(name, "exp") ? token_number(value) : -1;
        if (number > 0)
            return number;
    }
    return 0;
}

/* --- sets --------------------------------------------------------------------------------------------------------- */

void token_set_add(const struct token_set *set, struct buf *out)
{
    for (enum token_kind kind = TOKEN_ACCESS; kind < TOKEN_KIND_COUNT; kind++) {
        if (set->at[kind].size)
            buf_printf(out, "%s %.*s\n", token_kind_name(kind), (int)set->at[kind].size, set->at[kind].at);
    }
    if (set->seconds > 0)
        buf_printf(out, "seconds %lld\n", (long long)set->seconds);
    if (set->scope.size)
        buf_printf(out, "scope %.*s\n", (int)set->scope.size, set->scope.at);
}

/* Words that JSON has as they are. */
static bool is_scope(struct bytes text)
{
    for (size_t i = 0; i < text.size; i++) {
        if (!isprint((unsigned char)text.at[i]) || text.at[i] == '"' || text.at[i] == '\\')
            return false;
    }
    return text.size <= TOKEN_LONGEST;
}

static bool take_word(struct bytes *line, const char *word)
{
    size_t size = strlen(word);
    if (line->size <= size || memcmp(line->at, word, size) != 0 || line->at[size] != ' ')
        return false;
    *line = bytes_after(*line, size + 1);
    return true;
}

bool token_set_read(struct bytes text, struct token_set *ret_set)
{
    struct bytes line;
    *ret_set = (struct token_set){0};
    while (bytes_take_line(&text, &line)) {
        bool is_known = false;
        for (enum token_kind kind = TOKEN_ACCESS; !is_known && kind < TOKEN_KIND_COUNT; kind++) {
            is_known = take_word(&line, token_kind_name(kind));
            if (is_known)
                ret_set->at[kind] = line;
            if (is_known && !token_is_plain(line))
                return false;
        }
        if (is_known)
            continue;
        if (take_word(&line, "seconds"))
            ret_set->seconds = token_number((struct json_value){line.at, line.size});
        else if (take_word(&line, "scope") && is_scope(line))
            ret_set->scope = line;
        else
            return false;
    }
    return ret_set->seconds >= 0;
}
