/* The person's terminal: one key at a time, and a pager for long output. */
#pragma once

#include <sys/types.h>
#include <termios.h>

#include "cli/world.h"

/* The terminal is as it was between two keys, and at the end. */
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

/* --- the pager --- */

struct pager {
    pid_t pid;          /* -1: none */
    struct world world; /* the caller's, with the pager as its output */
};

/* Where standard output is no terminal, or there is no pager, the world is the caller's as it is. */
void pager_begin(const struct world *world, struct pager *ret_pager);

/* Waits until the person has seen enough. */
void pager_end(struct pager *pager);
