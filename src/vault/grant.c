#include "vault/grant.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

static const struct bytes nothing_behind = {"kept-outside", 12};

/* --- requests ----------------------------------------------------------------------------------------------------- */

static bool is_type(struct bytes value, const char *type)
{
    const char *end = value.size ? memchr(value.at, ';', value.size) : NULL;
    size_t size = end ? (size_t)(end - value.at) : value.size;
    while (size && value.at[size - 1] == ' ')
        size--;
    return bytes_are(bytes_of(value.at, size), type);
}

bool grant_may_be(const struct head *head, bool *ret_is_form)
{
    bool is_json = false, is_form = false;
    unsigned types = 0;
    for (size_t i = 0; i < head->count; i++) {
        if (!bytes_are(head->fields[i].name, "content-type"))
            continue;
        types++;
        is_json = is_type(head->fields[i].value, "application/json");
        is_form = is_type(head->fields[i].value, "application/x-www-form-urlencoded");
    }
    bool has_content = head->framing == FRAMING_CHUNKED ||
                       (head->framing == FRAMING_LENGTH && head->length <= GRANT_LARGEST);
    *ret_is_form = is_form;
    return types == 1 && (is_json || is_form) && has_content && head->coding == CODING_NONE &&
           bytes_are(head->method, "post");
}

/* What was found of the two members so far. */
struct grant {
    unsigned types, tokens;
    bool is_refresh;
    struct bytes token;
};

static void take_member(struct grant *grant, struct bytes name, struct bytes value)
{
    if (bytes_equal(name, bytes_of("grant_type", 10))) {
        grant->types++;
        grant->is_refresh = bytes_equal(value, bytes_of("refresh_token", 13));
    } else if (bytes_equal(name, bytes_of("refresh_token", 13))) {
        grant->tokens++;
        grant->token = value;
    }
}

static void read_json(struct bytes content, struct grant *grant)
{
    struct json_value root, name, value;
    if (!content.size || !json_read(content.at, content.size, &root))
        return;
    for (size_t at = 0; json_next_member(root, &at, &name, &value);)
        take_member(grant, token_text(name), token_text(value));
}

static void read_form(struct bytes content, struct grant *grant)
{
    while (content.size) {
        const char *end = memchr(content.at, '&', content.size);
        struct bytes pair = bytes_of(content.at, end ? (size_t)(end - content.at) : content.size);
        const char *equals = pair.size ? memchr(pair.at, '=', pair.size) : NULL;
        if (equals) {
            struct bytes name = bytes_of(pair.at, (size_t)(equals - pair.at));
            take_member(grant, name, bytes_after(pair, name.size + 1));
        }
        content = bytes_after(content, pair.size + (end ? 1 : 0));
    }
}

bool grant_find(bool is_form, struct bytes content, struct bytes *ret_token)
{
    struct grant grant = {0};
    if (is_form)
        read_form(content, &grant);
    else
        read_json(content, &grant);
    if (grant.types != 1 || !grant.is_refresh || grant.tokens != 1 || !grant.token.size)
        return false;
    *ret_token = grant.token;
    return true;
}

void grant_add(bool is_form, struct bytes content, struct bytes token, struct bytes instead, struct buf *out)
{
    size_t before = (size_t)(token.at - content.at);
    buf_add(out, content.at, before);
    for (size_t i = 0; i < instead.size; i++) {
        char byte = instead.at[i];
        bool is_plain = isalnum((unsigned char)byte) || strchr("-._~", byte);
        if (is_form && !is_plain)
            buf_printf(out, "%%%02X", (unsigned)(unsigned char)byte);
        else
            buf_add_char(out, byte);
    }
    struct bytes after = bytes_after(content, before + token.size);
    buf_add(out, after.at, after.size);
}

/* --- answers ------------------------------------------------------------------------------------------------------ */

/* Is there something inside that has the name of a token? One level of nesting a call: json_read bounds it. */
static bool names_token(struct json_value value)
{
    struct json_value name, inner;
    for (size_t at = 0; json_next_item(value, &at, &inner);) {
        if (names_token(inner))
            return true;
    }
    for (size_t at = 0; json_next_member(value, &at, &name, &inner);) {
        if (token_kind_of(name) || names_token(inner))
            return true;
    }
    return false;
}

/* The member of an answer (RFC 6749, section 5.1) that has this token. */
static enum token_kind kind_in_answer(struct json_value name)
{
    static const char *const names[TOKEN_KIND_COUNT] = {
        [TOKEN_ACCESS] = "access_token", [TOKEN_REFRESH] = "refresh_token", [TOKEN_ID] = "id_token"};
    for (enum token_kind kind = TOKEN_ACCESS; kind < TOKEN_KIND_COUNT; kind++) {
        if (names[kind] && json_is(name, names[kind]))
            return kind;
    }
    return TOKEN_NONE;
}

/* A token that comes twice, in another place or by another name, or that cannot be sent as it is, is in doubt. */
static bool find_tokens(struct json_value root, struct token_set *set)
{
    struct json_value name, value;
    for (size_t at = 0; json_next_member(root, &at, &name, &value);) {
        enum token_kind kind = kind_in_answer(name);
        if (kind && *value.at == '"') {
            if (set->at[kind].size || !token_is_plain(token_text(value)))
                return false;
            set->at[kind] = token_text(value);
        } else if (json_is(name, "expires_in")) {
            set->seconds = token_number(value);
        } else if (token_kind_of(name) || names_token(value)) {
            return false;
        }
    }
    return true;
}

bool grant_read_answer(struct bytes text, struct token_set *ret_set)
{
    struct json_value root;
    *ret_set = (struct token_set){0};
    if (!text.size || !json_read(text.at, text.size, &root) || *root.at != '{' || !find_tokens(root, ret_set))
        return false;
    if (ret_set->seconds < 0)
        ret_set->seconds = 0;
    return ret_set->at[TOKEN_ACCESS].size > 0;
}

/* The token that comes next in the text; TOKEN_NONE: none. */
static enum token_kind next_token(const struct token_set *set, const char *from)
{
    enum token_kind next = TOKEN_NONE;
    for (enum token_kind kind = TOKEN_ACCESS; kind < TOKEN_KIND_COUNT; kind++) {
        if (set->at[kind].size && set->at[kind].at >= from && (!next || set->at[kind].at < set->at[next].at))
            next = kind;
    }
    return next;
}

static struct bytes behind(const struct bytes placeholder)
{
    return placeholder.size ? placeholder : nothing_behind;
}

void grant_add_answer(struct bytes text, const struct token_set *set,
                      const struct bytes placeholders[TOKEN_KIND_COUNT], struct buf *out)
{
    const char *at = text.at;
    for (enum token_kind kind; (kind = next_token(set, at));) {
        buf_add(out, at, (size_t)(set->at[kind].at - at));
        token_add_stand_in(set->at[kind], behind(placeholders[kind]), out);
        at = set->at[kind].at + set->at[kind].size;
    }
    buf_add(out, at, (size_t)(text.at + text.size - at));
}

void grant_add_own_answer(const struct token_set *set, const struct bytes placeholders[TOKEN_KIND_COUNT],
                          struct buf *out)
{
    static const struct {
        enum token_kind kind;
        const char *name;
    } members[] = {{TOKEN_ACCESS, "access_token"}, {TOKEN_REFRESH, "refresh_token"}, {TOKEN_ID, "id_token"}};
    buf_add_str(out, "{\"token_type\":\"Bearer\"");
    for (size_t i = 0; i < array_len(members); i++) {
        if (!set->at[members[i].kind].size)
            continue;
        buf_printf(out, ",\"%s\":\"", members[i].name);
        token_add_stand_in(set->at[members[i].kind], behind(placeholders[members[i].kind]), out);
        buf_add_char(out, '"');
    }
    if (set->seconds)
        buf_printf(out, ",\"expires_in\":%" PRId64, set->seconds);
    if (set->scope.size)
        buf_printf(out, ",\"scope\":\"%.*s\"", (int)set->scope.size, set->scope.at);
    buf_add_char(out, '}');
}
