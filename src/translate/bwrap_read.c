/*
 * A bubblewrap command line, as a shell reads it: words, quotes, backslashes, comments. What a shell would compute ($x, `x`) is not
 * known here; a word with it makes its option one that is not translated. What stands before the word bwrap is not looked at.
 *
 * In a command line a later mount covers an earlier one, in a policy the most specific rule decides. A mount that hides what an
 * earlier option shows inside it is therefore reported, and the earlier grant is not made.
 */
#include <string.h>

#include "base/path.h"
#include "base/text.h"
#include "translate/import.h"

struct shell_word {
    const char *text;
    bool is_computed; /* a variable or a command is in it */
};

typedef VEC(struct shell_word) shell_words;

/* Adds the quoted text that stands here, from behind its quote. False if it does not end. */
static bool take_quoted(const char **at, char quote, struct buf *text, bool *is_computed)
{
    for (; **at && **at != quote; (*at)++) {
        if (quote == '"' && **at == '\\' && (*at)[1] && strchr("\"\\$`\n", (*at)[1]))
            (*at)++;
        else if (quote == '"' && strchr("$`", **at))
            *is_computed = true;
        buf_add_char(text, **at);
    }
    return *(*at)++ == quote;
}

/* "${NAME+…}": what a shell adds if the variable is set. Stands at the brace; false if it does not end. */
static bool take_braces(const char **at, struct buf *text)
{
    while (**at && **at != '}')
        buf_add_char(text, *(*at)++);
    if (!**at)
        return false;
    buf_add_char(text, *(*at)++);
    return true;
}

static bool take_word(struct arena *arena, const char **at, shell_words *words)
{
    auto_buf struct buf text = {0};
    bool is_computed = false, is_good = true;
    while (is_good && **at && !strchr(" \t\r\n", **at)) {
        char byte = *(*at)++;
        if (byte == '\'' || byte == '"') {
            is_good = take_quoted(at, byte, &text, &is_computed);
        } else if (byte == '\\') {
            is_good = **at;
            buf_add_char(&text, **at);
            *at += is_good;
        } else {
            is_computed |= strchr("$`*?[;|&<>()", byte) != NULL;
            buf_add_char(&text, byte);
            if (byte == '$' && **at == '{')
                is_good = take_braces(at, &text);
        }
    }
    vec_push(words, (struct shell_word){arena_str(arena, buf_text(&text)), is_computed});
    return is_good;
}

/* Splits the text. False if a quote or a brace does not end. */
static bool split(struct arena *arena, const char *at, shell_words *words)
{
    while (true) {
        at += strspn(at, " \t\r\n");
        if (at[0] == '\\' && at[1] == '\n')
            at += 2;
        else if (*at == '#')
            at += strcspn(at, "\n");
        else if (!*at)
            return true;
        else if (!take_word(arena, &at, words))
            return false;
    }
}

struct option {
    const char *name;
    size_t count; /* of its arguments */
    void (*read)(struct import *import, const struct shell_word *arguments);
};

static void show_written(struct import *import, const struct shell_word *arguments)
{
    if (strcmp(arguments[0].text, arguments[1].text) == 0)
        import_write(import, arguments[1].text);
    else
        import_left(import, LOST_GRANT, "bawn shows a path where it is");
}

static void show_read(struct import *import, const struct shell_word *arguments)
{
    if (strcmp(arguments[0].text, "/dev/null") == 0)
        import_hide(import, arguments[1].text);
    else if (strcmp(arguments[0].text, arguments[1].text) == 0)
        import_read(import, arguments[1].text);
    else
        import_left(import, LOST_GRANT, "bawn shows a path where it is");
}

static void empty(struct import *import, const struct shell_word *arguments)
{
    static const char own[] = "/tmp\n/var/tmp\n/run\n/dev/shm";
    if (text_has_word(own, arguments[0].text))
        import_needless(import, "bawn has its own");
    else
        import_left(import, LOST_REFUSAL,
                    "hide it if it lies in a tree that is shown; elsewhere it is not there");
}

/* An empty directory that cannot be entered: what an export writes for a hidden one. */
static void hide_directory(struct import *import, const struct shell_word *arguments)
{
    import_hide(import, arguments[0].text);
}

static void set_variable(struct import *import, const struct shell_word *arguments)
{
    import_set(import, arguments[0].text, arguments[1].text);
}

static void unset_variable(struct import *import, const struct shell_word *arguments)
{
    import_unset(import, arguments[0].text);
}

static void no_network(struct import *import, const struct shell_word *arguments not_used)
{
    import_no_network(import);
}

static void always(struct import *import, const struct shell_word *arguments not_used)
{
    import_needless(import, "every bawn sandbox has it");
}

static void open_network(struct import *import, const struct shell_word *arguments not_used)
{
    import_left(import, LOST_GRANT, "name the hosts with connect");
}

static const struct option options[] = {
    {"--bind", 2, show_written},
    {"--bind-try", 2, show_written},
    {"--ro-bind", 2, show_read},
    {"--ro-bind-try", 2, show_read},
    {"--tmpfs", 1, empty},
    {"--setenv", 2, set_variable},
    {"--unsetenv", 1, unset_variable},
    {"--unshare-net", 0, no_network},
    {"--unshare-all", 0, no_network},
    {"--share-net", 0, open_network},
    {"--clearenv", 0, always},
    {"--proc", 1, always},
    {"--dev", 1, always},
    {"--symlink", 2, always},
    {"--unshare-user", 0, always},
    {"--unshare-user-try", 0, always},
    {"--unshare-ipc", 0, always},
    {"--unshare-pid", 0, always},
    {"--unshare-uts", 0, always},
    {"--unshare-cgroup", 0, always},
    {"--unshare-cgroup-try", 0, always},
    {"--die-with-parent", 0, always},
    {"--new-session", 0, always},
    {"--cap-drop", 1, always},
    {"--remount-ro", 1, always},
    {"--dev-bind", 2, NULL},
    {"--dev-bind-try", 2, NULL},
    {"--perms", 1, NULL},
    {"--size", 1, NULL},
    {"--chdir", 1, always},
    {"--dir", 1, always},
    {"--hostname", 1, NULL},
    {"--uid", 1, NULL},
    {"--gid", 1, NULL},
    {"--cap-add", 1, NULL},
    {"--seccomp", 1, always},
    {"--file", 2, NULL},
    {"--bind-data", 2, NULL},
    {"--ro-bind-data", 2, NULL},
    {"--mqueue", 1, NULL},
    {"--lock-file", 1, NULL},
    {"--sync-fd", 1, NULL},
    {"--info-fd", 1, NULL},
    {"--chmod", 2, NULL},
    {"--exec-label", 1, NULL},
    {"--file-label", 1, NULL},
    {"--as-pid-1", 0, NULL},
};

static const struct option *find_option(const char *name)
{
    for (size_t i = 0; i < array_len(options); i++) {
        if (strcmp(name, options[i].name) == 0)
            return &options[i];
    }
    return NULL;
}

/* What a mount covers; NULL: it is no mount, or one that takes nothing from a grant below it. */
static const char *covers(const shell_words *words, size_t at, bool is_written)
{
    const char *name = words->at[at].text;
    if (strcmp(name, "--tmpfs") == 0)
        return words->at[at + 1].text;
    bool reads = strcmp(name, "--ro-bind") == 0 || strcmp(name, "--ro-bind-try") == 0;
    if (!reads || at + 2 >= words->count)
        return NULL;
    return is_written || strcmp(words->at[at + 1].text, "/dev/null") == 0 ? words->at[at + 2].text : NULL;
}

/* Is the path of a grant covered by a later mount at it or around it? */
static bool is_covered_later(const shell_words *words, size_t at, const char *path, bool is_written)
{
    for (size_t i = at; i + 1 < words->count; i++) {
        const char *over = covers(words, i, is_written);
        if (over && (strcmp(over, path) == 0 || path_is_inside(path, over)))
            return true;
    }
    return false;
}

static void import_option(struct import *import, const shell_words *words, size_t at,
                          const struct option *option)
{
    const struct shell_word *arguments = &words->at[at + 1];
    bool is_computed = false, binds = option->read == show_written || option->read == show_read;
    import_item(import, "%s %s %s", option->name, option->count > 0 ? arguments[0].text : "",
                option->count > 1 ? arguments[1].text : "");
    for (size_t i = 0; i < option->count; i++)
        is_computed |= arguments[i].is_computed;
    if (is_computed)
        import_left(import, option->read == show_written ? LOST_GRANT : LOST_REFUSAL, "a shell computes it");
    else if (binds &&
             is_covered_later(words, at + 1 + option->count, arguments[1].text, option->read == show_written))
        import_left(import, LOST_GRANT, "a later mount covers it");
    else if (option->read == empty && strcmp(words->at[at - 1].text, "0000") == 0)
        hide_directory(import, arguments);
    else if (option->read)
        option->read(import, arguments);
    else
        import_left(import, LOST_OTHER, "bawn has no such setting");
}

/* "${NAME+--setenv NAME "$NAME"}", as an export writes it for a variable that is passed. False if it is something else. */
static bool import_passed(struct import *import, const char *word)
{
    size_t size = text_starts_with(word, "${") ? strcspn(word + 2, "+}") : 0;
    if (size == 0 || word[2 + size] != '+')
        return false;
    const char *name = arena_copy(import->arena, word + 2, size);
    const char *wanted = arena_printf(import->arena, "${%s+--setenv %s \"$%s\"}", name, name, name);
    if (strcmp(word, wanted) != 0)
        return false;
    import_item(import, "--setenv %s", name);
    import_pass(import, name);
    return true;
}

int import_bwrap(struct import *import, struct err *err)
{
    auto_vec shell_words words = {0};
    size_t at = 0;
    if (!split(import->arena, import->text, &words))
        return err_set(err, "a quote or a brace in the command line does not end");
    while (at < words.count && strcmp(path_name(words.at[at].text), "bwrap") != 0)
        at++;
    if (at == words.count)
        return err_set(err, "the file has no bwrap command line");
    for (at++; at < words.count && strcmp(words.at[at].text, "--") != 0; at++) {
        const struct option *option = find_option(words.at[at].text);
        if (option && at + option->count < words.count) {
            import_option(import, &words, at, option);
            at += option->count;
        } else if (!import_passed(import, words.at[at].text)) {
            import_item(import, "%s", words.at[at].text);
            import_left(import, LOST_REFUSAL, "bawn does not know the option, or a shell computes it");
            if (words.at[at].text[0] != '-' && words.at[at].text[0] != '$')
                break; /* the command */
        }
    }
    return 0;
}
