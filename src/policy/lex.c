#include "policy/parse.h"

#include <string.h>

#include "base/buf.h"
#include "base/pattern.h"
#include "base/text.h"

/* Characters with a meaning in some object. Quoted, they get a backslash. */
static const char special[] = "*?\\~$";

struct lexer {
    const struct source *source;
    struct diags *diags;
    uint32_t line;
    const char *start, *at, *end;
};

static struct spot spot_at(const struct lexer *lexer, const char *at, size_t width)
{
    return (struct spot){
        .source = lexer->source,
        .line = lexer->line,
        .column = (uint32_t)(at - lexer->start) + 1,
        .width = (uint32_t)width,
    };
}

static void add_quoted(struct buf *text, char byte)
{
    if (strchr(special, byte))
        buf_add_char(text, '\\');
    buf_add_char(text, byte);
}

/* At the character after a backslash inside double quotes. */
static int lex_escape(struct lexer *lexer, struct buf *text)
{
    const char *backslash = lexer->at - 1;
    char byte = lexer->at < lexer->end ? *lexer->at++ : '\0';
    switch (byte) {
    case '"':
    case '\\':
        add_quoted(text, byte);
        return 0;
    case 'n':
        buf_add_char(text, '\n');
        return 0;
    case 't':
        buf_add_char(text, '\t');
        return 0;
    case 'x':
        if (lexer->end - lexer->at >= 2 && text_hex_digit(lexer->at[0]) >= 0 &&
            text_hex_digit(lexer->at[1]) >= 0) {
            int value = text_hex_digit(lexer->at[0]) * 16 + text_hex_digit(lexer->at[1]);
            lexer->at += 2;
            if (value != 0) {
                add_quoted(text, (char)value);
                return 0;
            }
        }
        break;
    default:
        break;
    }
    return diag_error(lexer->diags, spot_at(lexer, backslash, 2),
                      "inside double quotes write \\\" \\\\ \\n \\t or \\xHH (not \\x00)",
                      "unknown escape in double quotes");
}

/* At the character after the opening quote. */
static int lex_quoted(struct lexer *lexer, char quote, struct buf *text)
{
    const char *opening = lexer->at - 1;
    while (lexer->at < lexer->end) {
        char byte = *lexer->at++;
        if (byte == quote)
            return 0;
        if (byte == '\\' && quote == '"') {
            if (lex_escape(lexer, text) < 0)
                return -1;
        } else {
            add_quoted(text, byte);
        }
    }
    return diag_error(lexer->diags, spot_at(lexer, opening, (size_t)(lexer->end - opening)),
                      "close the quote on the same line; a newline inside it is written \\n",
                      "this quote is never closed");
}

/* At the first character of a word. */
static int lex_word(struct lexer *lexer, struct buf *text)
{
    const char *start = lexer->at;
    while (lexer->at < lexer->end && *lexer->at != ' ' && *lexer->at != '\t') {
        char byte = *lexer->at++;
        if (byte == '\'' || byte == '"') {
            if (lex_quoted(lexer, byte, text) < 0)
                return -1;
        } else if (byte == '\\') {
            if (lexer->at == lexer->end)
                return diag_error(lexer->diags, spot_at(lexer, lexer->at - 1, 1),
                                  "write two for a backslash itself", "a backslash at the end of the line");
            add_quoted(text, *lexer->at++);
        } else if ((unsigned char)byte < 0x20 || byte == 0x7f) {
            return diag_error(lexer->diags, spot_at(lexer, lexer->at - 1, 1),
                              "write it as \\xHH inside double quotes",
                              "a control character (0x%02x) outside quotes", (unsigned char)byte);
        } else {
            buf_add_char(text, byte);
        }
        if (text->size > WORD_LONGEST)
            return diag_error(lexer->diags, spot_at(lexer, start, 1), NULL,
                              "this word is longer than %d bytes", WORD_LONGEST);
    }
    return 0;
}

/* The size of an unquoted word that starts here; 0 if it is not certain that nothing is quoted or forbidden. */
static size_t plain_word_size(const struct lexer *lexer)
{
    const char *at = lexer->at;
    while (at < lexer->end && (unsigned char)*at > ' ' && *at != '\'' && *at != '"' && *at != '\\' &&
           *at != 0x7f)
        at++;
    bool ends_here = at == lexer->end || *at == ' ' || *at == '\t';
    size_t size = (size_t)(at - lexer->at);
    return ends_here && size <= WORD_LONGEST ? size : 0;
}

/* At the first character of a word. Nearly all words are plain, and are taken without looking at each character again. */
static int lex_next(struct lexer *lexer, struct arena *arena, struct buf *text, struct word *ret_word)
{
    const char *start = lexer->at;
    size_t width = plain_word_size(lexer);
    ret_word->column = (uint32_t)(start - lexer->start) + 1;
    if (width) {
        lexer->at += width;
        ret_word->text = ret_word->written = arena_copy(arena, start, width);
    } else {
        text->size = 0;
        if (lex_word(lexer, text) < 0)
            return -1;
        width = (size_t)(lexer->at - start);
        ret_word->text = arena_copy(arena, text->bytes, text->size);
        ret_word->written = arena_copy(arena, start, width);
    }
    ret_word->width = (uint32_t)width;
    return 0;
}

void lex_line(struct arena *arena, const struct source *source, uint32_t line, const char *bytes, size_t size,
              word_list *words, struct diags *diags)
{
    if (size && bytes[size - 1] == '\r')
        size--;
    struct lexer lexer = {source, diags, line, bytes, bytes, bytes + size};
    auto_buf struct buf text = {0};
    for (;;) {
        while (lexer.at < lexer.end && (*lexer.at == ' ' || *lexer.at == '\t'))
            lexer.at++;
        if (lexer.at == lexer.end || *lexer.at == '#')
            return;
        struct word word;
        if (lex_next(&lexer, arena, &text, &word) < 0)
            return;
        vec_push(words, word);
    }
}

struct word lex_argument(struct arena *arena, const char *argument)
{
    auto_buf struct buf text = {0};
    for (const char *at = argument; *at; at++) {
        if (*at == '\\' && at[1] && strchr(special, at[1])) {
            buf_add(&text, at, 2);
            at++;
        } else if (*at == '\\') {
            buf_add_str(&text, "\\\\");
        } else {
            buf_add_char(&text, *at);
        }
    }
    return (struct word){
        .text = arena_copy(arena, text.bytes, text.size),
        .written = arena_str(arena, argument),
        .column = 1,
        .width = (uint32_t)strlen(argument),
    };
}

char *word_plain(struct arena *arena, const char *text)
{
    return pattern_literal(arena, text);
}

bool word_is_keyword(const struct word *word, const char *keyword)
{
    return strcmp(word->written, keyword) == 0;
}

const char *words_join(struct arena *arena, const struct word *words, size_t count, bool as_written)
{
    auto_buf struct buf text = {0};
    for (size_t i = 0; i < count; i++) {
        buf_add_str(&text, i ? " " : "");
        buf_add_str(&text, as_written ? words[i].written : word_plain(arena, words[i].text));
    }
    return arena_copy(arena, text.bytes, text.size);
}

const char *word_quote(struct arena *arena, const char *text, bool wildcards)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_[]";
    auto_buf struct buf word = {0};
    for (const unsigned char *byte = (const unsigned char *)text; *byte; byte++) {
        if (strchr(plain, *byte) || *byte >= 0x80 || (wildcards && strchr("*?", *byte)))
            buf_add_char(&word, (char)*byte);
        else if (*byte < ' ' || *byte == 0x7f)
            buf_printf(&word, "\"\\x%02x\"", *byte);
        else
            buf_printf(&word, "\\%c", *byte);
    }
    return arena_str(arena, *text ? buf_text(&word) : "\"\"");
}
