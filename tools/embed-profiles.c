/*
 * Turns the shipped profiles into C tables, at build time:
 *
 *     embed-profiles OUTPUT.c FILE...
 *
 * The files come sorted by name; profiles/agent/claude.bawn becomes the profile "agent/claude". Beside each text stand the
 * rules that bawn's own parser makes of it; a profile that the parser finds fault with fails the build.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "policy/builtin.h"
#include "policy/parse.h"

struct embedding {
    FILE *out;
    struct arena arena;
    VEC(const char *) texts; /* each once */
    VEC(size_t) places;      /* of each in builtin_texts */
    size_t texts_size;
};

/* ".../profiles/agent/claude.bawn" → "agent/claude". NULL where it is no profile. */
static const char *profile_name(struct arena *arena, const char *path)
{
    static const char folder[] = "profiles/", suffix[] = ".bawn";
    const char *name = NULL;
    for (const char *at = path; (at = strstr(at, folder)); at++)
        name = at + strlen(folder);
    size_t size = name ? strlen(name) : 0;
    if (size <= strlen(suffix) || strcmp(name + size - strlen(suffix), suffix) != 0) {
        fprintf(stderr, "%s: not a profile, profiles/NAME.bawn\n", path);
        return NULL;
    }
    return arena_copy(arena, name, size - strlen(suffix));
}

static int read_file(const char *path, struct buf *ret_text)
{
    FILE *in = fopen(path, "rb");
    if (!in) {
        perror(path);
        return -1;
    }
    for (int byte; (byte = fgetc(in)) != EOF;)
        buf_add_char(ret_text, (char)byte);
    fclose(in);
    return 0;
}

static void write_literal(FILE *out, const char *text, size_t size)
{
    fputs("\"", out);
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte == '\n')
            fputs("\\n\"\n    \"", out);
        else if (byte == '"' || byte == '\\')
            fprintf(out, "\\%c", byte);
        else if (byte < 0x20 || byte >= 0x7f)
            fprintf(out, "\\%03o", (unsigned)byte);
        else
            fputc(byte, out);
    }
    fputs("\"", out);
}

/* Where the text will stand in builtin_texts. */
static uint32_t place_of(struct embedding *embedding, const char *text)
{
    if (!text)
        return BUILTIN_NO_TEXT;
    for (size_t i = 0; i < embedding->texts.count; i++) {
        if (strcmp(embedding->texts.at[i], text) == 0)
            return (uint32_t)embedding->places.at[i];
    }
    size_t place = embedding->texts_size;
    vec_push(&embedding->texts, text);
    vec_push(&embedding->places, place);
    embedding->texts_size += strlen(text) + 1;
    return (uint32_t)place;
}

static void write_host(struct embedding *embedding, const struct host_object *host)
{
    fprintf(embedding->out, ".host = {%" PRIu32 "u, %u, %u, %u, %d, {", place_of(embedding, host->name),
            host->port, host->kind, host->prefix, host->may_be_unnamed);
    for (size_t i = 0; i < sizeof(host->address); i++)
        fprintf(embedding->out, "%u,", host->address[i]);
    fputs("}}", embedding->out);
}

static void write_object(struct embedding *embedding, const struct rule *rule)
{
    FILE *out = embedding->out;
    switch (verb_object(rule->verb)) {
    case OBJECT_PATH:
        fprintf(out, ".path = {%" PRIu32 "u, %u, %d, %d}", place_of(embedding, rule->path.pattern),
                rule->path.start, rule->path.has_wildcard, rule->path.is_directory);
        break;
    case OBJECT_HOST:
        write_host(embedding, &rule->host);
        break;
    case OBJECT_ENV:
        fprintf(out, ".env = {%" PRIu32 "u, %" PRIu32 "u, %d}", place_of(embedding, rule->env.name),
                place_of(embedding, rule->env.value), rule->env.is_default);
        break;
    case OBJECT_LIMIT:
        fprintf(out, ".limit = {%u, UINT64_C(%" PRIu64 "), %u}", rule->limit.limit, rule->limit.most,
                rule->limit.share);
        break;
    case OBJECT_NET:
        fprintf(out, ".net = %u", rule->net);
        break;
    case OBJECT_PORT:
        fprintf(out, ".port = {%u, %u}", rule->port.host, rule->port.inside);
        break;
    case OBJECT_NAME:
    case OBJECT_TEXT:
        fprintf(out, ".text = %" PRIu32 "u", place_of(embedding, rule->text));
        break;
    case OBJECT_FORGE:
    case OBJECT_SSH_KEY:
    case OBJECT_SECRET: /* `written` is the whole of it */
        fprintf(out, ".text = BUILTIN_NO_TEXT");
        break;
    }
}

static int write_rules(struct embedding *embedding, const char *path, size_t number,
                       const struct source *source, size_t *ret_count)
{
    struct diags diags = {.arena = &embedding->arena};
    rule_list rules = {0};
    parse_source(&embedding->arena, source, &rules, &diags);
    for (size_t i = 0; i < diags.list.count; i++)
        fprintf(stderr, "%s:%u: %s\n", path, diags.list.at[i].line, diags.list.at[i].message);
    fprintf(embedding->out, "static const struct builtin_rule rules_%zu[] = {\n", number);
    for (size_t i = 0; i < rules.count; i++) {
        const struct rule *rule = &rules.at[i];
        fprintf(embedding->out,
                "    {.written = %" PRIu32 "u, .unless = %" PRIu32 "u, .by = %" PRIu32
                "u, .line = %u, .column = %u, .verb = %u, ",
                place_of(embedding, rule->written), place_of(embedding, rule->unless),
                place_of(embedding, rule->by), rule->line, rule->column, rule->verb);
        write_object(embedding, rule);
        fputs("},\n", embedding->out);
    }
    fputs("};\n\n", embedding->out);
    *ret_count = rules.count;
    bool is_right = diags.list.count == 0 && rules.count > 0;
    if (rules.count == 0)
        fprintf(stderr, "%s: there is no rule in it\n", path);
    vec_free(&rules);
    diags_free(&diags);
    return is_right ? 0 : -1;
}

static void write_texts(const struct embedding *embedding)
{
    fputs("const char builtin_texts[] =", embedding->out);
    for (size_t i = 0; i < embedding->texts.count; i++) {
        fputs("\n    ", embedding->out);
        write_literal(embedding->out, embedding->texts.at[i], strlen(embedding->texts.at[i]));
        fputs(" \"\\0\"", embedding->out);
    }
    fputs(";\n\n", embedding->out);
}

/* The rules go to the file at once; the table's line about the profile is kept until all are there. */
static int embed(struct embedding *embedding, const char *path, size_t number, FILE *table)
{
    auto_buf struct buf text = {0};
    const char *name = profile_name(&embedding->arena, path);
    if (!name || read_file(path, &text) < 0)
        return -1;
    struct source source = {
        .name = name, .text = buf_text(&text), .size = text.size, .layer = LAYER_PROFILE, .is_profile = true};
    size_t count = 0;
    if (write_rules(embedding, path, number, &source, &count) < 0)
        return -1;
    fprintf(table, "    {\"%s\", TEXT(", name);
    write_literal(table, source.text, source.size);
    fprintf(table, "), rules_%zu, %zu},\n", number, count);
    return 0;
}

int main(int count, char **arguments)
{
    if (count < 3) {
        fputs("usage: embed-profiles OUTPUT.c FILE...\n", stderr);
        return 2;
    }
    char *table_text = NULL;
    size_t table_size = 0;
    struct embedding embedding = {.out = fopen(arguments[1], "wb")};
    FILE *table = open_memstream(&table_text, &table_size);
    if (!embedding.out || !table) {
        perror(arguments[1]);
        return 1;
    }
    fputs("/* Made by tools/embed-profiles.c from profiles/. */\n#include \"policy/builtin.h\"\n\n",
          embedding.out);
    for (int i = 2; i < count; i++) {
        if (embed(&embedding, arguments[i], (size_t)i, table) < 0)
            return 1;
    }
    fclose(table);
    write_texts(&embedding);
    fprintf(embedding.out,
            "#define TEXT(text) text, sizeof(text) - 1\n\n"
            "const struct builtin_profile builtin_profiles[] = {\n%s};\n\n"
            "const size_t builtin_profile_count = %d;\n",
            table_text, count - 2);
    free(table_text);
    vec_free(&embedding.texts);
    vec_free(&embedding.places);
    arena_free(&embedding.arena);
    return fclose(embedding.out) == 0 ? 0 : 1;
}
