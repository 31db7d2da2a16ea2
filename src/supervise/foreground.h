/*
 * Who has the terminal's foreground: the command, bawn, or a prompt of bawn's own.
 *
 * A prompt is a child of bawn in bawn's process group, which takes the foreground from the command. A command that reads from the terminal
 * meanwhile is stopped by the kernel (SIGTTIN), as a job in the background is. One that waits in such a call already would still get what is typed for the
 * prompt: bawn sends it SIGTTIN and continues it, so that it begins its call anew. A command that ignores SIGTTIN gets no prompt: its calls would
 * fail (EIO). When the prompt ends, the command gets the foreground back, and goes on.
 */
#pragma once

#include <termios.h>

#include "launch/launch.h"
#include "supervise/loop.h"

struct foreground {
    const struct launch *launch;
    const struct launched *launched;
    struct loop *loop;
    bool is_given;         /* to the command */
    bool was_nudged;       /* the command's next stop is bawn's doing */
    bool was_prompted;     /* the command may have been stopped for reading while it did not have it */
    pid_t prompt;          /* 0: none is shown */
    int prompt_fd;         /* its pidfd */
    struct termios before; /* the terminal's mode when the prompt was shown */
    void (*prompted)(void *context); /* a prompt has ended; NULL: nobody is told */
    void *context;
};

#define FOREGROUND_NONE ((struct foreground){.prompt_fd = -1})

/* Sends an order to process 1: a signal for the command, which gets the foreground with it or not. */
void foreground_pass_on(const struct foreground *foreground, int number, bool with_terminal);

/* Is bawn's job the one that the terminal listens to? */
bool foreground_is_ours(const struct foreground *foreground);

/* Takes the foreground back from the command, if the command has it. To be called with SIGTTOU blocked, as the others. */
void foreground_take(struct foreground *foreground);

/* The command goes on, with the foreground if the shell gave it to this job and no prompt has it. */
void foreground_go_on(struct foreground *foreground);

/* The command was stopped because it wants the terminal. Returns false if no prompt is or was the reason. */
bool foreground_was_wanted(struct foreground *foreground);

/* Does the command draw on the terminal itself, key by key (raw mode)? Then nothing else may write to its screen. */
bool foreground_is_drawn_on(const struct foreground *foreground);

/*
 * Shows a prompt: runs a program on the terminal. False: one is shown already, the command itself does not have the foreground, or it draws on the terminal. A program that could not
 * be executed has ended at once.
 */
bool foreground_prompt(struct foreground *foreground, const char *const *program,
                       const char *const *environment) must_check;

/* Ends a prompt that is still shown. */
void foreground_end(struct foreground *foreground);
