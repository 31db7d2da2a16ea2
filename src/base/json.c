#include "base/json.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/text.h"

static void add_quoted(struct buf *out, const char *text)
{
    size_t size = strlen(text);
    buf_add_char(out, '"');
    for (size_t i = 0; i < size;) {
        uint32_t code = 0;
        size_t length = utf8_decode(text + i, size - i, &code);
        if (!length)
            buf_printf(out, "\\udc%02x", (unsigned char)text[i]);
        else if (code == '"' || code == '\\')
            buf_printf(out, "\\%c", (char)code);
        else if (code < 0x20 || (code >= 0x7f && code < 0xa0))
            buf_printf(out, "\\u%04x", code);
        else
            buf_add(out, text + i, length);
        i += length ? length : 1;
    }
    buf_add_char(out, '"');
}

static void break_line(struct json *json)
{
    if (json->on_one_line)
        return;
    buf_add_char(json->out, '\n');
    for (unsigned i = 0; i < json->depth; i++)
        buf_add_str(json->out, "  ");
}

static void begin_item(struct json *json, const char *key)
{
    if (json->depth) {
        bool *has_items = &json->has_items[json->depth - 1];
        if (*has_items)
            buf_add_char(json->out, ',');
        *has_items = true;
        break_line(json);
    }
    if (key) {
        add_quoted(json->out, key);
        buf_add_str(json->out, json->on_one_line ? ":" : ": ");
    }
}

void json_open(struct json *json, const char *key, char bracket)
{
    assert(json->depth < JSON_DEEPEST);
    begin_item(json, key);
    buf_add_char(json->out, bracket);
    json->has_items[json->depth++] = false;
}

void json_close(struct json *json, char bracket)
{
    assert(json->depth > 0);
    if (json->has_items[--json->depth])
        break_line(json);
    buf_add_char(json->out, bracket);
    if (json->depth == 0 && !json->on_one_line)
        buf_add_char(json->out, '\n');
}

void json_str(struct json *json, const char *key, const char *text)
{
    if (!text)
        return;
    begin_item(json, key);
    add_quoted(json->out, text);
}

void json_int(struct json *json, const char *key, int64_t number)
{
    begin_item(json, key);
    buf_printf(json->out, "%" PRId64, number);
}

void json_bool(struct json *json, const char *key, bool value)
{
    begin_item(json, key);
    buf_add_str(json->out, value ? "true" : "false");
}

void json_raw(struct json *json, const char *key, const char *value)
{
    begin_item(json, key);
    buf_add_str(json->out, value);
}

void json_true(struct json *json, const char *key, bool is_true)
{
    if (is_true)
        json_bool(json, key, true);
}
