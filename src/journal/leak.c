#include "journal/leak.h"

#include <string.h>

#include "base/attr.h"

static bool is_placeholder(const struct leak_table *table, struct bytes word)
{
    vec_each (const struct bytes, placeholder, &table->placeholders) {
        if (word.size >= placeholder->size && memcmp(word.at, placeholder->at, placeholder->size) == 0)
            return true;
    }
    return false;
}

/* --- words ------------------------------------------------------------------------------------------------------------ */

static void note(struct leak_search *search, enum leak_kind kind, const char *name)
{
    for (size_t i = 0; i < search->found_count; i++) {
        if (search->found[i].kind == kind && strcmp(search->found[i].name, name) == 0)
            return;
    }
    size_t place = search->found_count;
    if (place ==
        LEAK_MOST_FOUND) { /* the less certain gives way: a command can make up keys of many formats */
        place = 0;
        for (size_t i = 1; i < LEAK_MOST_FOUND; i++)
            place = search->found[i].kind < search->found[place].kind ? i : place;
        if (search->found[place].kind >= kind)
            return;
    }
    search->found_count += place == search->found_count;
    search->found[place] = (struct leak_found){kind, name};
}

static void judge(struct leak_search *search, struct bytes text)
{
    const struct leak_table *table = search->table;
    struct bytes word = word_trim(text);
    if (word.size < KEY_WORD_SHORTEST)
        return;
    if (table->has_size[word.size]) {
        unsigned char digest[KEY_WORD_DIGEST];
        word_digest(table->salt, word, digest);
        vec_each (const struct leak_known, known, &table->known) {
            if (memcmp(known->digest, digest, KEY_WORD_DIGEST) == 0)
                note(search, known->kind, known->name);
        }
    }
    const struct key_format *format = search->skips_formats ? NULL : key_of_word(word);
    if (format && !is_placeholder(table, word))
        note(search, LEAK_KEY, format->prefix);
}

/* --- private keys ------------------------------------------------------------------------------------------------------- */

/* The words of the armour that have come. */
enum { ARMOUR_NONE, ARMOUR_BEGIN, ARMOUR_KIND, ARMOUR_FURTHER, ARMOUR_PRIVATE, ARMOUR_BODY };

static void add_body(struct leak_search *search, struct leak_lane *lane, struct bytes text)
{
    enum { ENOUGH = 64 }; /* a mere mention of a key has no such body */
    for (size_t i = 0; i < text.size; i++) {
        lane->body_has_lower |= text.at[i] >= 'a' && text.at[i] <= 'z';
        lane->body_has_upper |= text.at[i] >= 'A' && text.at[i] <= 'Z';
        lane->body_has_digit |= text.at[i] >= '0' && text.at[i] <= '9';
    }
    lane->body_size += (uint16_t)text.size;
    if (lane->body_size < ENOUGH)
        return;
    if (lane->body_has_lower && lane->body_has_upper && lane->body_has_digit && !search->skips_formats)
        note(search, LEAK_PRIVATE_KEY, "PEM");
    lane->armour = ARMOUR_NONE;
}

/* The next word of "-----BEGIN RSA PRIVATE KEY-----", and of what follows it. */
static void go_on_with_armour(struct leak_search *search, struct leak_lane *lane, struct bytes word)
{
    static const char end[] = "KEY-----", block_end[] = "BLOCK-----";
    bool is_end = bytes_start_with(word, end), is_block_end = bytes_start_with(word, block_end);
    if (bytes_equal(word, bytes_of("-----BEGIN", 10)))
        lane->armour = ARMOUR_BEGIN;
    else if (lane->armour == ARMOUR_NONE)
        return;
    else if (lane->armour == ARMOUR_BODY)
        add_body(search, lane, word);
    else if (bytes_equal(word, bytes_of("PRIVATE", 7)))
        lane->armour = ARMOUR_PRIVATE;
    else if (lane->armour < ARMOUR_FURTHER)
        lane->armour++;
    else if (lane->armour == ARMOUR_PRIVATE && (is_end || is_block_end)) {
        lane->armour = ARMOUR_BODY;
        lane->body_size = 0;
        lane->body_has_lower = lane->body_has_upper = lane->body_has_digit = false;
        add_body(search, lane, bytes_after(word, strlen(is_end ? end : block_end)));
    } else if (lane->armour != ARMOUR_PRIVATE || !bytes_equal(word, bytes_of("KEY", 3)))
        lane->armour = ARMOUR_NONE;
}

/* --- lanes -------------------------------------------------------------------------------------------------------------- */

/* What a byte is for a lane. */
enum { BYTE_OTHER, BYTE_WORD, BYTE_LINE, BYTE_BLANK, BYTE_BODY };

static const unsigned char byte_kinds[256] = {
    ['a'] = BYTE_WORD,  ['b'] = BYTE_WORD,  ['c'] = BYTE_WORD,  ['d'] = BYTE_WORD,   ['e'] = BYTE_WORD,
    ['f'] = BYTE_WORD,  ['g'] = BYTE_WORD,  ['h'] = BYTE_WORD,  ['i'] = BYTE_WORD,   ['j'] = BYTE_WORD,
    ['k'] = BYTE_WORD,  ['l'] = BYTE_WORD,  ['m'] = BYTE_WORD,  ['n'] = BYTE_WORD,   ['o'] = BYTE_WORD,
    ['p'] = BYTE_WORD,  ['q'] = BYTE_WORD,  ['r'] = BYTE_WORD,  ['s'] = BYTE_WORD,   ['t'] = BYTE_WORD,
    ['u'] = BYTE_WORD,  ['v'] = BYTE_WORD,  ['w'] = BYTE_WORD,  ['x'] = BYTE_WORD,   ['y'] = BYTE_WORD,
    ['z'] = BYTE_WORD,  ['A'] = BYTE_WORD,  ['B'] = BYTE_WORD,  ['C'] = BYTE_WORD,   ['D'] = BYTE_WORD,
    ['E'] = BYTE_WORD,  ['F'] = BYTE_WORD,  ['G'] = BYTE_WORD,  ['H'] = BYTE_WORD,   ['I'] = BYTE_WORD,
    ['J'] = BYTE_WORD,  ['K'] = BYTE_WORD,  ['L'] = BYTE_WORD,  ['M'] = BYTE_WORD,   ['N'] = BYTE_WORD,
    ['O'] = BYTE_WORD,  ['P'] = BYTE_WORD,  ['Q'] = BYTE_WORD,  ['R'] = BYTE_WORD,   ['S'] = BYTE_WORD,
    ['T'] = BYTE_WORD,  ['U'] = BYTE_WORD,  ['V'] = BYTE_WORD,  ['W'] = BYTE_WORD,   ['X'] = BYTE_WORD,
    ['Y'] = BYTE_WORD,  ['Z'] = BYTE_WORD,  ['0'] = BYTE_WORD,  ['1'] = BYTE_WORD,   ['2'] = BYTE_WORD,
    ['3'] = BYTE_WORD,  ['4'] = BYTE_WORD,  ['5'] = BYTE_WORD,  ['6'] = BYTE_WORD,   ['7'] = BYTE_WORD,
    ['8'] = BYTE_WORD,  ['9'] = BYTE_WORD,  ['_'] = BYTE_WORD,  ['-'] = BYTE_WORD,   ['.'] = BYTE_WORD,
    ['\n'] = BYTE_LINE, ['\r'] = BYTE_LINE, [' '] = BYTE_BLANK, ['\t'] = BYTE_BLANK, ['+'] = BYTE_BODY,
    ['/'] = BYTE_BODY,  ['='] = BYTE_BODY,
};

static struct bytes last_line(const struct leak_lane *lane)
{
    size_t begin = lane->line_count ? lane->lines[lane->line_count - 1] : 0;
    return bytes_of(lane->word + begin, lane->size - begin);
}

/* A line ends: the word may go on in the next. */
static void begin_line(struct leak_lane *lane)
{
    if (lane->is_overlong || lane->size == KEY_WORD_LONGEST) {
        lane->is_overlong = false;
        lane->size = lane->line_count = 0;
        return;
    }
    if (lane->line_count && lane->lines[lane->line_count - 1] == lane->size)
        return;
    if (lane->line_count == LEAK_LINES) { /* the oldest is given up */
        uint16_t dropped = lane->lines[0];
        memmove(lane->word, lane->word + dropped, (size_t)lane->size - dropped);
        lane->size -= dropped;
        for (size_t i = 1; i < LEAK_LINES; i++)
            lane->lines[i - 1] = lane->lines[i] - dropped;
        lane->line_count--;
    }
    lane->lines[lane->line_count++] = lane->size;
}

/* Judges the word, and the words that it may be the end of. */
static void judge_lines(struct leak_search *search, struct leak_lane *lane)
{
    struct bytes whole = bytes_of(lane->word, lane->size);
    judge(search, whole);
    for (size_t i = 0; i < lane->line_count; i++) {
        if (lane->lines[i] && lane->lines[i] < lane->size)
            judge(search, bytes_after(whole, lane->lines[i]));
    }
}

static void end_word(struct leak_search *search, struct leak_lane *lane, unsigned kind)
{
    struct bytes last = last_line(lane);
    if (last.size) {
        judge_lines(search, lane);
        go_on_with_armour(search, lane, last);
    }
    bool is_in_body = kind == BYTE_LINE || kind == BYTE_BODY || (kind == BYTE_BLANK && !last.size);
    if (lane->armour == ARMOUR_BODY && !is_in_body)
        lane->armour = ARMOUR_NONE;
    if (kind == BYTE_LINE) {
        begin_line(lane);
        return;
    }
    lane->size = lane->line_count = 0;
    lane->is_overlong = false;
}

/* A byte that is not of a word. */
static inline void lane_break(struct leak_search *search, struct leak_lane *lane, unsigned kind)
{
    /* Most words are too short for anything, and nothing is done about them. */
    bool is_of_armour = lane->armour || *lane->word == '-';
    if (lane->size >= KEY_WORD_SHORTEST || lane->line_count || is_of_armour || kind == BYTE_LINE)
        end_word(search, lane, kind);
    else
        lane->size = lane->line_count = 0;
}

static void lane_take_word(struct leak_lane *lane, struct bytes word)
{
    size_t room = (size_t)KEY_WORD_LONGEST - lane->size, taken = word.size < room ? word.size : room;
    memcpy(lane->word + lane->size, word.at, taken);
    lane->size += (uint16_t)taken;
    lane->is_overlong |= taken < word.size;
}

static inline void lane_take(struct leak_search *search, struct leak_lane *lane, unsigned char byte)
{
    unsigned kind = byte_kinds[byte];
    if (kind != BYTE_WORD)
        lane_break(search, lane, kind);
    else if (lane->size < KEY_WORD_LONGEST)
        lane->word[lane->size++] = (char)byte;
    else
        lane->is_overlong = true;
}

/* --- base64 ------------------------------------------------------------------------------------------------------------ */

/* One more than the letter's value; 0: it is no letter of the encoding. */
static const unsigned char base64_values[256] = {
    ['A'] = 1,  ['B'] = 2,  ['C'] = 3,  ['D'] = 4,  ['E'] = 5,  ['F'] = 6,  ['G'] = 7,  ['H'] = 8,
    ['I'] = 9,  ['J'] = 10, ['K'] = 11, ['L'] = 12, ['M'] = 13, ['N'] = 14, ['O'] = 15, ['P'] = 16,
    ['Q'] = 17, ['R'] = 18, ['S'] = 19, ['T'] = 20, ['U'] = 21, ['V'] = 22, ['W'] = 23, ['X'] = 24,
    ['Y'] = 25, ['Z'] = 26, ['a'] = 27, ['b'] = 28, ['c'] = 29, ['d'] = 30, ['e'] = 31, ['f'] = 32,
    ['g'] = 33, ['h'] = 34, ['i'] = 35, ['j'] = 36, ['k'] = 37, ['l'] = 38, ['m'] = 39, ['n'] = 40,
    ['o'] = 41, ['p'] = 42, ['q'] = 43, ['r'] = 44, ['s'] = 45, ['t'] = 46, ['u'] = 47, ['v'] = 48,
    ['w'] = 49, ['x'] = 50, ['y'] = 51, ['z'] = 52, ['0'] = 53, ['1'] = 54, ['2'] = 55, ['3'] = 56,
    ['4'] = 57, ['5'] = 58, ['6'] = 59, ['7'] = 60, ['8'] = 61, ['9'] = 62, ['+'] = 63, ['-'] = 63,
    ['/'] = 64, ['_'] = 64,
};
static const unsigned char hex_values[256] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
    ['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

enum { BITS = 6 }; /* of a letter */

/* Decodes letters for one lane: lane i decodes the run from its letter i on, in groups of as many letters as there are lanes. */
static inline void decode(struct leak_search *search, unsigned i, struct bytes letters)
{
    struct leak_group *group = &search->groups[i];
    uint32_t bits = group->bits;
    unsigned count = group->count;
    for (size_t at = 0; at < letters.size; at++) {
        bits = bits << BITS | (base64_values[(unsigned char)letters.at[at]] - 1U);
        if (++count < LEAK_BASE64_LANES)
            continue;
        for (unsigned left = LEAK_BASE64_LANES * BITS; left >= 8; left -= 8)
            lane_take(search, &search->base64_lanes[i], (unsigned char)(bits >> (left - 8)));
        bits = count = 0;
    }
    group->bits = bits;
    group->count = (uint8_t)count;
}

/* Ends a run, and with it the groups that it cuts: what is whole bytes of them counts. */
static inline void end_run(struct leak_search *search)
{
    for (unsigned i = 0; search->run_size == LEAK_BASE64_RUN && i < LEAK_BASE64_LANES; i++) {
        struct leak_group *group = &search->groups[i];
        for (unsigned left = group->count * BITS; left >= 8; left -= 8)
            lane_take(search, &search->base64_lanes[i], (unsigned char)(group->bits >> (left - 8)));
        *group = (struct leak_group){0};
        lane_break(search, &search->base64_lanes[i], BYTE_OTHER);
    }
    search->run_size = 0;
}

/* Letters of base64. They are kept until the run is long enough to be decoded. */
static inline void run_take(struct leak_search *search, struct bytes letters)
{
    if (search->run_size < LEAK_BASE64_RUN) {
        size_t missing = LEAK_BASE64_RUN - search->run_size,
               taken = letters.size < missing ? letters.size : missing;
        memcpy(search->run_first + search->run_size, letters.at, taken);
        search->run_size += (uint32_t)taken;
        letters = bytes_after(letters, taken);
        for (unsigned i = 0; search->run_size == LEAK_BASE64_RUN && i < LEAK_BASE64_LANES; i++)
            decode(search, i, bytes_of(search->run_first + i, LEAK_BASE64_RUN - i));
    }
    for (unsigned i = 0; letters.size && i < LEAK_BASE64_LANES; i++)
        decode(search, i, letters);
}

/* --- the whole ---------------------------------------------------------------------------------------------------------- */

/* Letters that are of a word and of base64. */
static void take_letters(struct leak_search *search, struct bytes letters)
{
    lane_take_word(&search->plain, letters);
    run_take(search, letters);
}

static void take_decoded(struct leak_search *search, unsigned char byte)
{
    const char letter = (char)byte;
    if (byte_kinds[byte] == BYTE_WORD && byte != '.') {
        take_letters(search, bytes_of(&letter, 1));
        return;
    }
    lane_take(search, &search->plain, byte);
    if (byte == '\n' || byte == '\r')
        return;
    if (base64_values[byte])
        run_take(search, bytes_of(&letter, 1));
    else
        end_run(search);
}

/* \n, \t, \u0041 and \" of JSON, and a backslash before the end of a line. */
static void take_escaped(struct leak_search *search, unsigned char byte)
{
    if (byte == '\\')
        return; /* of text within text */
    search->is_escaped = false;
    if (byte == 'n' || byte == 'r' || byte == '\n' || byte == '\r') {
        take_decoded(search, '\n');
        return;
    }
    take_decoded(search, '\0');
    if (byte == 'u')
        search->unicode = 4;
    else if (byte != 't')
        take_decoded(search, byte);
}

static inline void take_byte(struct leak_search *search, unsigned char byte)
{
    if (search->is_escaped)
        take_escaped(search, byte);
    else if (search->unicode && hex_values[byte])
        search->unicode--;
    else {
        search->unicode = 0;
        search->is_escaped = byte == '\\';
        if (!search->is_escaped)
            take_decoded(search, byte);
    }
}

/* "%4" and no digit: the bytes are what they are. */
static void give_up_percent(struct leak_search *search)
{
    bool has_digit = search->percent == 2;
    search->percent = 0;
    take_byte(search, '%');
    if (has_digit)
        take_byte(search, (unsigned char)search->percent_digit);
}

/* Returns whether the byte belongs to %41. */
static bool take_percent(struct leak_search *search, unsigned char byte)
{
    if (!hex_values[byte]) {
        give_up_percent(search);
        return false;
    }
    if (search->percent == 1) {
        search->percent_digit = (char)byte;
        search->percent = 2;
        return true;
    }
    search->percent = 0;
    unsigned high = hex_values[(unsigned char)search->percent_digit] - 1U, low = hex_values[byte] - 1U;
    take_byte(search, (unsigned char)(high << 4 | low));
    return true;
}

void leak_begin(struct leak_search *search, const struct leak_table *table)
{
    memset(search, 0, sizeof(*search));
    search->table = table;
}

/* How many letters the bytes begin with that stand for themselves. */
static size_t letters_at(struct bytes bytes)
{
    size_t size = 0;
    while (size < bytes.size && byte_kinds[(unsigned char)bytes.at[size]] == BYTE_WORD &&
           bytes.at[size] != '.')
        size++;
    return size;
}

bool leak_take(struct leak_search *search, struct bytes bytes)
{
    size_t before = search->found_count;
    for (size_t i = 0; i < bytes.size; i++) {
        size_t end = i;
        if (!search->percent && !search->is_escaped && !search->unicode)
            end += letters_at(bytes_after(bytes, i));
        if (end > i)
            take_letters(search, bytes_of(bytes.at + i, end - i));
        if (end == bytes.size)
            break;
        i = end;
        unsigned char byte = (unsigned char)bytes.at[i];
        if (search->percent && take_percent(search, byte))
            continue;
        if (byte == '%')
            search->percent = 1;
        else
            take_byte(search, byte);
    }
    return search->found_count > before;
}

bool leak_end(struct leak_search *search)
{
    size_t before = search->found_count;
    if (search->percent)
        give_up_percent(search);
    take_decoded(search, '\0');
    search->is_escaped = false;
    search->unicode = 0;
    return search->found_count > before;
}
