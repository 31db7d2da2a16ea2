/*
 * What the program is run in: the file system, the environment, the current directory, the streams. main.c fills it
 * with the real ones; the golden tests with a made-up tree, so that they mean the same on every machine.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/trace.h"
#include "cli/machine.h"

struct world {
    int root_fd;
    const char *directory;          /* absolute */
    const char *const *environment; /* NAME=VALUE, ended by NULL */
    const char *account_home;       /* from the account database, where $HOME is not set; may be NULL */
    void (*look_at_machine)(wall_set asked, struct machine *ret_machine); /* called where a plan is made */
    void (*tidy_up)(
        const struct world *world); /* before a verb that deals with sessions; NULL: nothing is repaired */
    const struct machine *machine;  /* NULL, or what was seen of it already */
    struct trace trace;
    char *heap; /* below it in the allocator's memory there is more than bawn's own; NULL: not known */
    FILE *in, *out, *err;
    bool in_is_terminal, out_is_terminal, err_is_terminal;
};

/* The value of a variable of the caller's, or NULL. */
const char *world_variable(const struct world *world, const char *name);

/* Returns the exit status. */
int bawn_main(const struct world *world, int argument_count, char **arguments);

enum exit_status {
    EXIT_FINE = 0,
    EXIT_BAD_INPUT = 2,
    EXIT_REFUSED = 125, /* bawn itself refused or failed, where a command was to be run */
};
