/* One key at a time from the person at the terminal, which is as it was in between and at the end. */
#pragma once

#include <termios.h>

#include "cli/world.h"

enum {
    KEY_CANCEL = 3, /* Ctrl-C */
    KEY_END = 4,    /* Ctrl-D, or there is no terminal any more */
};

struct keys {
    int fd;
    struct termios before;
};

/* Returns false where there is no terminal to read from and to write to. */
bool keys_begin(const struct world *world, struct keys *ret_keys);

/* The next key. Arrows up and down are k and j, page down is a space; Ctrl-Z stops bawn, as ever. */
char keys_read(struct keys *keys);

/* How many lines the terminal has. */
size_t keys_rows(const struct keys *keys);
