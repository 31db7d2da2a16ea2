/* What `bawn doctor` says of each wall: doctor.c judges, doctor_text.c shows. */
#pragma once

#include "base/names.h"
#include "plan/walls.h"
#include "report/messages.h"

/* state, its name in JSON, in text, and its colour */
#define STATES(X)                                                                                            \
    X(STATE_CANNOT_HOLD, "cannot hold", "missing", COLOUR_RED)                                               \
    X(STATE_WEAKER, "weaker", "weaker", COLOUR_YELLOW)                                                       \
    X(STATE_OK, "ok", "ok", COLOUR_GREEN)

enum state { STATES(ID_OF) };

enum { MOST_FIXES = 6, MOST_WALLS = 8 };

struct judged_wall {
    const char *name;
    enum state state;
    const char *says;
    const char *fixes[MOST_FIXES + 1]; /* lines for a shell; advice to a person is a comment in them */
    enum wall degrade;                 /* its name in --degrade; WALL_COUNT: it cannot be given up */
    struct arena *arena;
};

/* Returns how many walls there are to report; the worst state of them in *ret_worst. */
size_t doctor_judge(const struct host_caps *caps, struct arena *arena,
                    struct judged_wall ret_walls[MOST_WALLS], enum state *ret_worst);
