/* Printing and asking: text on the streams, problems on standard error, yes or no. */
#pragma once

#include "base/err.h"
#include "base/style.h"
#include "cli/world.h"

/* Colours only on a terminal that supports them, unless NO_COLOR is set. `home`, unless NULL, is shown as ~. */
struct style style_for_out(const struct world *world, const char *home);
struct style style_for_err(const struct world *world);

/* Writes the whole buffer, including NUL bytes. */
void put(FILE *stream, const struct buf *buf);
void put_err(const struct world *world,
             const struct buf *buf); /* also seen after a command that spoilt the terminal */

/* Undoes what would keep a person from seeing what is written next. */
void put_terminal_right(FILE *stream);

/* "bawn: SENTENCE. HINT." on standard error. */
void say_problem(const struct world *world, const char *message, const char *hint);
int say_err(const struct world *world, const struct err *err); /* returns EXIT_BAD_INPUT */

/* The same, and return the exit status. */
static inline int say_bad_input(const struct world *world, const char *message, const char *hint)
{
    say_problem(world, message, hint);
    return EXIT_BAD_INPUT;
}

static inline int say_refused(const struct world *world, const struct err *err)
{
    say_err(world, err);
    return EXIT_REFUSED;
}
