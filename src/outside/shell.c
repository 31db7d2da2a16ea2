/*
 * The command is read twice: first for the directories that it changes to and those that it puts into PATH,
 * then each word is judged. A relative word is judged from each of these directories, because what is read
 * here has no conditions, loops or subshells.
 */
#include "outside/shell.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "kernel/account.h"
#include "kernel/directories.h"
#include "outside/wildcards.h"
#include "outside/words.h"

enum { DEEPEST = 4, MOST_PLACES = 64 };

typedef VEC(const char *) place_list;

/* What each word is judged by. */
struct reading {
    const struct trees *trees;
    struct arena *arena;
    const struct judged_path *path;
    const char *home;
    bool collects;      /* the first time: nothing is judged yet */
    place_list places;  /* where the command may be when a word is used; the first is / */
    place_list folders; /* that the command puts into PATH */
};

/* --- paths -------------------------------------------------------------------------------------------------------- */

/* May this stand between ~ and a slash? "+" and "-" are directories of bash. */
static bool is_of_tilde(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_",
                      others[] = "0123456789-.";
    size_t start = strspn(name, letters);
    while (start && name[start] && (strchr(letters, name[start]) || strchr(others, name[start])))
        start++;
    return !name[start] || strcmp(name, "+") == 0 || strcmp(name, "-") == 0;
}

/* The text with the home in the place of ~ and ~NAME. NULL, with the reason, for the home of another user. */
static const char *expand_tilde(const struct reading *reading, const char *text, bool is_tilde,
                                struct err *err)
{
    char room[ACCOUNT_LARGEST];
    struct passwd account;
    size_t size = *text == '~' ? strcspn(text + 1, "/") : 0;
    const char *name = arena_copy(reading->arena, text + (*text == '~'), size), *home = reading->home;
    if (*text != '~' || !is_of_tilde(name))
        return text;
    bool is_own = size && account_find(geteuid(), &account, room) && strcmp(account.pw_name, name) == 0;
    if (is_own)
        home = arena_str(reading->arena, account.pw_dir);
    if (home && (is_own || !size))
        return arena_printf(reading->arena, "%s%s", home, text + 1 + size);
    if (!is_tilde)
        return text;
    err_set(err, "%s is not used: bawn does not look up where ~%s leads", text, name);
    err_hint(err, "write the path of that directory");
    return NULL;
}

/* Judges a text that may be a path, and its form with wildcards (or NULL), from each directory in which the command may be. */
static int judge_from_places(const struct reading *reading, const char *path, const char *pattern,
                             enum judge_role role, struct err *err)
{
    for (size_t i = 0; i < (*path == '/' ? 1 : reading->places.count); i++) {
        const char *place = *path == '/' ? "/" : reading->places.at[i];
        const struct wildcards wildcards = {reading->trees, reading->arena, reading->path, path, role};
        const char *joined = arena_printf(reading->arena, "%s/%s", strcmp(place, "/") ? place : "", path);
        if ((pattern ? wildcards_judge(&wildcards, place, pattern, err)
                     : judge_in_role(reading->trees, reading->arena, reading->path, joined, role, err)) < 0)
            return -1;
    }
    return 0;
}

/* Cuts a text off in front of what is not known. Returns false if no directory is left. */
static bool cut_unknown(const struct reading *reading, const char **text)
{
    const char *end = strchr(*text, WORD_UNKNOWN);
    while (end && end > *text && *end != '/')
        end--;
    if (end)
        *text = arena_copy(reading->arena, *text, (size_t)(end - *text));
    return **text;
}

static int judge_text(const struct reading *reading, const char *text, const char *pattern, bool is_tilde,
                      enum judge_role role, struct err *err)
{
    if (strchr(text, WORD_UNKNOWN))
        role = JUDGE_WORD;
    if (!cut_unknown(reading, &text) || (pattern && !cut_unknown(reading, &pattern)))
        return 0;
    text = expand_tilde(reading, text, is_tilde, err);
    pattern = text && pattern ? expand_tilde(reading, pattern, is_tilde, err) : NULL;
    return text ? judge_from_places(reading, text, pattern, role, err) : -1;
}

/* --- words -------------------------------------------------------------------------------------------------------- */

/* "NAME=VALUE" before a command, and "--option=VALUE". */
static const char *value_in(const char *text)
{
    const char *sign = strchr(text, '=');
    return sign ? sign + 1 : NULL;
}

static bool is_assignment(const struct word *word)
{
    return word->is_program && value_in(word->text) && *word->text != '/';
}

/* The parts of a value are judged alike: in a list such as that of PATH each is a path. */
static int judge_value(const struct reading *reading, const struct word *word, struct err *err)
{
    const char *value = value_in(word->value), *pattern = word->pattern ? value_in(word->pattern) : NULL,
               *part;
    enum judge_role role = text_starts_with(word->text, "PATH=") ? JUDGE_SCRIPT : JUDGE_WORD;
    while ((part = path_next_folder(reading->arena, &value))) {
        const char *shape = path_next_folder(reading->arena, &pattern);
        if (judge_text(reading, part, shape, true, role, err) < 0)
            return -1;
    }
    return 0;
}

/* A name that the shell finds in PATH, or would have found in a directory that was left out. */
static int judge_name_word(const struct reading *reading, const struct word *word, struct err *err)
{
    struct judged judged = {.fd = -1};
    int found = 0;
    for (size_t i = 0; i < reading->folders.count && found >= 0; i++) {
        const char *path = path_join(reading->arena, reading->folders.at[i], word->text);
        found = judge_program(reading->trees, reading->arena, reading->path, path, &judged, err);
        fd_close(judged.fd);
    }
    if (found < 0)
        return -1;
    found = judge_name(reading->trees, reading->arena, reading->path, word->text, &judged, err);
    fd_close(judged.fd);
    if (!found && word->is_program && judge_missing(reading->path, reading->arena, word->text, err) < 0)
        return err_hint(err, "install %s where no run of bawn can write, or name it by its path", word->text);
    return found < 0 ? -1 : 0;
}

static bool is_plain_name(const struct word *word)
{
    return *word->value && !word->pattern && !strpbrk(word->value, "/=\001");
}

/* "-Cfolder": what follows the letter of an option. */
static const char *behind_letter(const char *text)
{
    return text[0] == '-' && text[1] && text[1] != '-' && text[1] != '\\' && text[2] ? text + 2 : NULL;
}

static int judge_word(const struct reading *reading, const struct word *word, enum judge_role role,
                      struct err *err)
{
    const char *behind = behind_letter(word->value);
    bool is_name = is_plain_name(word);
    if (is_name && !word->is_tilde && judge_name_word(reading, word, err) < 0)
        return -1;
    if (behind && judge_text(reading, behind, word->pattern ? behind_letter(word->pattern) : NULL, false,
                             JUDGE_WORD, err) < 0)
        return -1;
    if (judge_value(reading, word, err) < 0)
        return -1;
    return is_name && word->is_program && !word->is_tilde
               ? 0
               : judge_text(reading, word->value, word->pattern, word->is_tilde, role, err);
}

/* --- directories that the command changes to, and those of its PATH ----------------------------------------------- */

static bool has_place(const place_list *places, const char *path)
{
    for (size_t i = 0; i < places->count; i++) {
        if (strcmp(places->at[i], path) == 0)
            return true;
    }
    return false;
}

/* One that is missing is left out: a run that makes it has written its directory, and that is judged. */
static void add_place(place_list *places, const char *path)
{
    struct stat status;
    if (places->count < MOST_PLACES && !has_place(places, path) && stat(path, &status) == 0 &&
        S_ISDIR(status.st_mode))
        vec_push(places, path);
}

/* Follows ".." as cd does, by the text, and as programs do. */
static void add_changed(struct reading *reading, const char *text)
{
    struct err ignored;
    const char *path = expand_tilde(reading, text, true, &ignored);
    size_t known = reading->places.count;
    if (!path || strchr(path, WORD_UNKNOWN))
        return;
    for (size_t i = 0; i < (*path == '/' ? 1 : known); i++) {
        const char *place = *path == '/' ? "/" : reading->places.at[i];
        add_place(&reading->places, path_clean(reading->arena, place, path));
        if (strstr(path, ".."))
            add_place(&reading->places,
                      directories_resolve(reading->arena, path_join(reading->arena, place, path)));
    }
}

static void add_folders(struct reading *reading, const struct word *word)
{
    const char *list = text_starts_with(word->value, "PATH=") ? value_in(word->value) : NULL, *part;
    struct err ignored;
    while ((part = path_next_folder(reading->arena, &list))) {
        const char *path = expand_tilde(reading, part, true, &ignored);
        if (path && *path == '/' && !strchr(path, WORD_UNKNOWN))
            add_place(&reading->folders, path);
    }
}

/* --- commands ----------------------------------------------------------------------------------------------------- */

/* What earlier words of a command say of the next. */
struct state {
    bool begins;      /* a command begins */
    bool is_command;  /* the next word is a command itself, behind "-c" or eval */
    bool changes;     /* it is the directory of cd */
    bool runs;        /* the program executes its first argument … */
    bool is_followed; /* … and that is still to come */
    bool
        is_behind; /* the last word was an option of env or the like: a command begins, or what belongs to the option */
};

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

static int judge_words(struct reading *reading, const char *command, unsigned depth, struct err *err);

/* The commands in a word of which the shell makes a text, such as "x $(helper)". */
static int judge_substitutions(struct reading *reading, const char *word, unsigned depth, struct err *err)
{
    while ((word = next_substitution(word))) {
        if (judge_words(reading, word, depth, err) < 0)
            return -1;
    }
    return 0;
}

/* The directory of cd: without one it is the home, and "-" is one of those that are known. */
static void note_change(struct reading *reading, struct state *state, const struct word *word)
{
    bool is_over = !word || word->is_program;
    if (!state->changes || (!is_over && word->text[0] == '-' && word->text[1]))
        return;
    state->changes = false;
    if (is_over && reading->home)
        add_place(&reading->places, reading->home);
    else if (!is_over)
        add_changed(reading, word->value);
}

/* An option, or the number of nice and timeout, is not what the program executes. */
static bool is_executed(const struct state *state, const struct word *word)
{
    bool is_number = *word->text >= '0' && *word->text <= '9' && !strchr(word->text, '/');
    return state->is_followed && !state->is_command && *word->text != '-' && !is_number &&
           !value_in(word->text);
}

static void go_on(struct state *state, const struct word *word, bool was_executed)
{
    /* After these, a command begins as well. */
    static const char *const before[] = {"if",   "then", "else", "elif", "while", "until",   "do",
                                         "exec", "!",    "{",    "time", "env",   "command", "nohup"};
    state->begins = word->is_program && (is_assignment(word) || *word->text == '-' ||
                                         text_is_among(word->text, before, array_len(before)));
    if (word->is_program)
        state->runs = state->begins || state->is_behind;
    state->is_behind = word->is_program && *word->text == '-';
    bool may_run = (word->is_program || state->runs || was_executed) && word_runs_argument(word);
    state->runs |= may_run;
    state->is_followed =
        may_run || (state->is_followed && !was_executed && !word->is_program && !state->is_command);
    state->is_command = takes_command(word->text);
    state->changes |= word_changes_directory(word);
}

static int judge_words(struct reading *reading, const char *command, unsigned depth, struct err *err)
{
    struct word word;
    struct state state = {.begins = true};
    while (word_take(reading->arena, reading->home, &command, &state.begins, &word)) {
        bool is_executed_now = is_executed(&state, &word) && !word.is_program;
        enum judge_role role = word.is_program   ? JUDGE_AS_PROGRAM
                               : is_executed_now ? JUDGE_SCRIPT
                                                 : JUDGE_WORD;
        note_change(reading, &state, &word);
        if (reading->collects)
            add_folders(reading, &word);
        else if (judge_word(reading, &word, role, err) < 0)
            return -1;
        if (depth < DEEPEST && (judge_substitutions(reading, word.text, depth + 1, err) < 0 ||
                                (state.is_command && judge_words(reading, word.text, depth + 1, err) < 0)))
            return -1;
        go_on(&state, &word, is_executed_now);
    }
    note_change(reading, &state, NULL);
    return 0;
}

int shell_judge(const struct outside *outside, const struct trees *trees, struct arena *arena,
                const struct judged_path *path, const char *command, struct err *err)
{
    const char *home = text_variable(outside->environment, "HOME");
    struct reading reading = {
        .trees = trees, .arena = arena, .path = path, .home = home ? home : outside->home, .collects = true};
    vec_push(&reading.places, "/");
    int result = judge_words(&reading, command, 0, err);
    reading.collects = false;
    if (result == 0)
        result = judge_words(&reading, command, 0, err);
    if (result == 0 && reading.places.count == MOST_PLACES)
        result = err_set(err, "a shell command is not used: it changes its directory too often");
    vec_free(&reading.places);
    vec_free(&reading.folders);
    return result;
}
