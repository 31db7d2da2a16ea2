/*
 * Stands by while a command runs: passes signals on, follows the terminal when the command stops and goes on, and sees
 * it end. May touch the terminal's foreground group and send signals; must not read what comes from inside, but for
 * the reports of the sandbox's own process 1.
 */
#pragma once

#include <stdbool.h>
#include <termios.h>

#include "launch/launch.h"
#include "supervise/foreground.h"
#include "supervise/localhost.h"
#include "supervise/loop.h"
#include "supervise/standstill.h"
#include "supervise/tripwires.h"

struct outcome {
    int status; /* for bawn to end with */
    bool ran_out_of_time;
    uint64_t refused; /* processes and threads over the limit that bawn itself holds */
    int passed_on;    /* the last signal that asks a program to end, of those that bawn was sent; 0: none */
    bool
        is_interrupted; /* by a person at the terminal: once all is put right, bawn is to end by the same signal */
};

/*
 * The foreground has the command, its terminal and the loop. The loop may hold sources already: they are served as long as the command runs. Returns -1 where the sandbox failed;
 * *ret_outcome is filled in either way.
 */
int supervise(struct foreground *foreground, struct standstill *standstill, struct tripwires *tripwires,
              struct localhost *localhost, struct outcome *ret_outcome, struct err *err) must_check;

/*
 * terminal.c: the caller's terminal, put right after a command. A command can leave it so that nobody else may open it (TIOCEXCL), so
 * that nothing written to it appears (TCOOFF), or with another line discipline (where no filter forbids that): the shell
 * would look dead, and so would bawn's own report. Its modes and its keys (raw, no echo, another key for Ctrl-C) are as they were before the
 * command, unless another job has the terminal by then: the shell has set them for it.
 */
struct terminal_order {
    int fd; /* -1: there is no terminal */
    int discipline;
    bool is_exclusive, knows_discipline, knows_modes;
    struct termios modes;
};

/* Notes how the terminal is before the command has it. */
void terminal_note(struct terminal_order *order, int fd);

/* To be called with SIGTTOU blocked. `modes`: its modes and keys too. */
void terminal_put_right(const struct terminal_order *order, bool modes);
