#include "git/command.h"

#include <ctype.h>
#include <string.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/path.h"
#include "base/text.h"

enum { DEEPEST = 4, MOST_WORDS = 1000 };

struct assigned {
    const char *name, *value;
};

struct reader {
    struct arena *arena;
    git_words *words;
    const char *at;
    struct buf word;
    unsigned depth;
    bool has_word;
    bool is_part;    /* a variable stands in the word: what is there is only a part of it */
    bool at_command; /* the next word is a command's name */
    bool is_cd;      /* the next argument is where all that follows runs */
    const char *folder;
    bool is_git; /* the words are git's own: subcommands, branches */
    bool was_argument;
    bool is_of_option;  /* the word is glued to an option, or follows one */
    const char *option; /* the option before the word; NULL: another word, or none */
    /* cppcheck-suppress unusedStructMember; vec_push uses it */
    VEC(struct assigned) assigned; /* variables of the command */
};

static void read_command(struct arena *arena, const char *command, unsigned depth, git_words *words);

/* "NAME=" at the beginning of a word: its size, or 0. */
static size_t assignment_size(const char *word)
{
    size_t size = 0;
    while (isalnum((unsigned char)word[size]) || word[size] == '_')
        size++;
    return size && word[size] == '=' ? size + 1 : 0;
}

/* Words of the shell, and programs, behind which a command follows. */
static bool leads_to_command(const char *word)
{
    static const char *const leading[] = {"!",    "{",      "if",     "then",    "elif",    "else",
                                          "do",   "while",  "until",  "exec",    "command", "eval",
                                          "env",  "nohup",  "time",   "builtin", "sudo",    "timeout",
                                          "nice", "ionice", "setsid", "stdbuf",  "xargs"};
    return text_is_among(word, leading, array_len(leading));
}

/* Could it be meant as the path of a file, and not as an option, a pattern or a text? */
static bool is_like_path(const char *word)
{
    size_t size = strlen(word);
    for (size_t i = 0; i < size; i++) {
        if ((unsigned char)word[i] < 128 && !isalnum((unsigned char)word[i]) && !strchr("._-+@/~,", word[i]))
            return false;
    }
    return size && *word != '-' && word[size - 1] != '/' && !strstr(word, "//");
}

static void add_word_of(struct reader *reader, const char *text, bool is_command)
{
    bool is_first = is_command || !reader->was_argument;
    const char *dot = strchr(path_name(text), '.');
    bool is_script = !is_command && dot &&
                     (dot != path_name(text) || (reader->is_of_option && isalnum((unsigned char)dot[1])));
    struct git_word word = {.text = text,
                            .is_command = is_command,
                            .may_be_made = !reader->is_part && is_first && !reader->is_git &&
                                           is_like_path(text) && (strchr(text, '/') || is_script)};
    if (reader->words->count < MOST_WORDS)
        vec_push(reader->words, word);
}

/* Behind "cd FOLDER" it may lie there; whether the shell has got so far is not known. */
static void add_word(struct reader *reader, const char *text, bool is_command)
{
    add_word_of(reader, text, is_command);
    if (reader->folder && *text != '/' && *text != '~')
        add_word_of(reader, arena_printf(reader->arena, "%s/%s", reader->folder, text), is_command);
}

/* "KEY=VALUE"; with `--config-env`, "KEY=NAME" of a variable, which the command may set itself. */
static void add_setting(struct reader *reader, const char *said, bool is_variable)
{
    const char *equals = strchr(said, '=');
    if (!equals || reader->words->count >= MOST_WORDS)
        return; /* without a value it means true */
    struct git_word word = {.text = arena_str(reader->arena, equals + 1),
                            .key = arena_copy(reader->arena, said, (size_t)(equals - said))};
    bool is_known = !is_variable;
    vec_each (const struct assigned, assigned, &reader->assigned) {
        if (is_variable && strcmp(assigned->name, equals + 1) == 0) {
            word.text = assigned->value;
            is_known = true;
        }
    }
    if (!is_known)
        word = (struct git_word){.text = word.key, .key = ""};
    vec_push(reader->words, word);
}

/* A setting for git itself, or for a clone: behind its option, or glued to it. */
static void take_setting(struct reader *reader, const char *text)
{
    static const char *const options[] = {"-c", "--config", "--config-env"};
    static const char in_variable[] = "--config-env=", long_form[] = "--config=";
    if (reader->option && text_is_among(reader->option, options, array_len(options)))
        add_setting(reader, text, strcmp(reader->option, "--config-env") == 0);
    else if (text_starts_with(text, in_variable))
        add_setting(reader, text + strlen(in_variable), true);
    else if (text_starts_with(text, long_form))
        add_setting(reader, text + strlen(long_form), false);
    else if (text_starts_with(text, "-c") && text[2])
        add_setting(reader, text + 2, false);
}

/* "-Fpath": what is glued to a letter may be a path. A single letter more is another option. */
static void take_glued(struct reader *reader, const char *text)
{
    const char *rest = arena_str(reader->arena, text[1] == '-' || strlen(text) < 4 ? "" : text + 2);
    reader->is_of_option = true;
    if (*rest && text[1] == 'C' && !reader->is_git)
        reader->folder = rest;
    else if (*rest && (!reader->is_git || strchr(rest, '/')))
        add_word(reader, rest, false);
}

static void note_assigned(struct reader *reader, const char *text, size_t size)
{
    struct assigned assigned = {arena_copy(reader->arena, text, size - 1),
                                arena_str(reader->arena, text + size)};
    if (reader->assigned.count < MOST_WORDS)
        vec_push(&reader->assigned, assigned);
}

/* Ends a word: what it is depends on those before it. */
static void end_word(struct reader *reader)
{
    if (!reader->has_word)
        return;
    const char *text = arena_copy(reader->arena, buf_text(&reader->word), reader->word.size);
    bool is_command = reader->at_command, is_option = *text == '-';
    const char *equals = strchr(text, '=');
    size_t assigned = is_command ? assignment_size(text) : 0;
    if (text[strcspn(text, " \t\n;|&()`")])
        read_command(reader->arena, text, reader->depth + 1, reader->words);
    reader->is_of_option = reader->option != NULL;
    if (assigned)
        note_assigned(reader, text, assigned);
    if (equals && (assigned || is_option))
        add_word(reader, arena_str(reader->arena, equals + 1), false);
    if (reader->is_git)
        take_setting(reader, text);
    if (is_option)
        take_glued(reader, text);
    bool is_name_of_git = reader->is_git && !is_command && !strchr(text, '/'); /* a subcommand, a branch */
    if (!assigned && !is_option && !is_name_of_git)
        add_word(reader, text, is_command);
    if (is_command && !assigned && !is_option && !leads_to_command(text)) {
        reader->at_command = false;
        reader->is_git = strcmp(path_name(text), "git") == 0;
        reader->is_cd = strcmp(text, "cd") == 0;
        reader->was_argument = false;
    } else if (!is_command && !is_option) {
        if (reader->is_cd || (reader->option && strcmp(reader->option, "-C") == 0 && !reader->is_git))
            reader->folder = text;
        reader->was_argument = true;
    }
    reader->option = is_option ? text : NULL;
    reader->word.size = 0;
    reader->has_word = reader->is_part = false;
}

static void begin_command(struct reader *reader)
{
    end_word(reader);
    reader->at_command = true;
    reader->is_git = reader->is_cd = reader->was_argument = false;
    reader->option = NULL;
}

/* The size of "$(…)", "${…}" or "`…`" from its first byte behind the mark, up to the byte that closes it. */
static size_t enclosed_size(const char *text, char opening, char closing)
{
    size_t depth = 1, size = 0;
    for (; text[size]; size++) {
        if (text[size] == '\\' && text[size + 1])
            size++;
        else if (text[size] == closing && --depth == 0)
            break;
        else if (text[size] == opening && opening != closing)
            depth++;
    }
    return size;
}

/* Where in the word a value begins: behind "NAME=", "--option=" or, as the argument of an option, "KEY=". */
static size_t value_start(const struct reader *reader)
{
    const char *word = reader->word.size ? reader->word.bytes : "";
    const char *equals = memchr(word, '=', reader->word.size);
    bool has_value = equals && (*word == '-' || reader->option || reader->at_command);
    return has_value ? (size_t)(equals + 1 - word) : 0;
}

/* A variable whose value is known stands for a path; of any other only the text behind it is kept, as a relative path. */
static void take_variable(struct reader *reader, const char *name)
{
    static const char *const here[] = {"PWD", "GIT_WORK_TREE", "GIT_PREFIX"};
    size_t start = value_start(reader);
    reader->has_word = true;
    if (reader->word.size == start && text_is_among(name, here, array_len(here))) {
        buf_add_char(&reader->word, '.');
        return;
    }
    if (reader->word.size == start && strcmp(name, "HOME") == 0) {
        buf_add_char(&reader->word, '~');
        return;
    }
    reader->is_part = true;
    reader->word.size = start;
    reader->at += strspn(reader->at, "/");
}

/* A command in a command; `pwd` and git's question for the top of the work tree are answered with the place itself. */
static void take_inner_command(struct reader *reader, const char *command)
{
    bool is_here = strcmp(command, "pwd") == 0 || strcmp(command, "git rev-parse --show-toplevel") == 0;
    if (!is_here)
        read_command(reader->arena, command, reader->depth + 1, reader->words);
    take_variable(reader, is_here ? "PWD" : "");
}

static const char *take_enclosed(struct reader *reader, char opening, char closing)
{
    size_t size = enclosed_size(reader->at, opening, closing);
    const char *inner = arena_copy(reader->arena, reader->at, size);
    reader->at += size + (reader->at[size] != '\0');
    return inner;
}

/* Behind a "$". */
static void take_dollar(struct reader *reader)
{
    if (*reader->at == '(') {
        reader->at++;
        take_inner_command(reader, take_enclosed(reader, '(', ')'));
    } else if (*reader->at == '{') {
        reader->at++;
        take_variable(reader, take_enclosed(reader, '{', '}'));
    } else {
        size_t size = 0;
        while (isalnum((unsigned char)reader->at[size]) || reader->at[size] == '_')
            size++;
        if (!size && *reader->at && strchr("@*#?$!-", *reader->at))
            size = 1;
        const char *name = arena_copy(reader->arena, reader->at, size);
        reader->at += size;
        take_variable(reader, name);
    }
}

/* Up to the closing quote. In double quotes, variables and commands count. */
static void take_quoted(struct reader *reader, char quote)
{
    reader->has_word = true;
    while (*reader->at && *reader->at != quote) {
        char byte = *reader->at++;
        if (quote == '"' && byte == '\\' && *reader->at)
            buf_add_char(&reader->word, *reader->at++);
        else if (quote == '"' && byte == '$')
            take_dollar(reader);
        else if (quote == '"' && byte == '`')
            take_inner_command(reader, take_enclosed(reader, '`', '`'));
        else
            buf_add_char(&reader->word, byte);
    }
    reader->at += *reader->at != '\0';
}

static void take_byte(struct reader *reader)
{
    char byte = *reader->at++;
    if (strchr(" \t\r<>", byte)) {
        end_word(reader);
    } else if (strchr(";&|()\n", byte)) {
        begin_command(reader);
    } else if (byte == '\'' || byte == '"') {
        take_quoted(reader, byte);
    } else if (byte == '$') {
        take_dollar(reader);
    } else if (byte == '`') {
        take_inner_command(reader, take_enclosed(reader, '`', '`'));
    } else {
        if (byte == '\\' && *reader->at)
            byte = *reader->at++;
        buf_add_char(&reader->word, byte);
        reader->has_word = true;
    }
}

static void read_command(struct arena *arena, const char *command, unsigned depth, git_words *words)
{
    if (depth > DEEPEST)
        return;
    struct reader reader = {
        .arena = arena, .words = words, .at = command, .depth = depth, .at_command = true};
    while (*reader.at)
        take_byte(&reader);
    end_word(&reader);
    buf_free(&reader.word);
    vec_free(&reader.assigned);
}

void git_command_words(struct arena *arena, const char *command, git_words *words)
{
    read_command(arena, command, 0, words);
}
