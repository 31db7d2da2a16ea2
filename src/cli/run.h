/* Runs a command behind the walls, for the verbs that do. */
#pragma once

#include "cli/args.h"

/* A trial of the walls: another command in the sandbox of the one that was asked for, of which nothing is kept. */
struct trial {
    const char *const *command;
    const char *state; /* the folder for its session */
};

/* In the sandbox that `args` ask for. `trial` may be NULL. Returns the exit status. */
int run_command(const struct world *world, const struct args *args, const struct trial *trial);
