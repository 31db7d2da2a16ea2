/*
 * The named walls: those that a person may give up on a machine that cannot raise them (--degrade=WALL), and those that a mode
 * gives up.
 */
#pragma once

#include <stdbool.h>

#include "base/names.h"

/*    wall       name        what there is without it */
#define DEGRADABLE_WALLS(X)                                                                                  \
    X(WALL_LANDLOCK, "landlock", "only mounts protect files; the second wall (Landlock) is off")             \
    X(WALL_SECCOMP, "seccomp", "the command may call every interface of the kernel")                         \
    X(WALL_ROOT, "root", "root inside is root outside for every file that it can reach")                     \
    X(WALL_MEMORY, "memory", "the sandbox has no memory limit; if memory runs out, the kernel kills it first")

#define WALLS(X)                                                                                             \
    DEGRADABLE_WALLS(X)                                                                                      \
    X(WALL_FILES, "files", "the command can read and write whatever you can on this machine")

enum wall {
    WALLS(ID_OF) WALL_COUNT,
    WALL_DEGRADABLE_COUNT = WALL_FILES,
};

/*
 * What carries a plan out. Bare walls are those of a machine that gives no namespaces, as most containers: Landlock, seccomp and a process
 * that judges calls (launch/bare.h).
 */
#define FOUNDATIONS(X)                                                                                       \
    X(ON_NAMESPACES, "namespaces")                                                                           \
    X(ON_LANDLOCK, "landlock")

enum foundation { FOUNDATIONS(ID_OF) FOUNDATION_COUNT };

const char *foundation_name(enum foundation value);

/* FOUNDATION_COUNT: there is none of this name. */
enum foundation foundation_from_name(const char *name);

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
