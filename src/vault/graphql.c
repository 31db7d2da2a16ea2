#include "vault/graphql.h"

#include <ctype.h>
#include <string.h>

static const char malformed[] = "its GraphQL is malformed, or uses what bawn does not read",
                  too_large[] = "its GraphQL is too large";

/* --- words ------------------------------------------------------------------------------------------------------------ */

enum word_kind { WORD_END, WORD_NAME, WORD_NUMBER, WORD_STRING, WORD_MARK, WORD_BAD };

struct word {
    enum word_kind kind;
    const char *at;
    size_t size;
};

struct reader {
    struct arena *arena;
    struct buf *text;
    struct word word; /* the next one */
    unsigned depth;
    const char *problem;
};

static bool is_name_byte(char byte)
{
    return isalnum((unsigned char)byte) || byte == '_';
}

static size_t digits_at(const char *at)
{
    return strspn(at, "0123456789");
}

/* "-1.5e3" */
static struct word number_at(const char *at)
{
    const char *end = at + (*at == '-');
    size_t count = digits_at(end);
    bool is_fine = count > 0;
    end += count;
    if (*end == '.') {
        count = digits_at(end + 1);
        is_fine &= count > 0;
        end += 1 + count;
    }
    if (*end == 'e' || *end == 'E') {
        end += 1 + (end[1] == '+' || end[1] == '-');
        count = digits_at(end);
        is_fine &= count > 0;
        end += count;
    }
    is_fine &= !is_name_byte(*end) && *end != '.';
    return (struct word){is_fine ? WORD_NUMBER : WORD_BAD, at, (size_t)(end - at)};
}

static struct word string_at(const char *at)
{
    const char *end = at + 1;
    while (*end >= ' ' && *end <= '~' && *end != '"') {
        if (*end == '\\' && !(end[1] && strchr("\"\\/bfnrtu", end[1])))
            return (struct word){WORD_BAD, at, 0};
        end += *end == '\\' ? 2 : 1;
    }
    bool is_block = end == at + 1 && end[0] == '"' && end[1] == '"';
    return (struct word){*end == '"' && !is_block ? WORD_STRING : WORD_BAD, at, (size_t)(end + 1 - at)};
}

static size_t name_size(const char *at)
{
    size_t size = 0;
    while (is_name_byte(at[size]))
        size++;
    return size;
}

bool graphql_is_name(const char *text)
{
    return *text && !text[name_size(text)];
}

static struct word word_at(const char *at)
{
    at += strspn(at, " \t\r\n,");
    size_t size = name_size(at);
    if (!*at)
        return (struct word){WORD_END, at, 0};
    if (*at == '"')
        return string_at(at);
    if (*at == '-' || isdigit((unsigned char)*at))
        return number_at(at);
    if (size)
        return (struct word){WORD_NAME, at, size};
    if (strncmp(at, "...", 3) == 0)
        return (struct word){WORD_MARK, at, 3};
    return (struct word){strchr("!$():=[]{}", *at) ? WORD_MARK : WORD_BAD, at, 1};
}

/* Takes the next word, and writes it. */
static struct word take(struct reader *reader)
{
    struct word word = reader->word;
    if (reader->text->size)
        buf_add_char(reader->text, ' ');
    buf_add(reader->text, word.at, word.size);
    reader->word = word_at(word.at + word.size);
    return word;
}

static bool is_word(const struct reader *reader, const char *text)
{
    const struct word *word = &reader->word;
    return (word->kind == WORD_NAME || word->kind == WORD_MARK) && word->size == strlen(text) &&
           memcmp(word->at, text, word->size) == 0;
}

static bool take_if(struct reader *reader, const char *text)
{
    bool is_there = !reader->problem && is_word(reader, text);
    if (is_there)
        take(reader);
    return is_there;
}

static void fail(struct reader *reader)
{
    if (!reader->problem)
        reader->problem = malformed;
}

static void expect(struct reader *reader, const char *text)
{
    if (!take_if(reader, text))
        fail(reader);
}

/* Never NULL: a name that is missing is a problem, and empty. */
static const char *take_name(struct reader *reader)
{
    if (reader->problem || reader->word.kind != WORD_NAME) {
        fail(reader);
        return "";
    }
    struct word word = take(reader);
    return arena_copy(reader->arena, word.at, word.size);
}

static bool enter(struct reader *reader)
{
    if (reader->depth == GRAPHQL_DEEPEST)
        reader->problem = too_large;
    reader->depth++;
    return !reader->problem;
}

/* --- values ----------------------------------------------------------------------------------------------------------- */

static struct graphql_value take_value(struct reader *reader);

/* "name: value …", up to the mark. */
static const struct graphql_pair *take_pairs(struct reader *reader, const char *end)
{
    const struct graphql_pair *pairs = NULL;
    while (!reader->problem && !take_if(reader, end)) {
        struct graphql_pair *pair = arena_new(reader->arena, struct graphql_pair);
        pair->name = take_name(reader);
        if (graphql_find(pairs, pair->name))
            fail(reader);
        expect(reader, ":");
        pair->value = take_value(reader);
        pair->next = pairs;
        pairs = pair;
    }
    return pairs;
}

static void take_list(struct reader *reader)
{
    while (!reader->problem && !take_if(reader, "]"))
        take_value(reader);
}

static struct graphql_value take_value(struct reader *reader)
{
    struct graphql_value value = {.kind = GRAPHQL_OTHER};
    enum word_kind kind = reader->word.kind;
    if (!enter(reader))
        return value;
    if (kind == WORD_STRING) {
        struct word word = take(reader);
        value.kind = GRAPHQL_STRING;
        value.text =
            memchr(word.at, '\\', word.size) ? NULL : arena_copy(reader->arena, word.at + 1, word.size - 2);
    } else if (kind == WORD_NUMBER || kind == WORD_NAME) {
        take(reader);
    } else if (take_if(reader, "$")) {
        value.kind = GRAPHQL_VARIABLE;
        value.text = take_name(reader);
    } else if (take_if(reader, "{")) {
        value.kind = GRAPHQL_OBJECT;
        value.members = take_pairs(reader, "}");
    } else if (take_if(reader, "[")) {
        take_list(reader);
    } else {
        fail(reader);
    }
    reader->depth--;
    return value;
}

/* --- definitions ------------------------------------------------------------------------------------------------------ */

static const struct graphql_field *take_fields(struct reader *reader);

/* What follows "...". */
static void take_fragment_use(struct reader *reader, struct graphql_field *field)
{
    if (take_if(reader, "on")) {
        take_name(reader);
        field->fields = take_fields(reader);
    } else if (is_word(reader, "{")) {
        field->fields = take_fields(reader);
    } else {
        field->fragment = take_name(reader);
    }
}

static void take_field(struct reader *reader, struct graphql_field *field)
{
    field->name = field->key = take_name(reader);
    if (take_if(reader, ":"))
        field->name = take_name(reader);
    if (take_if(reader, "("))
        field->arguments = take_pairs(reader, ")");
    if (is_word(reader, "{"))
        field->fields = take_fields(reader);
}

/* "{ … }", with a field at least. */
static const struct graphql_field *take_fields(struct reader *reader)
{
    const struct graphql_field *fields = NULL;
    if (!enter(reader))
        return NULL;
    expect(reader, "{");
    do {
        struct graphql_field *field = arena_new(reader->arena, struct graphql_field);
        if (take_if(reader, "..."))
            take_fragment_use(reader, field);
        else
            take_field(reader, field);
        field->next = fields;
        fields = field;
    } while (!reader->problem && !take_if(reader, "}"));
    reader->depth--;
    return fields;
}

static void take_type(struct reader *reader)
{
    if (!enter(reader))
        return;
    if (take_if(reader, "[")) {
        take_type(reader);
        expect(reader, "]");
    } else {
        take_name(reader);
    }
    take_if(reader, "!");
    reader->depth--;
}

static void take_variables(struct reader *reader)
{
    while (!reader->problem && !take_if(reader, ")")) {
        expect(reader, "$");
        take_name(reader);
        expect(reader, ":");
        take_type(reader);
        if (take_if(reader, "="))
            take_value(reader);
    }
}

static void take_operation(struct reader *reader, struct graphql_document *document)
{
    if (document->fields)
        reader->problem = "it has more than one operation";
    document->is_mutation = take_if(reader, "mutation");
    bool is_named = document->is_mutation || take_if(reader, "query");
    if (is_named && reader->word.kind == WORD_NAME)
        take(reader);
    if (is_named && take_if(reader, "("))
        take_variables(reader);
    document->fields = take_fields(reader);
}

static void take_fragment(struct reader *reader, struct graphql_document *document)
{
    struct graphql_fragment *fragment = arena_new(reader->arena, struct graphql_fragment);
    fragment->name = take_name(reader);
    for (const struct graphql_fragment *other = document->fragments; other; other = other->next) {
        if (strcmp(other->name, fragment->name) == 0)
            fail(reader);
    }
    expect(reader, "on");
    take_name(reader);
    fragment->fields = take_fields(reader);
    fragment->next = document->fragments;
    document->fragments = fragment;
}

const char *graphql_read(struct arena *arena, const char *text, struct graphql_document *ret_document)
{
    *ret_document = (struct graphql_document){0};
    struct reader reader = {.arena = arena, .text = &ret_document->text, .word = word_at(text)};
    if (strlen(text) > GRAPHQL_LARGEST)
        return too_large;
    while (!reader.problem && reader.word.kind != WORD_END) {
        if (take_if(&reader, "fragment"))
            take_fragment(&reader, ret_document);
        else
            take_operation(&reader, ret_document);
    }
    if (!ret_document->fields)
        fail(&reader);
    return reader.problem;
}

void graphql_free(struct graphql_document *document)
{
    buf_free(&document->text);
}

const struct graphql_value *graphql_find(const struct graphql_pair *pairs, const char *name)
{
    for (; pairs; pairs = pairs->next) {
        if (strcmp(pairs->name, name) == 0)
            return &pairs->value;
    }
    return NULL;
}
