#include "git/refs.h"

#include <string.h>

#include "base/text.h"

bool git_position_take(struct bytes *text, struct git_position *ret_position)
{
    size_t size = 0;
    while (size < text->size && size <= GIT_DIGITS_MOST && text_hex_digit(text->at[size]) >= 0)
        size++;
    if (size != SHA1_DIGITS && size != SHA256_DIGITS)
        return false;
    for (size_t i = 0; i < size; i++)
        ret_position->digits[i] = "0123456789abcdef"[text_hex_digit(text->at[i])];
    ret_position->digits[size] = '\0';
    *text = bytes_after(*text, size);
    return true;
}

bool git_position_take_small(struct bytes *text, struct git_position *ret_position)
{
    struct bytes rest = *text;
    if (!git_position_take(&rest, ret_position) || !bytes_start_with(*text, ret_position->digits))
        return false;
    *text = rest;
    return true;
}

struct git_packed_line git_packed_parse(struct bytes text)
{
    struct git_packed_line line = {.text = text, .kind = GIT_PACKED_JUNK};
    bool is_peeled = bytes_start_with(text, "^");
    struct bytes digits = is_peeled ? bytes_after(text, 1) : text, rest = digits;
    if (text.size && memchr(text.at, '\0', text.size))
        return line;
    if (bytes_start_with(text, "#")) {
        line.kind = GIT_PACKED_COMMENT;
        return line;
    }
    if (!git_position_take(&rest, &line.at))
        return line;
    if (is_peeled && rest.size == 0) {
        line.kind = GIT_PACKED_PEELED;
    } else if (!is_peeled && rest.size > 1 && strchr(" \t\r", *rest.at)) {
        line.kind = GIT_PACKED_REF;
        line.name = bytes_after(rest, 1);
    }
    line.is_plain = line.kind != GIT_PACKED_JUNK && bytes_start_with(digits, line.at.digits) &&
                    (is_peeled || *rest.at == ' ');
    return line;
}

bool git_packed_next(struct bytes *rest, struct git_packed_line *ret_line)
{
    struct bytes text;
    if (!bytes_take_line(rest, &text))
        return false;
    *ret_line = git_packed_parse(text);
    return true;
}

bool git_packed_position(struct bytes packed, const char *ref, struct git_position *ret_position)
{
    struct bytes wanted = bytes_of(ref, strlen(ref));
    for (struct git_packed_line line; git_packed_next(&packed, &line);) {
        if (line.kind != GIT_PACKED_REF || !line.is_plain || !bytes_equal(line.name, wanted))
            continue;
        *ret_position = line.at;
        return true;
    }
    return false;
}
