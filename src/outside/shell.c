#include "outside/shell.h"

#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"

/* What each word is judged by. */
struct reading {
    const struct outside *outside;
    const struct trees *trees;
    struct arena *arena;
    const struct judged_path *path;
};

struct word {
    const char *text;
    bool is_program; /* it stands where a command begins */
    bool is_plain;   /* the shell expands nothing in it */
};

/* Takes the next word off. Returns false at the end. `*begins`: does a command begin here? */
static bool take_word(struct arena *arena, const char **at, bool *begins, struct word *ret_word)
{
    static const char ends[] = " \t\n;|&()<>`";
    auto_buf struct buf text = {0};
    char quote = '\0';
    for (; **at && strchr(ends, **at); (*at)++)
        *begins = strchr(";|&(`\n", **at) ? true : strchr("<>", **at) ? false : *begins;
    if (!**at)
        return false;
    *ret_word = (struct word){.is_program = *begins, .is_plain = true};
    for (; **at && (quote || !strchr(ends, **at)); (*at)++) {
        char byte = **at;
        if (quote ? byte == quote : byte == '\'' || byte == '"') {
            quote = quote ? '\0' : byte;
            continue;
        }
        if (byte == '\\' && quote != '\'' && (*at)[1])
            byte = *++*at;
        else if (quote != '\'' &&
                 (byte == '`' || (byte == '$' && text.size) || (!quote && strchr("*?[", byte))))
            ret_word->is_plain = false;
        buf_add_char(&text, byte);
    }
    ret_word->text = arena_copy(arena, text.size ? text.bytes : "", text.size);
    return true;
}

/* The path that the word stands for; NULL: it is none, or it cannot be told. */
static const char *path_of(const struct reading *reading, const char *text)
{
    static const char *const homes[] = {"~/", "$HOME/", "${HOME}/"};
    const char *home = text_variable(reading->outside->environment, "HOME");
    home = home ? home : reading->outside->home;
    for (size_t i = 0; home && i < array_len(homes); i++) {
        if (text_starts_with(text, homes[i]))
            return path_join(reading->arena, home, text + strlen(homes[i]));
    }
    return *text == '/' ? text : NULL;
}

static int judge_path_word(const struct reading *reading, const char *file, bool is_program, struct err *err)
{
    struct judged judged = {.fd = -1};
    int found = is_program ? judge_program(reading->trees, reading->arena, reading->path, file, &judged, err)
                           : judge_open(reading->trees, reading->arena, file, JUDGE_FILE, &judged, err);
    if (found > 0)
        close(judged.fd);
    return found < 0 ? -1 : 0;
}

/* A name that the shell finds in PATH, or would have found in a directory that was left out. */
static int judge_name_word(const struct reading *reading, const struct word *word, struct err *err)
{
    struct judged judged = {.fd = -1};
    int found = judge_name(reading->trees, reading->arena, reading->path, word->text, &judged, err);
    fd_close(judged.fd);
    if (!found && word->is_program && judge_missing(reading->path, reading->arena, word->text, err) < 0)
        return err_hint(err, "install %s where no run of bawn can write, or name it by its path", word->text);
    return found < 0 ? -1 : 0;
}

/* "NAME=VALUE" before a command, and "--option=VALUE". */
static const char *value_in(const char *text)
{
    const char *sign = strchr(text, '=');
    return sign ? sign + 1 : NULL;
}

static int judge_word(const struct reading *reading, const struct word *word, struct err *err)
{
    const char *value = value_in(word->text), *file = path_of(reading, word->text),
               *other = value ? path_of(reading, value) : NULL;
    if (file)
        return judge_path_word(reading, file, word->is_program, err);
    if (other)
        return judge_path_word(reading, other, false, err);
    return *word->text && !value && !strchr(word->text, '/') && *word->text != '$'
               ? judge_name_word(reading, word, err)
               : 0;
}

/* "-c" of a shell, alone or with other letters: the next word is a command. */
static bool takes_command(const char *word)
{
    size_t size = strlen(word);
    return strcmp(word, "eval") == 0 ||
           (size >= 2 && word[0] == '-' && word[1] != '-' && word[size - 1] == 'c');
}

/* What follows the next "$(" or "`", or NULL. */
static const char *next_substitution(const char *text)
{
    for (; *text; text++) {
        if (*text == '`' || text_starts_with(text, "$("))
            return text + (*text == '`' ? 1 : 2);
    }
    return NULL;
}

static int judge_words(const struct reading *reading, const char *command, unsigned depth, struct err *err);

/* The commands in a word of which the shell makes a text, such as "x $(helper)". */
static int judge_substitutions(const struct reading *reading, const char *word, unsigned depth,
                               struct err *err)
{
    while ((word = next_substitution(word))) {
        if (judge_words(reading, word, depth, err) < 0)
            return -1;
    }
    return 0;
}

static int judge_words(const struct reading *reading, const char *command, unsigned depth, struct err *err)
{
    enum { DEEPEST = 4 };
    /* After these, a command begins as well. */
    static const char *const before[] = {"if",   "then", "else", "elif", "while", "until",   "do",
                                         "exec", "!",    "{",    "time", "env",   "command", "nohup"};
    struct word word;
    bool begins = true, is_command = false;
    while (take_word(reading->arena, &command, &begins, &word)) {
        bool is_assignment = word.is_program && value_in(word.text) && *word.text != '/';
        if (word.is_plain && judge_word(reading, &word, err) < 0)
            return -1;
        if (depth < DEEPEST && (judge_substitutions(reading, word.text, depth + 1, err) < 0 ||
                                (is_command && judge_words(reading, word.text, depth + 1, err) < 0)))
            return -1;
        is_command = takes_command(word.text);
        begins = word.is_program && (is_assignment || text_is_among(word.text, before, array_len(before)));
    }
    return 0;
}

int shell_judge(const struct outside *outside, const struct trees *trees, struct arena *arena,
                const struct judged_path *path, const char *command, struct err *err)
{
    const struct reading reading = {outside, trees, arena, path};
    return judge_words(&reading, command, 0, err);
}
