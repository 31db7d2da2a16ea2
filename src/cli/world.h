/*
 * What the program is run in: the caller, and the streams. main.c fills it with the real ones; the golden tests with a
 * made-up tree, so that they mean the same on every machine.
 */
#pragma once

#include <stdio.h>

#include "session/caller.h"

struct world {
    struct caller caller;
    struct speaker speaker; /* that of the caller: world_set_speaker() */
    bool repairs;           /* killed sessions are put right before a verb that deals with sessions */
    FILE *in, *out, *err;
    bool in_is_terminal, out_is_terminal, err_is_terminal;
};

/* The engine speaks on these streams from now on. The world must stay where it is. */
void world_set_speaker(struct world *world);

/* Returns the exit status. */
int bawn_main(const struct world *world, int argument_count, char **arguments);
