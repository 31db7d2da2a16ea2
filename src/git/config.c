#include "git/config.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"

enum { MOST_SETTINGS = 10000, VALUE_LONGEST = 4096 };

struct reader {
    struct arena *arena;
    const char *at, *end;
};

static bool is_at(const struct reader *reader, char byte)
{
    return reader->at < reader->end && *reader->at == byte;
}

static void skip_blanks(struct reader *reader)
{
    while (is_at(reader, ' ') || is_at(reader, '\t') || is_at(reader, '\r'))
        reader->at++;
}

static void skip_line(struct reader *reader)
{
    while (reader->at < reader->end && *reader->at != '\n')
        reader->at++;
}

/* Letters, digits and what else is allowed, in lower case; NULL where there is none. */
static const char *read_word(struct reader *reader, const char *also)
{
    const char *start = reader->at;
    while (reader->at < reader->end && *reader->at && ((unsigned char)*reader->at < 0x80) &&
           (isalnum((unsigned char)*reader->at) || strchr(also, *reader->at)))
        reader->at++;
    char *word = arena_copy(reader->arena, start, (size_t)(reader->at - start));
    for (char *byte = word; *byte; byte++)
        *byte = (char)tolower((unsigned char)*byte);
    return *word ? word : NULL;
}

static int read_subsection(struct reader *reader, const char **ret_subsection)
{
    auto_buf struct buf text = {0};
    for (reader->at++; reader->at < reader->end && *reader->at != '"'; reader->at++) {
        if (*reader->at == '\\')
            reader->at++;
        if (reader->at == reader->end || *reader->at == '\n' || *reader->at == '\0')
            return -1;
        buf_add_char(&text, *reader->at);
    }
    if (reader->at == reader->end)
        return -1;
    reader->at++;
    *ret_subsection = arena_copy(reader->arena, buf_text(&text), text.size);
    return 0;
}

/* [section], [section "subsection"] or the older [section.subsection]. */
static int read_header(struct reader *reader, struct git_setting *setting)
{
    reader->at++;
    const char *section = read_word(reader, "-.");
    if (!section)
        return -1;
    const char *dot = strchr(section, '.');
    if (dot == section)
        return -1;
    setting->section = dot ? arena_copy(reader->arena, section, (size_t)(dot - section)) : section;
    setting->subsection = dot ? dot + 1 : "";
    skip_blanks(reader);
    if (is_at(reader, '"') && (dot || read_subsection(reader, &setting->subsection) < 0))
        return -1;
    if (!is_at(reader, ']'))
        return -1;
    reader->at++;
    return 0;
}

/* What follows a backslash in a value; '\0' where nothing may. */
static char unescape(char byte)
{
    switch (byte) {
    case 'n':
        return '\n';
    case 't':
        return '\t';
    case 'b':
        return '\b';
    case '\\':
    case '"':
        return byte;
    default:
        return '\0';
    }
}

/* Up to the end of the line; blanks at the end and comments do not count, quotes keep both. */
static int read_value(struct reader *reader, const char **ret_value)
{
    auto_buf struct buf text = {0};
    bool is_quoted = false;
    size_t kept = 0; /* without blanks at the end */
    for (; reader->at < reader->end && *reader->at != '\n'; reader->at++) {
        char byte = *reader->at;
        if (byte == '\0' || text.size >= VALUE_LONGEST)
            return -1;
        if (!is_quoted && (byte == '#' || byte == ';')) {
            skip_line(reader);
            break;
        }
        if (byte == '"') {
            is_quoted = !is_quoted;
            kept = text.size;
            continue;
        }
        bool is_escaped = byte == '\\';
        if (is_escaped) {
            reader->at++;
            if (is_at(reader, '\n'))
                continue; /* the next line belongs to this one */
            byte = reader->at < reader->end ? unescape(*reader->at) : '\0';
            if (!byte)
                return -1;
        }
        if (byte == '\r' && !is_quoted && reader->at + 1 < reader->end && reader->at[1] == '\n')
            continue;
        buf_add_char(&text, byte);
        if (is_quoted || is_escaped || !isspace((unsigned char)byte))
            kept = text.size;
    }
    if (is_quoted)
        return -1;
    *ret_value = arena_copy(reader->arena, buf_text(&text), kept);
    return 0;
}

static int read_setting(struct reader *reader, struct git_setting *setting)
{
    setting->value = NULL;
    if (!isalpha((unsigned char)*reader->at) || !setting->section)
        return -1;
    setting->name = read_word(reader, "-");
    skip_blanks(reader);
    if (reader->at == reader->end || *reader->at == '\n')
        return 0;
    if (*reader->at != '=')
        return -1;
    reader->at++;
    skip_blanks(reader);
    return read_value(reader, &setting->value);
}

int git_config_read(struct arena *arena, const char *text, size_t size, git_setting_found *found,
                    void *context)
{
    struct reader reader = {arena, text, text + size};
    struct git_setting setting = {0};
    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        reader.at += 3;
    for (size_t count = 0; count < MOST_SETTINGS;) {
        while (reader.at < reader.end && *reader.at && isspace((unsigned char)*reader.at))
            reader.at++;
        if (reader.at == reader.end)
            return 0;
        if (*reader.at == '#' || *reader.at == ';') {
            skip_line(&reader);
        } else if (*reader.at == '[') {
            if (read_header(&reader, &setting) < 0)
                return -1;
        } else {
            setting.at = (size_t)(reader.at - text);
            if (read_setting(&reader, &setting) < 0)
                return -1;
            setting.end = (size_t)(reader.at - text);
            found(context, &setting);
            count++;
        }
    }
    return -1;
}

void git_config_add(struct buf *out, const char *name, const char *value)
{
    for (const char *byte = value; *byte; byte++) {
        if (iscntrl((unsigned char)*byte) && *byte != '\n' && *byte != '\t')
            return;
    }
    buf_printf(out, "\t%s = \"", name);
    for (const char *byte = value; *byte; byte++) {
        if (*byte == '"' || *byte == '\\')
            buf_add_char(out, '\\');
        if (*byte == '\n' || *byte == '\t')
            buf_add_str(out, *byte == '\n' ? "\\n" : "\\t");
        else
            buf_add_char(out, *byte);
    }
    buf_add_str(out, "\"\n");
}
