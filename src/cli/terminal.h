/* The terminal: single keys, and a pager for long output. */
#pragma once

#include <sys/types.h>
#include <termios.h>

#include "cli/world.h"

/* Between two keys, and at the end, the terminal is in its original mode. */
enum {
    KEY_CANCEL = 3, /* Ctrl-C */
    KEY_END = 4,    /* Ctrl-D, or the terminal is gone */
};

struct keys {
    int fd;
    struct termios before;
};

/* Returns false if input or output is no terminal. */
bool keys_begin(const struct world *world, struct keys *ret_keys);

/* Reads a key. Arrows up and down are k and j, page down is a space. Ctrl-Z stops bawn. */
char keys_read(struct keys *keys);

/* The same, for so long at most, and until another descriptor (-1: none) can be read: '\0' if no key came. */
char keys_read_within(struct keys *keys, int other_fd, int milliseconds);

/* The number of lines of the terminal. */
size_t keys_rows(const struct keys *keys);

/* --- the pager --- */

struct pager {
    pid_t pid;          /* -1: none */
    struct world world; /* the caller's world, with the pager as output */
};

/* If output is no terminal, or there is no pager, the world is unchanged. */
void pager_begin(const struct world *world, struct pager *ret_pager);

/* Waits until the person quits the pager. */
void pager_end(struct pager *pager);
