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
#include "kernel/process.h"

/* An absolute path: a directory in PATH may be one that a sandbox can write. */
static const char notifier[] = "/usr/bin/notify-send";

/* Desktops interpret markup in a message. */
static const char *without_markup(struct arena *arena, const char *text)
{
    auto_buf struct buf plain = {0};
    for (; *text; text++) {
        if (*text == '&' || *text == '<' || *text == '>')
            buf_add_str(&plain, *text == '&' ? "&amp;" : *text == '<' ? "&lt;" : "&gt;");
        else
            buf_add_char(&plain, *text);
    }
    return arena_str(arena, buf_text(&plain));
}

char **hook_environment(const struct caller *caller, struct arena *arena, const struct hook *hook)
{
    VEC(char *) variables = {0};
    for (size_t i = 0; caller->environment[i]; i++) {
        if (strncmp(caller->environment[i], "BAWN_", strlen("BAWN_")) != 0)
            vec_push(&variables, (char *)caller->environment[i]);
    }
    if (hook->text)
        vec_push(&variables, arena_printf(arena, "BAWN_TEXT=%s", hook->text));
    for (const struct hook_fact *fact = hook->facts; fact->name; fact++)
        vec_push(&variables, arena_printf(arena, "%s=%s", fact->name, fact->value ? fact->value : ""));
    vec_push(&variables, NULL);
    return variables.at;
}

static _Noreturn void become_buttons(struct arena *arena, const struct hook *hook, int out_fd,
                                     char **environment)
{
    const char *arguments[] = {"notify-send",
                               "--app-name=bawn",
                               "--urgency=critical",
                               "--action=once=Once",
                               "--action=session=This session",
                               "--action=no=No",
                               "--",
                               "bawn",
                               without_markup(arena, hook->text),
                               NULL};
    dup2(out_fd, STDOUT_FILENO);
    execve(notifier, (char *const *)arguments, environment);
    _exit(127);
}

/* Shows a message with buttons, waits for one, and becomes the verb that answers. */
static _Noreturn void become_question(struct arena *arena, const struct hook *hook, char **environment)
{
    static const char *const words[] = {"once", "session", "no"};
    char chosen[16] = "";
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        _exit(127);
    pid_t child = fork();
    if (child == 0)
        become_buttons(arena, hook, ends[1], environment);
    close(ends[1]);
    ssize_t got = child < 0 ? -1 : read(ends[0], chosen, sizeof(chosen) - 1);
    chosen[got > 0 ? strcspn(chosen, "\n") : 0] = '\0';
    if (!text_is_among(chosen, words, array_len(words)))
        _exit(0);
    const char *arguments[] = {hook->answer.program, "answer", hook->answer.question, chosen, NULL};
    execve(hook->answer.program, (char *const *)arguments, environment);
    _exit(127);
}

static _Noreturn void become_hook(const struct caller *caller, const struct hook *hook)
{
    struct arena arena = {0};
    sigset_t none;
    sigemptyset(&none);
    struct sigaction usual = {.sa_handler = SIG_DFL};
    sigaction(SIGPIPE, &usual, NULL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    char **environment = hook_environment(caller, &arena, hook);
    if (hook->answer.program) {
        become_question(&arena, hook, environment);
    } else if (hook->program) {
        execve(*hook->program, (char *const *)hook->program, environment);
    } else if (hook->command && *hook->command) {
        const char *arguments[] = {"sh", "-c", hook->command, NULL};
        execve("/bin/sh", (char *const *)arguments, environment);
    } else {
        const char *arguments[] = {
            "notify-send", "--app-name=bawn", "--", "bawn", without_markup(&arena, hook->text), NULL};
        execve(notifier, (char *const *)arguments, environment);
    }
    _exit(127);
}

void hook_start(const struct caller *caller, const struct hook *hook)
{
    pid_t child = fork();
    if (child == 0) {
        /* A second fork, so that bawn need not wait for the hook. It has no terminal and no inherited streams. */
        setsid();
        int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
        for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
            dup2(nowhere, fd);
        if (nowhere < 0 || chdir("/") < 0 || fork() != 0)
            _exit(0);
        become_hook(caller, hook);
    }
    if (child > 0)
        waitpid(child, NULL, 0);
}

int hook_run(const struct caller *caller, const struct hook *hook)
{
    fflush(NULL); /* earlier output comes first */
    pid_t child = fork();
    if (child == 0)
        become_hook(caller, hook);
    return child < 0 ? -1 : process_wait(child);
}
