#include "journal/journal.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FIELDS = 64 };

struct reader {
    struct arena *arena;
    const char *at, *end;
};

static bool take(struct reader *reader, char wanted)
{
    if (reader->at == reader->end || *reader->at != wanted)
        return false;
    reader->at++;
    return true;
}

/* Four hexadecimal digits; -1 where there are none. */
static int take_hex(struct reader *reader)
{
    int value = 0;
    for (int i = 0; i < 4; i++, reader->at++) {
        const char *digits = "0123456789abcdef";
        const char *digit = reader->at < reader->end && *reader->at ? strchr(digits, *reader->at) : NULL;
        if (!digit)
            return -1;
        value = value * 16 + (int)(digit - digits);
    }
    return value;
}

/* What follows a backslash, as the writer writes it: a quote, a backslash, a control character, or one byte. */
static bool take_escaped(struct reader *reader, char **out)
{
    if (take(reader, '"') || take(reader, '\\')) {
        *(*out)++ = reader->at[-1];
        return true;
    }
    int code = take(reader, 'u') ? take_hex(reader) : -1;
    if (code > 0 && code < 0x80)
        *(*out)++ = (char)code;
    else if (code >= 0x80 && code < 0xa0) {
        *(*out)++ = (char)0xc2;
        *(*out)++ = (char)code;
    } else if (code >= 0xdc80 && code <= 0xdcff)
        *(*out)++ = (char)(code & 0xff); /* a byte that is not UTF-8 */
    else
        return false;
    return true;
}

/* A text between quotes; NULL where there is none. */
static const char *take_text(struct reader *reader)
{
    if (!take(reader, '"'))
        return NULL;
    char *text = arena_alloc(reader->arena, (size_t)(reader->end - reader->at) + 1), *out = text;
    while (reader->at < reader->end && *reader->at != '"') {
        unsigned char byte = (unsigned char)*reader->at++;
        if (byte < 0x20)
            return NULL;
        if (byte != '\\')
            *out++ = (char)byte;
        else if (!take_escaped(reader, &out))
            return NULL;
    }
    return take(reader, '"') ? text : NULL;
}

static const char *take_digits(struct reader *reader)
{
    const char *start = reader->at;
    while (reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9')
        reader->at++;
    size_t size = (size_t)(reader->at - start);
    return size && size < 20 ? arena_copy(reader->arena, start, size) : NULL;
}

static bool take_field(struct reader *reader, struct record_field *ret_field)
{
    ret_field->name = take_text(reader);
    if (!ret_field->name || !take(reader, ':') || reader->at == reader->end)
        return false;
    ret_field->text = *reader->at == '"' ? take_text(reader) : take_digits(reader);
    return ret_field->text != NULL;
}

static bool take_record(struct reader *reader, struct journal_record *record)
{
    if (!take(reader, '{'))
        return false;
    do {
        struct record_field field = {0};
        if (record->fields.count == MOST_FIELDS || !take_field(reader, &field))
            return false;
        if (strcmp(field.name, "n") == 0)
            record->number = strtoull(field.text, NULL, 10);
        else if (strcmp(field.name, "at") == 0)
            record->at = field.text;
        else if (strcmp(field.name, "event") == 0)
            record->event = field.text;
        else if (strcmp(field.name, "chain") != 0)
            vec_push(&record->fields, field);
    } while (take(reader, ','));
    return take(reader, '}') && reader->at == reader->end && record->number && record->at && record->event;
}

bool journal_record_parse(struct arena *arena, const char *line, size_t size,
                          struct journal_record *ret_record)
{
    struct reader reader = {arena, line, line + size};
    *ret_record = (struct journal_record){0};
    if (take_record(&reader, ret_record))
        return true;
    journal_record_free(ret_record);
    return false;
}

void journal_record_free(struct journal_record *record)
{
    vec_free(&record->fields);
}

const char *journal_record_text(const struct journal_record *record, const char *name)
{
    for (size_t i = 0; i < record->fields.count; i++) {
        if (strcmp(record->fields.at[i].name, name) == 0)
            return record->fields.at[i].text;
    }
    return NULL;
}
