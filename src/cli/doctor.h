/* What this machine can hold, judged wall by wall from what kernel/probe.c found; cmd_doctor.c prints it. */
#pragma once

#include "base/arena.h"
#include "base/style.h"
#include "kernel/probe.h"
#include "plan/walls.h"

#define STATES(X)                                                                                            \
    X(CANNOT_HOLD, "cannot hold", COLOUR_RED)                                                                \
    X(WEAKER, "weaker", COLOUR_YELLOW)                                                                       \
    X(OK, "ok", COLOUR_GREEN)

enum state {
#define X(id, name, colour) STATE_##id,
    STATES(X)
#undef X
};

enum { MOST_FIXES = 6, MOST_WALLS = 8, MOST_PROGRAMS = 16 };

struct judged_wall {
    const char *name;
    enum state state;
    const char *says;
    const char *fixes[MOST_FIXES + 1]; /* lines for a shell, those that a person has to read as comments */
    enum wall degrade;                 /* what --degrade calls it; WALL_COUNT: nothing runs without it */
    struct arena *arena;
};

/* Returns how many walls there is something to say about; the worst state of them in *ret_worst. */
size_t doctor_judge(const struct host_caps *caps, struct arena *arena,
                    struct judged_wall ret_walls[MOST_WALLS], enum state *ret_worst);

/* The programs that are worth asking whether they are snaps, ended by NULL. */
void doctor_programs(const char *ret_programs[MOST_PROGRAMS]);
