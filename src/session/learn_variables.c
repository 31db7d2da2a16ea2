/*
 * Which variables of the caller's may a run have wanted? Nobody sees a program read its own environment. But the scripts and sources that
 * it opened in the workspace name what they read: a name there that the caller has set, and that no rule passes, is noted.
 */
#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "kernel/beneath.h"
#include "policy/decide.h"
#include "session/run_parts.h"

enum { FILE_LARGEST = 256 * 1024, NAME_SHORTEST = 3 };

/* Every shell sets these. */
static bool is_of_shell(const char *name)
{
    static const char *const names[] = {"PWD", "OLDPWD", "SHLVL", "HOSTNAME", "MAIL"};
    return text_is_among(name, names, array_len(names));
}

static bool is_part_of_name(char byte)
{
    return isalnum((unsigned char)byte) || byte == '_';
}

/* Is the name in the text, as a word? */
static bool names_it(const struct buf *text, const char *name)
{
    size_t size = strlen(name);
    const char *at = buf_text(text), *end = at + text->size;
    for (; (at = memmem(at, (size_t)(end - at), name, size)); at++) {
        bool begins = at == text->bytes || !is_part_of_name(at[-1]);
        if (begins && (at + size == end || !is_part_of_name(at[size])))
            return true;
    }
    return false;
}

/* The command wrote the file: it is opened through no link, and only if it is a regular file. */
static bool read_opened(const char *path, struct buf *ret_text)
{
    auto_fd int fd = open_absolute(path, O_RDONLY | O_NONBLOCK);
    struct stat status;
    return fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
           buf_read(ret_text, fd, FILE_LARGEST) == 0;
}

void run_learn_variables(struct run *run)
{
    struct arena *arena = run->loaded.policy.arena;
    struct learning *learning = &run->learning;
    VEC(const char *) dropped = {0};
    for (const char *const *variable = run->caller.environment; *variable; variable++) {
        const char *name = arena_copy(arena, *variable, strcspn(*variable, "="));
        if (strlen(name) >= NAME_SHORTEST && !is_of_shell(name) &&
            !decide_env(&run->loaded.policy, name, NULL).decides)
            vec_push(&dropped, name);
    }
    for (size_t i = 0; dropped.count && i < learning->opened.count; i++) {
        auto_buf struct buf text = {0};
        if (!read_opened(learning->opened.at[i], &text))
            continue;
        for (size_t j = 0; j < dropped.count; j++) {
            if (names_it(&text, dropped.at[j]))
                wants_note(&learning->wants, WANT_VARIABLE, dropped.at[j], 0,
                           path_name(learning->opened.at[i]));
        }
    }
    vec_free(&dropped);
}
