#include "session/hook.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/text.h"
#include "base/vec.h"
#include "kernel/own_program.h"
#include "kernel/process.h"
#include "outside/outside.h"

static const char notifier[] = "/usr/bin/notify-send";

/* Desktops interpret markup in a message, and notify-send what follows a backslash: `\074` would be a `<`. */
static const char *without_markup(struct arena *arena, const char *text)
{
    auto_buf struct buf plain = {0};
    for (; *text; text++) {
        if (*text == '&' || *text == '<' || *text == '>')
            buf_add_str(&plain, *text == '&' ? "&amp;" : *text == '<' ? "&lt;" : "&gt;");
        else if (*text == '\\')
            buf_add_str(&plain, "\\\\");
        else
            buf_add_char(&plain, *text);
    }
    return arena_str(arena, buf_text(&plain));
}

typedef VEC(const char *) text_list;

static void add_facts(struct arena *arena, const struct hook *hook, text_list *variables)
{
    bool has_workspace = hook->plan && hook->plan->policy->workspaces.count;
    if (hook->text)
        vec_push(variables, arena_printf(arena, "BAWN_TEXT=%s", hook->text));
    if (has_workspace)
        vec_push(variables,
                 arena_printf(arena, "BAWN_WORKSPACE=%s", hook->plan->policy->workspaces.at[0].path));
    for (const struct hook_fact *fact = hook->facts; fact->name; fact++)
        vec_push(variables, arena_printf(arena, "%s=%s", fact->name, fact->value ? fact->value : ""));
    vec_push(variables, NULL);
}

const char **hook_environment(const struct caller *caller, struct arena *arena, const struct hook *hook)
{
    text_list variables = {0};
    for (size_t i = 0; caller->environment[i]; i++) {
        if (strncmp(caller->environment[i], "BAWN_", strlen("BAWN_")) != 0)
            vec_push(&variables, caller->environment[i]);
    }
    add_facts(arena, hook, &variables);
    return variables.at;
}

/* Finds what the hook starts. Returns 1, 0 if there is no such program, -1 if it is refused. */
static int find_program(const struct caller *caller, struct arena *arena, const struct hook *hook,
                        struct outside_program *ret_program, struct err *err)
{
    const char *text = without_markup(arena, hook->text ? hook->text : "");
    const char *const message[] = {notifier, "--app-name=bawn", "--", "bawn", text, NULL};
    const char *const buttons[] = {notifier,
                                   "--app-name=bawn",
                                   "--urgency=critical",
                                   "--action=once=Once",
                                   "--action=session=This session",
                                   "--action=no=No",
                                   "--",
                                   "bawn",
                                   text,
                                   NULL};
    const struct outside outside = caller_outside(caller, hook->plan);
    auto_vec text_list facts = {0};
    add_facts(arena, hook, &facts);
    if (!hook->answer.program && !hook->program && hook->command && *hook->command)
        return outside_shell(&outside, arena, hook->command, facts.at, ret_program, err) < 0 ? -1 : 1;
    return outside_find(&outside, arena,
                        hook->answer.program ? buttons
                        : hook->program      ? hook->program
                                             : message,
                        facts.at, ret_program, err);
}

/* Shows a message with buttons, waits for one, and becomes the verb that answers. */
static _Noreturn void become_question(const struct caller *caller, struct arena *arena,
                                      const struct hook *hook, const struct outside_program *buttons)
{
    static const char *const words[] = {"once", "session", "no"};
    char chosen[16] = "";
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        _exit(127);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        outside_become(buttons);
        _exit(127);
    }
    close(ends[1]);
    ssize_t got = child < 0 ? -1 : read(ends[0], chosen, sizeof(chosen) - 1);
    chosen[got > 0 ? strcspn(chosen, "\n") : 0] = '\0';
    if (!text_is_among(chosen, words, array_len(words)))
        _exit(0);
    const char *arguments[] = {hook->answer.program, "answer", hook->answer.question, chosen, NULL};
    own_program_become(hook->answer.program, arguments, hook_environment(caller, arena, hook));
    _exit(127);
}

static _Noreturn void become_hook(const struct caller *caller, struct arena *arena, const struct hook *hook,
                                  const struct outside_program *program)
{
    sigset_t none;
    sigemptyset(&none);
    struct sigaction usual = {.sa_handler = SIG_DFL};
    sigaction(SIGPIPE, &usual, NULL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (hook->answer.program)
        become_question(caller, arena, hook, program);
    outside_become(program);
    _exit(127);
}

static int find_or_say(const struct caller *caller, struct arena *arena, const struct hook *hook,
                       struct outside_program *ret_program)
{
    struct err err = {0};
    int found = find_program(caller, arena, hook, ret_program, &err);
    if (found < 0)
        caller_say_err(caller, &err);
    return found;
}

int hook_check(const struct caller *caller, const struct hook *hook, struct err *err)
{
    auto_arena struct arena arena = {0};
    struct outside_program program;
    int found = find_program(caller, &arena, hook, &program, err);
    outside_close(&program);
    return found < 0 ? -1 : 0;
}

void hook_start(const struct caller *caller, const struct hook *hook)
{
    auto_arena struct arena arena = {0};
    struct outside_program program;
    pid_t child = find_or_say(caller, &arena, hook, &program) > 0 ? fork() : -1;
    if (child == 0) {
        /* A second fork, so that bawn need not wait for the hook. It has no terminal and no inherited streams. */
        setsid();
        int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
        for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
            dup2(nowhere, fd);
        if (nowhere < 0 || chdir("/") < 0 || fork() != 0)
            _exit(0);
        become_hook(caller, &arena, hook, &program);
    }
    if (child > 0)
        waitpid(child, NULL, 0);
    outside_close(&program);
}

int hook_run(const struct caller *caller, const struct hook *hook)
{
    auto_arena struct arena arena = {0};
    struct outside_program program;
    int found = find_or_say(caller, &arena, hook, &program);
    if (found <= 0)
        return found < 0 ? -1 : 127;
    fflush(NULL); /* earlier output comes first */
    pid_t child = fork();
    if (child == 0)
        become_hook(caller, &arena, hook, &program);
    int status = child < 0 ? -1 : process_wait(child);
    outside_close(&program);
    return status;
}
