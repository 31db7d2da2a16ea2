/*
 * The caller's terminal, put right after a command. A command can leave it so that nobody else may open it (TIOCEXCL), so
 * that nothing written to it appears (TCOOFF), or with another line discipline (where no filter forbids that): the shell
 * would look dead, and so would bawn's own report. Its modes (raw, no echo) stay as the command left them, as without bawn: shells and
 * questions set those.
 */
#pragma once

#include <stdbool.h>

struct terminal_order {
    int fd; /* -1: there is no terminal */
    int discipline;
    bool is_exclusive, knows_discipline;
};

/* Notes how the terminal is before the command has it. */
void terminal_note(struct terminal_order *order, int fd);

/* To be called with SIGTTOU blocked. */
void terminal_put_right(const struct terminal_order *order);
