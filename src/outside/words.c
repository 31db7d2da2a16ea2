#include "outside/words.h"

#include <string.h>

#include "base/buf.h"
#include "base/path.h"
#include "base/text.h"

static const char wildcards[] = "*?[";

struct taking {
    const char *home;
    const char *at;
    char quote;
    struct buf text, value, pattern;
    bool has_wildcard;
};

static bool is_of_name(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
           byte == '_';
}

/* A byte that stands for itself. */
static void add_literal(struct taking *taking, char byte, bool is_quoted)
{
    buf_add_char(&taking->text, byte);
    buf_add_char(&taking->value, byte);
    if (strchr(is_quoted ? "*?[]\\" : "\\", byte))
        buf_add_char(&taking->pattern, '\\');
    buf_add_char(&taking->pattern, byte);
}

/* "$HOME" and "${HOME}". Returns the size of what is expanded; 0: it is another variable or a substitution. */
static size_t size_of_home(const struct taking *taking)
{
    static const char braces[] = "${HOME}", plain[] = "$HOME";
    if (!taking->home)
        return 0;
    if (text_starts_with(taking->at, braces))
        return sizeof(braces) - 1;
    return text_starts_with(taking->at, plain) && !is_of_name(taking->at[sizeof(plain) - 1])
               ? sizeof(plain) - 1
               : 0;
}

/* The size of "$NAME" or "${…}"; of another substitution that of its first byte. */
static size_t size_of_variable(const char *at)
{
    size_t size = 1;
    if (at[0] == '$' && at[1] == '{')
        return strcspn(at, "}") + (strchr(at, '}') != NULL);
    while (at[0] == '$' && is_of_name(at[size]))
        size++;
    return size;
}

/* Takes a variable or the beginning of a substitution. */
static void take_variable(struct taking *taking)
{
    size_t size = size_of_home(taking);
    if (size) {
        buf_add_str(&taking->value, taking->home);
        for (const char *byte = taking->home; *byte; byte++) {
            if (strchr("*?[]\\", *byte))
                buf_add_char(&taking->pattern, '\\');
            buf_add_char(&taking->pattern, *byte);
        }
    } else {
        size = size_of_variable(taking->at);
        buf_add_char(&taking->value, WORD_UNKNOWN);
        buf_add_char(&taking->pattern, WORD_UNKNOWN);
    }
    buf_add(&taking->text, taking->at, size);
    taking->at += size;
}

static void take_byte(struct taking *taking)
{
    char byte = *taking->at;
    if (taking->quote ? byte == taking->quote : byte == '\'' || byte == '"') {
        taking->quote = taking->quote ? '\0' : byte;
        taking->at++;
    } else if (byte == '\\' && taking->quote != '\'' && taking->at[1]) {
        add_literal(taking, taking->at[1], true);
        taking->at += 2;
    } else if (taking->quote != '\'' && (byte == '`' || byte == '$')) {
        take_variable(taking);
    } else if (!taking->quote && strchr(wildcards, byte)) {
        taking->has_wildcard = true;
        buf_add_char(&taking->text, byte);
        buf_add_char(&taking->value, byte);
        buf_add_char(&taking->pattern, byte);
        taking->at++;
    } else {
        add_literal(taking, byte, taking->quote);
        taking->at++;
    }
}

bool word_take(struct arena *arena, const char *home, const char **at, bool *begins, struct word *ret_word)
{
    static const char ends[] = " \t\n;|&()<>`";
    struct taking taking = {.home = home};
    for (; **at && strchr(ends, **at); (*at)++)
        *begins = strchr(";|&(`\n", **at) ? true : strchr("<>", **at) ? false : *begins;
    if (!**at)
        return false;
    taking.at = *at;
    *ret_word = (struct word){.is_program = *begins, .is_tilde = **at == '~'};
    while (*taking.at && (taking.quote || !strchr(ends, *taking.at)))
        take_byte(&taking);
    *at = taking.at;
    ret_word->text = arena_str(arena, buf_text(&taking.text));
    ret_word->value = arena_str(arena, buf_text(&taking.value));
    ret_word->pattern = taking.has_wildcard ? arena_str(arena, buf_text(&taking.pattern)) : NULL;
    buf_free(&taking.text);
    buf_free(&taking.value);
    buf_free(&taking.pattern);
    return true;
}

bool word_changes_directory(const struct word *word)
{
    static const char *const names[] = {"cd", "pushd"};
    return word->is_program && text_is_among(word->text, names, array_len(names));
}

bool word_runs_argument(const struct word *word)
{
    static const char *const names[] = {
        ".",      "source", "sh",     "bash",    "dash",  "ksh",  "zsh",   "perl",   "ruby",
        "node",   "nodejs", "deno",   "bun",     "php",   "lua",  "tclsh", "awk",    "nice",
        "ionice", "setsid", "stdbuf", "timeout", "xargs", "sudo", "doas",  "chroot", "systemd-run"};
    const char *name = path_name(word->text);
    return text_is_among(name, names, array_len(names)) || text_starts_with(name, "python");
}
