/*
 * Messages that wait. Nobody may be reading a pipe that bawn writes to, and then a message blocks. At the end of a run everything is
 * therefore written down first and said after that. A person on a terminal is told at once.
 */
#pragma once

#include "base/vec.h"
#include "session/caller.h"

struct waiting_message {
    const char *message,
        *hint;        /* a message without a hint has NULL; of a text that is shown, `message` is NULL … */
    const char *text; /* … and this is it */
    size_t size;
};

struct later {
    struct speaker speaker; /* keeps what it is given */
    struct later *self;     /* the speaker's context */
    const struct speaker *real;
    struct arena arena;
    VEC(struct waiting_message) messages;
};

/* Returns the speaker to use until later_end. */
const struct speaker *later_begin(struct later *later, const struct speaker *real);

/* Says all that was kept. */
void later_end(struct later *later);
