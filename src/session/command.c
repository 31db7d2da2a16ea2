#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "base/text.h"
#include "kernel/landlock.h"
#include "policy/decide.h"
#include "session/run_parts.h"

const char *command_text(struct arena *arena, const char *const *command)
{
    enum { LONGEST = 16384 };
    auto_buf struct buf line = {0};
    for (size_t i = 0; command[i] && line.size < LONGEST; i++) {
        buf_add_str(&line, i ? " " : "");
        buf_add_str(&line, shell_word(arena, command[i]));
    }
    return arena_copy(arena, line.bytes, line.size);
}

/* PATH without the directories that are hidden in the sandbox: searching them would only cost time. */
static const char *visible_path(const struct loaded *loaded, const char *path)
{
    auto_buf struct buf visible = {0};
    for (const char *folder; (folder = path_next_folder(loaded->policy.arena, &path));) {
        const struct fs_place *place = NULL;
        struct err ignored;
        if (*folder != '/' || fs_resolve(loaded->request.fs, path_clean(loaded->policy.arena, "/", folder),
                                         &place, &ignored) < 0)
            continue;
        enum access access = decide_path(&loaded->policy, place->real, NULL).access;
        if (place->kind != FILE_DIRECTORY || access == ACCESS_NONE)
            continue;
        if (visible.size)
            buf_add_char(&visible, ':');
        buf_add_str(&visible, folder);
    }
    return arena_copy(loaded->policy.arena, visible.bytes, visible.size);
}

const char *const *command_environment(const struct caller *caller, const struct loaded *loaded,
                                       bool has_policy)
{
    struct arena *arena = loaded->policy.arena;
    const char **environment = arena_alloc(arena, (loaded->plan.operations.count + 3) * sizeof(*environment));
    size_t count = 0;
    for (size_t i = 0; i < loaded->plan.operations.count; i++) {
        const struct operation *operation = &loaded->plan.operations.at[i];
        const char *value = operation->value;
        if (operation->kind == OP_ENV_PASS)
            value = caller_variable(caller, operation->name);
        else if (operation->kind != OP_ENV_SET)
            continue;
        if (strcmp(operation->name, "PATH") == 0)
            value = visible_path(loaded, value);
        environment[count++] = arena_printf(arena, "%s=%s", operation->name, value);
    }
    /* What a review writes to a part of a repository goes to a file system of its own, beside the one of its .git. */
    if (loaded->policy.workspaces.at[0].parts.count)
        environment[count++] = "GIT_DISCOVERY_ACROSS_FILESYSTEM=1";
    if (has_policy)
        environment[count++] = "BAWN_POLICY=" POLICY_INSIDE; /* `bawn why` inside reads it */
    return environment;
}

/* Replaces the briefing variable in an argument of the profile. */
static const char *word_with_briefing(struct arena *arena, const char *word, const char *briefing)
{
    const char *variable = strstr(word, BRIEFING_VARIABLE);
    return variable ? arena_printf(arena, "%.*s%s%s", (int)(variable - word), word, briefing,
                                   variable + strlen(BRIEFING_VARIABLE))
                    : word;
}

const char *const *command_words(const struct run_request *request, const struct loaded *loaded,
                                 const char *briefing)
{
    const struct plan *plan = &loaded->plan;
    size_t count = 0, at = 0;
    while (request->command[count])
        count++;
    const char **words =
        arena_alloc(loaded->policy.arena, (count + plan->operations.count + 1) * sizeof(*words));
    for (size_t i = 0; i < count; i++) {
        words[at++] = request->command[i];
        for (size_t j = 0; i == loaded->policy.agent_word && j < plan->operations.count; j++) {
            if (plan->operations.at[j].kind == OP_ARGUMENT)
                words[at++] =
                    word_with_briefing(loaded->policy.arena, plan->operations.at[j].value, briefing);
        }
    }
    return words;
}

/*
 * Finds the terminal. It is bawn's alone only if bawn both reads from it and writes to it. In a pipeline the
 * neighbours belong to the same job and must keep the terminal.
 */
void command_find_terminal(struct launch *launch)
{
    launch->terminal_fd = -1;
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && launch->terminal_fd < 0; fd++) {
        if (isatty(fd))
            launch->terminal_fd = fd;
    }
    launch->foreground =
        isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && tcgetpgrp(STDIN_FILENO) == getpgrp();
    /* In the caller's group kill(0, …) would reach the caller's neighbours, unless Landlock confines signals. */
    launch->own_group =
        launch->foreground || launch->terminal_fd < 0 || landlock_abi() < LANDLOCK_ABI_WITH_SCOPES;
}
