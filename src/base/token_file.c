#include "base/token_file.h"

#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "base/base64.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/text.h"

struct reading {
    token_taker *take;
    void *self;
};

/* --- values --------------------------------------------------------------------------------------------------------- */

static bool is_printable(struct bytes text)
{
    for (size_t i = 0; i < text.size; i++) {
        if (text.at[i] < ' ' || text.at[i] > '~')
            return false;
    }
    return text.size > 0;
}

/* The same, and what it stands for: base64 of "PASSWORD" or of "USER:PASSWORD". */
static void take_value(const struct reading *reading, struct bytes value)
{
    auto_buf struct buf plain = {0};
    if (!value.size)
        return;
    reading->take(reading->self, value);
    if (!base64_decode(&plain, value) || !is_printable(bytes_of(plain.bytes, plain.size)))
        return;
    struct bytes decoded = bytes_of(plain.bytes, plain.size);
    const char *colon = decoded.size ? memchr(decoded.at, ':', decoded.size) : NULL;
    reading->take(reading->self, colon ? bytes_after(decoded, (size_t)(colon + 1 - decoded.at)) : decoded);
    explicit_bzero(plain.bytes, plain.size);
}

/* Does the name say that its value is secret: "//registry.corp/:_authToken", "aws_secret_access_key"? */
static bool is_of_secret(struct bytes name)
{
    static const char *const ends[] = {"token", "key", "secret", "auth", "password", "access", "refresh"};
    for (size_t i = 0; i < array_len(ends); i++) {
        size_t size = strlen(ends[i]);
        if (name.size >= size && strncasecmp(name.at + name.size - size, ends[i], size) == 0)
            return true;
    }
    return false;
}

static struct bytes trim(struct bytes text, const char *around)
{
    while (text.size && *text.at && strchr(around, *text.at))
        text = bytes_after(text, 1);
    while (text.size && text.at[text.size - 1] && strchr(around, text.at[text.size - 1]))
        text.size--;
    return text;
}

/* --- formats -------------------------------------------------------------------------------------------------------- */

/* Where the name of a line ends: at the first "=", or at a ":" with a space or nothing behind it; the line's size: nowhere. */
static size_t name_size(struct bytes line)
{
    for (size_t i = 0; i < line.size; i++) {
        bool is_colon = line.at[i] == ':' && (i + 1 == line.size || strchr(" \t\r", line.at[i + 1]));
        if (line.at[i] == '=' || is_colon)
            return i;
    }
    return line.size;
}

static void read_line(const struct reading *reading, struct bytes line)
{
    line = trim(line, " \t\r");
    size_t size = name_size(line);
    if (size == line.size || *line.at == '#' || *line.at == ';')
        return;
    if (is_of_secret(trim(bytes_of(line.at, size), " \t\"'")))
        take_value(reading, trim(bytes_after(line, size + 1), " \t\"'"));
}

static void read_json(const struct reading *reading, struct arena *arena, struct json_value value)
{
    struct json_value name, inner;
    for (size_t at = 0; json_next_item(value, &at, &inner);)
        read_json(reading, arena, inner);
    for (size_t at = 0; json_next_member(value, &at, &name, &inner);) {
        const char *key = json_text(arena, name), *text = json_text(arena, inner);
        if (key && text && is_of_secret(bytes_of(key, strlen(key))))
            take_value(reading, bytes_of(text, strlen(text)));
        read_json(reading, arena, inner);
    }
}

static struct bytes next_word(struct bytes *text)
{
    static const char blanks[] = " \t\r\n";
    size_t size = 0;
    while (text->size && *text->at && strchr(blanks, *text->at))
        *text = bytes_after(*text, 1);
    while (size < text->size && !(text->at[size] && strchr(blanks, text->at[size])))
        size++;
    struct bytes word = bytes_of(text->at, size);
    *text = bytes_after(*text, size);
    return word;
}

static void read_netrc(const struct reading *reading, struct bytes text)
{
    bool is_password = false;
    for (struct bytes word; (word = next_word(&text)).size;) {
        if (is_password)
            take_value(reading, trim(word, "\""));
        is_password = !is_password && bytes_equal_text(word, "password");
    }
}

/* Takes a part of a URL, which may be percent-encoded. */
static void take_encoded(const struct reading *reading, struct bytes part)
{
    auto_buf struct buf plain = {0};
    for (size_t i = 0; i < part.size; i++) {
        bool is_encoded = part.at[i] == '%' && i + 2 < part.size;
        int high = is_encoded ? text_hex_digit(part.at[i + 1]) : -1,
            low = is_encoded ? text_hex_digit(part.at[i + 2]) : -1;
        bool is_whole = high >= 0 && low >= 0;
        buf_add_char(&plain, is_whole ? (char)(high * 16 + low) : part.at[i]);
        i += is_whole ? 2 : 0;
    }
    if (!plain.size)
        return;
    reading->take(reading->self, bytes_of(plain.bytes, plain.size));
    explicit_bzero(plain.bytes, plain.size);
}

static void read_url(const struct reading *reading, struct bytes line)
{
    static const char mark[] = "://";
    const char *begin = line.size ? memmem(line.at, line.size, mark, strlen(mark)) : NULL;
    if (!begin)
        return;
    line = bytes_after(line, (size_t)(begin - line.at) + strlen(mark));
    const char *at = line.size ? memchr(line.at, '@', line.size) : NULL;
    struct bytes user = bytes_of(line.at, at ? (size_t)(at - line.at) : 0);
    const char *colon = user.size ? memchr(user.at, ':', user.size) : NULL;
    struct bytes password = colon ? bytes_after(user, (size_t)(colon + 1 - user.at)) : bytes_of(NULL, 0);
    if (colon)
        user.size = (size_t)(colon - user.at);
    /* Some servers take a token as the user, with a fixed password or none. */
    bool is_user = !password.size || bytes_equal_text(password, "x-oauth-basic");
    take_encoded(reading, is_user ? user : password);
}

bool token_file_read(enum token_format format, struct bytes text, token_taker *take, void *self)
{
    const struct reading reading = {take, self};
    auto_arena struct arena arena = {0};
    struct json_value root;
    struct bytes line;
    if (text.size && memchr(text.at, '\0', text.size))
        return false;
    switch (format) {
    case TOKENS_IN_JSON:
        if (!text.size || !json_read(text.at, text.size, &root))
            return false;
        read_json(&reading, &arena, root);
        break;
    case TOKENS_IN_NETRC:
        read_netrc(&reading, text);
        break;
    case TOKENS_IN_LINES:
        while (bytes_take_line(&text, &line))
            read_line(&reading, line);
        break;
    case TOKENS_IN_URLS:
        while (bytes_take_line(&text, &line))
            read_url(&reading, line);
        break;
    }
    return true;
}
