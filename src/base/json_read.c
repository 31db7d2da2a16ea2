#include "base/json.h"

#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"

struct reader {
    const char *at, *end;
};

static void skip_space(struct reader *reader)
{
    while (reader->at < reader->end && *reader->at && strchr(" \t\r\n", *reader->at))
        reader->at++;
}

static bool take(struct reader *reader, char wanted)
{
    if (reader->at == reader->end || *reader->at != wanted)
        return false;
    reader->at++;
    return true;
}

static bool take_word(struct reader *reader, const char *word)
{
    size_t size = strlen(word);
    if ((size_t)(reader->end - reader->at) < size || memcmp(reader->at, word, size) != 0)
        return false;
    reader->at += size;
    return true;
}

/* Four hexadecimal digits; false where there are none. */
static bool take_hex(struct reader *reader, uint32_t *ret_code)
{
    *ret_code = 0;
    for (int i = 0; i < 4; i++, reader->at++) {
        int digit = reader->at < reader->end ? text_hex_digit(*reader->at) : -1;
        if (digit < 0)
            return false;
        *ret_code = *ret_code * 16 + (uint32_t)digit;
    }
    return true;
}

static bool skip_string(struct reader *reader)
{
    uint32_t ignored;
    if (!take(reader, '"'))
        return false;
    while (reader->at < reader->end && *reader->at != '"') {
        unsigned char byte = (unsigned char)*reader->at++;
        if (byte < 0x20)
            return false;
        if (byte != '\\')
            continue;
        if (take(reader, 'u')
                ? !take_hex(reader, &ignored)
                : reader->at == reader->end || !*reader->at || !strchr("\"\\/bfnrt", *reader->at++))
            return false;
    }
    return take(reader, '"');
}

static bool skip_digits(struct reader *reader)
{
    const char *start = reader->at;
    while (reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9')
        reader->at++;
    return reader->at > start;
}

static bool skip_number(struct reader *reader)
{
    take(reader, '-');
    if (!take(reader, '0') && !skip_digits(reader))
        return false;
    if (take(reader, '.') && !skip_digits(reader))
        return false;
    if (!take(reader, 'e') && !take(reader, 'E'))
        return true;
    if (!take(reader, '+'))
        take(reader, '-');
    return skip_digits(reader);
}

static bool skip_value(struct reader *reader, unsigned depth);

/* What stands between two brackets, from behind the first. */
static bool skip_inside(struct reader *reader, char close, unsigned depth)
{
    skip_space(reader);
    if (take(reader, close))
        return true;
    do {
        skip_space(reader);
        if (close == '}') {
            if (!skip_string(reader))
                return false;
            skip_space(reader);
            if (!take(reader, ':'))
                return false;
        }
        if (!skip_value(reader, depth))
            return false;
        skip_space(reader);
    } while (take(reader, ','));
    return take(reader, close);
}

/* One level of nesting a call: JSON_READ_DEEPEST bounds it. */
static bool skip_value(struct reader *reader, unsigned depth)
{
    skip_space(reader);
    if (reader->at == reader->end)
        return false;
    switch (*reader->at) {
    case '{':
    case '[':
        if (depth == JSON_READ_DEEPEST)
            return false;
        return skip_inside(reader, *reader->at++ == '{' ? '}' : ']', depth + 1);
    case '"':
        return skip_string(reader);
    case 't':
        return take_word(reader, "true");
    case 'f':
        return take_word(reader, "false");
    case 'n':
        return take_word(reader, "null");
    default:
        return skip_number(reader);
    }
}

bool json_read(const char *text, size_t size, struct json_value *ret_value)
{
    struct reader reader = {text, text + size};
    skip_space(&reader);
    const char *start = reader.at;
    if (!skip_value(&reader, 0))
        return false;
    *ret_value = (struct json_value){start, (size_t)(reader.at - start)};
    skip_space(&reader);
    return reader.at == reader.end;
}

/* Moves on to the next entry of a checked object or array. */
static bool go_to_next(struct json_value outer, char open, const size_t *at, struct reader *ret_reader)
{
    *ret_reader = (struct reader){outer.at + *at, outer.at + outer.size};
    if (!take(ret_reader, *at ? ',' : open))
        return false;
    skip_space(ret_reader);
    return ret_reader->at < ret_reader->end && *ret_reader->at != ']' && *ret_reader->at != '}';
}

static bool take_value(struct json_value outer, struct reader *reader, size_t *at,
                       struct json_value *ret_value)
{
    skip_space(reader);
    const char *start = reader->at;
    if (!skip_value(reader, 0))
        return false;
    *ret_value = (struct json_value){start, (size_t)(reader->at - start)};
    skip_space(reader);
    *at = (size_t)(reader->at - outer.at);
    return true;
}

bool json_next_member(struct json_value object, size_t *at, struct json_value *ret_key,
                      struct json_value *ret_value)
{
    struct reader reader;
    if (!go_to_next(object, '{', at, &reader))
        return false;
    const char *start = reader.at;
    if (!skip_string(&reader))
        return false;
    *ret_key = (struct json_value){start, (size_t)(reader.at - start)};
    skip_space(&reader);
    return take(&reader, ':') && take_value(object, &reader, at, ret_value);
}

bool json_next_item(struct json_value array, size_t *at, struct json_value *ret_value)
{
    struct reader reader;
    return go_to_next(array, '[', at, &reader) && take_value(array, &reader, at, ret_value);
}

static void add_utf8(struct buf *out, uint32_t code)
{
    if (code < 0x80) {
        buf_add_char(out, (char)code);
        return;
    }
    unsigned more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char leads[] = {0, 0xc0, 0xe0, 0xf0};
    buf_add_char(out, (char)(leads[more] | code >> (6 * more)));
    while (more--)
        buf_add_char(out, (char)(0x80 | (code >> (6 * more) & 0x3f)));
}

/* \uD83D\uDE00 are one character. Halves alone become the character that stands for what cannot be read. */
static uint32_t take_code(struct reader *reader)
{
    uint32_t code = 0, low = 0;
    if (!take_hex(reader, &code))
        return 0;
    if (code < 0xd800 || code > 0xdfff)
        return code;
    struct reader ahead = *reader;
    bool is_pair =
        code < 0xdc00 && take_word(&ahead, "\\u") && take_hex(&ahead, &low) && low >= 0xdc00 && low <= 0xdfff;
    if (!is_pair)
        return 0xfffd;
    *reader = ahead;
    return 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
}

const char *json_text(struct arena *arena, struct json_value value)
{
    static const char names[] = "bfnrt", meanings[] = "\b\f\n\r\t";
    struct reader reader = {value.at, value.at + value.size};
    auto_buf struct buf out = {0};
    if (!take(&reader, '"'))
        return NULL;
    while (reader.at < reader.end && *reader.at != '"') {
        char byte = *reader.at++;
        if (byte != '\\') {
            buf_add_char(&out, byte);
        } else if (take(&reader, 'u')) {
            add_utf8(&out, take_code(&reader));
        } else {
            const char *name = strchr(names, *reader.at);
            buf_add_char(&out, name ? meanings[name - names] : *reader.at);
            reader.at++;
        }
    }
    return memchr(buf_text(&out), '\0', out.size) ? NULL : arena_copy(arena, buf_text(&out), out.size);
}

bool json_is(struct json_value value, const char *text)
{
    size_t size = strlen(text);
    return value.size == size + 2 && *value.at == '"' && memcmp(value.at + 1, text, size) == 0;
}
