/* The caller and the streams. main.c fills in the real ones, the golden tests a made-up tree. */
#pragma once

#include <stdio.h>

#include "cli/screen.h"
#include "session/caller.h"

struct world {
    struct caller caller;
    struct speaker speaker; /* the caller's; set by world_set_speaker() */
    bool repairs;           /* repair killed sessions before a verb that deals with sessions */
    FILE *in, *out, *err;   /* the last two may have no descriptor of their own */
    bool in_is_terminal, out_is_terminal, err_is_terminal;
    struct screen *screen; /* may be NULL */
};

/* Makes the engine speak on these streams. The world must not move afterwards. */
void world_set_speaker(struct world *world);

/* Returns the exit status. */
int bawn_main(const struct world *world, int argument_count, char **arguments);
