#include "base/text.h"

#include <stdio.h>
#include <string.h>

size_t utf8_decode(const char *bytes, size_t size, uint32_t *ret_code)
{
    if (!size)
        return 0;
    const unsigned char *in = (const unsigned char *)bytes;
    if (in[0] < 0x80) {
        *ret_code = in[0];
        return 1;
    }
    size_t length = in[0] >= 0xf0 ? 4 : in[0] >= 0xe0 ? 3 : in[0] >= 0xc0 ? 2 : 0;
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (!length || length > size)
        return 0;
    uint32_t code = in[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((in[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (in[i] & 0x3fu);
    }
    bool surrogate = code >= 0xd800 && code <= 0xdfff;
    if (code < least[length] || code > 0x10ffff || surrogate)
        return 0;
    *ret_code = code;
    return length;
}

bool text_is_utf8(const char *bytes, size_t size)
{
    uint32_t ignored;
    for (size_t at = 0, length; at < size; at += length) {
        length = utf8_decode(bytes + at, size - at, &ignored);
        if (!length)
            return false;
    }
    return true;
}

/*
 * Characters that steer a terminal, reorder the text around them, or are not seen: two names that look the same must not be two files, and
 * no text hides in a text. U+FE0E and U+FE0F are left out, since many emojis have one.
 */
static bool is_treacherous(uint32_t code)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {{0x0000, 0x001f}, {0x007f, 0x009f},   {0x00ad, 0x00ad},   {0x034f, 0x034f},
                  {0x061c, 0x061c}, {0x115f, 0x1160},   {0x17b4, 0x17b5},   {0x180b, 0x180f},
                  {0x200b, 0x200f}, {0x2028, 0x202e},   {0x2060, 0x206f},   {0x2800, 0x2800},
                  {0x3164, 0x3164}, {0xfe00, 0xfe0d},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},
                  {0xfff0, 0xfffb}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}};
    for (size_t i = 0; i < array_len(ranges) && code >= ranges[i].first; i++) {
        if (code <= ranges[i].last)
            return true;
    }
    return false;
}

/* How many bytes at the beginning are printable ASCII: nearly all of most texts. */
static size_t count_plain(const char *bytes, size_t size)
{
    size_t count = 0;
    while (count < size && bytes[count] >= ' ' && bytes[count] <= '~')
        count++;
    return count;
}

size_t text_add_printable(struct buf *buf, const char *bytes, size_t size)
{
    size_t columns = 0;
    for (size_t i = 0; i < size;) {
        size_t plain = count_plain(bytes + i, size - i);
        if (plain) {
            buf_add(buf, bytes + i, plain);
            columns += plain;
            i += plain;
            continue;
        }
        uint32_t code = 0;
        size_t length = utf8_decode(bytes + i, size - i, &code);
        if (length && !is_treacherous(code)) {
            buf_add(buf, bytes + i, length);
            columns++;
        } else {
            size_t before = buf->size;
            if (length > 1)
                buf_printf(buf, "\\u{%x}", code);
            else
                buf_printf(buf, "\\x%02x", (unsigned char)bytes[i]);
            columns += buf->size - before;
        }
        i += length ? length : 1;
    }
    return columns;
}

void text_add_wrapped(struct buf *buf, const char *lines, size_t columns, const char *mark)
{
    enum { FIRST_WIDE = 0x1100 };
    size_t used = 0, size = strlen(lines);
    for (size_t i = 0; i < size;) {
        uint32_t code = 0;
        size_t length = utf8_decode(lines + i, size - i, &code), wide = code >= FIRST_WIDE ? 2 : 1;
        length = length ? length : 1;
        if (lines[i] == '\n') {
            used = 0;
            buf_add_char(buf, lines[i++]);
            continue;
        }
        if (used + wide > columns) {
            buf_printf(buf, "\n%s", mark);
            used = strlen(mark);
        }
        buf_add(buf, lines + i, length);
        used += wide;
        i += length;
    }
}

void text_add_html(struct buf *buf, const char *text)
{
    auto_buf struct buf printable = {0};
    text_add_printable(&printable, text, strlen(text));
    text_add_html_as_is(buf, buf_text(&printable));
}

void text_add_html_as_is(struct buf *buf, const char *printable)
{
    for (const char *at = printable; *at; at++) {
        switch (*at) {
        case '&':
            buf_add_str(buf, "&amp;");
            break;
        case '<':
            buf_add_str(buf, "&lt;");
            break;
        case '>':
            buf_add_str(buf, "&gt;");
            break;
        case '"':
            buf_add_str(buf, "&quot;");
            break;
        case '\'':
            buf_add_str(buf, "&#39;");
            break;
        default:
            buf_add_char(buf, *at);
        }
    }
}

bool text_starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool text_ends_with(const char *text, const char *ending)
{
    size_t size = strlen(text), of_ending = strlen(ending);
    return size > of_ending && strcmp(text + size - of_ending, ending) == 0;
}

bool text_equal(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

bool text_has_word(const char *list, const char *word)
{
    size_t size = strlen(word);
    for (const char *at = list; *at; at += strspn(at, " \n")) {
        size_t length = strcspn(at, " \n");
        if (length == size && strncmp(at, word, size) == 0)
            return true;
        at += length;
    }
    return false;
}

bool text_is_among(const char *text, const char *const *texts, size_t count)
{
    size_t i = 0;
    while (i < count && strcmp(texts[i], text) != 0)
        i++;
    return i < count;
}

void text_hex(const unsigned char *bytes, size_t size, char *ret_text)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < size; i++) {
        *ret_text++ = digits[bytes[i] >> 4];
        *ret_text++ = digits[bytes[i] & 15];
    }
    *ret_text = '\0';
}

int text_hex_digit(char byte)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    const char *digit = byte ? strchr(digits, byte) : NULL;
    return digit ? (int)((digit - digits) % 16) : -1;
}

bool text_take_number(const char **at, uint64_t *ret_number)
{
    uint64_t number = 0;
    const char *digit = *at;
    for (; *digit >= '0' && *digit <= '9'; digit++) {
        uint64_t value = (uint64_t)(*digit - '0');
        if (number > (UINT64_MAX - value) / 10)
            return false;
        number = number * 10 + value;
    }
    if (digit == *at)
        return false;
    *ret_number = number;
    *at = digit;
    return true;
}

const char *text_variable(const char *const *environment, const char *name)
{
    size_t size = strlen(name);
    for (; environment && *environment; environment++) {
        if (strncmp(*environment, name, size) == 0 && (*environment)[size] == '=')
            return *environment + size + 1;
    }
    return NULL;
}

static size_t least_of(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

enum { LONGEST_TYPED = 40 };

/* Edits that turn one word into the other, a swap of neighbours counting as one. Both at most LONGEST_TYPED long. */
static size_t edit_distance(const char *a, size_t a_size, const char *b, size_t b_size)
{
    size_t row[LONGEST_TYPED + 1][LONGEST_TYPED + 1];
    for (size_t i = 0; i <= a_size; i++) {
        for (size_t j = 0; j <= b_size; j++) {
            if (i == 0 || j == 0) {
                row[i][j] = i + j;
                continue;
            }
            size_t change = a[i - 1] != b[j - 1];
            row[i][j] = least_of(row[i - 1][j] + 1, row[i][j - 1] + 1, row[i - 1][j - 1] + change);
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && row[i - 2][j - 2] + 1 < row[i][j])
                row[i][j] = row[i - 2][j - 2] + 1;
        }
    }
    return row[a_size][b_size];
}

const char *text_closest(const char *typed, const char *const *words)
{
    size_t typed_size = strlen(typed);
    if (typed_size < 2 || typed_size > LONGEST_TYPED)
        return NULL;
    const char *closest = NULL;
    size_t closest_edits = typed_size <= 3 ? 2 : 3; /* fewer edits than this count as a slip of the finger */
    for (; *words; words++) {
        size_t word_size = strlen(*words);
        if (word_size > LONGEST_TYPED)
            continue;
        size_t edits = edit_distance(typed, typed_size, *words, word_size);
        if (edits < closest_edits) {
            closest = *words;
            closest_edits = edits;
        }
    }
    return closest;
}

/*
 * gmtime() would read the host's time zone first, which costs more than all the rest of a line in a journal. Years are
 * counted from March here, so that a leap day is the last of its year; 400 of them always have the same length.
 */
void text_of_moment(const struct timespec *moment, char ret_text[MOMENT_SIZE])
{
    enum { TO_MARCH_OF_YEAR_0 = 719468, IN_4 = 1461, IN_100 = 36524, IN_400 = 146097, DAY = 24 * 60 * 60 };
    uint64_t seconds = moment->tv_sec < 0 ? 0 : (uint64_t)moment->tv_sec;
    uint64_t days = seconds / DAY + TO_MARCH_OF_YEAR_0, second = seconds % DAY;
    uint64_t in_400 = days % IN_400;
    uint64_t year_in_400 = (in_400 - in_400 / (IN_4 - 1) + in_400 / IN_100 - in_400 / (IN_400 - 1)) / 365;
    uint64_t in_year = in_400 - (365 * year_in_400 + year_in_400 / 4 - year_in_400 / 100);
    uint64_t from_march = (5 * in_year + 2) / 153, day = in_year - (153 * from_march + 2) / 5 + 1;
    uint64_t month = from_march < 10 ? from_march + 3 : from_march - 9;
    uint64_t year = days / IN_400 * 400 + year_in_400 + (month < 3);
    snprintf(ret_text, MOMENT_SIZE, "%04u-%02u-%02uT%02u:%02u:%02u.%03uZ", (unsigned)(year % 10000),
             (unsigned)month, (unsigned)day, (unsigned)(second / 3600), (unsigned)(second / 60 % 60),
             (unsigned)(second % 60), (unsigned)(moment->tv_nsec / 1000000 % 1000));
}

const char *shell_word(struct arena *arena, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_~";
    if (*word && strspn(word, plain) == strlen(word))
        return word;
    auto_buf struct buf quoted = {0};
    buf_add_char(&quoted, '\'');
    for (; *word; word++) {
        if (*word == '\'')
            buf_add_str(&quoted, "'\\'");
        buf_add_char(&quoted, *word);
    }
    buf_add_char(&quoted, '\'');
    return arena_copy(arena, quoted.bytes, quoted.size);
}
