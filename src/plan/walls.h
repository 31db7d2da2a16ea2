/*
 * The named walls: those that a person may give up on a machine that cannot raise them (--degrade=WALL), and those that a mode
 * gives up.
 */
#pragma once

#include <stdbool.h>

#include "base/names.h"

/*    wall       name        what there is without it */
#define DEGRADABLE_WALLS(X)                                                                                  \
    X(WALL_LANDLOCK, "landlock", "files are held by mounts alone, with no second wall behind them")          \
    X(WALL_SECCOMP, "seccomp", "every interface of the kernel is open to the command")                       \
    X(WALL_ROOT, "root", "root inside is root outside, for every file that it can name")                     \
    X(WALL_MEMORY, "memory",                                                                                 \
      "the sandbox has no limit of memory; it is only the first to go when memory runs out")

#define WALLS(X)                                                                                             \
    DEGRADABLE_WALLS(X)                                                                                      \
    X(WALL_FILES, "files", "whatever you can read and write on this machine, the command can")

enum wall {
    WALLS(ID_OF) WALL_COUNT,
    WALL_DEGRADABLE_COUNT = WALL_FILES,
};

/* A set of walls; zero is the empty set. */
typedef unsigned wall_set;

static inline bool walls_have(wall_set walls, enum wall wall)
{
    return walls >> wall & 1;
}

const char *wall_name(enum wall value);
const char *wall_loss(enum wall value);

/* WALL_COUNT: no degradable wall has this name. */
enum wall wall_from_name(const char *name);

/* The degradable wall with the most similar name, or NULL; and all of them, with ", " between. */
const char *wall_closest(const char *name);
const char *wall_list(void);
