/*
 * All that accompanies a run outside, from before the launch to after the end: the session and its journal, the private
 * home, the network, frozen and flagged paths. One object, three moments.
 */
#pragma once

#include <time.h>

#include "cli/ask_git.h"
#include "cli/load.h"
#include "hold/flags.h"
#include "home/home.h"
#include "supervise/checkpoints.h"
#include "supervise/control.h"
#include "supervise/execs.h"
#include "supervise/guard.h"
#include "supervise/supervise.h"

struct attendance {
    const struct world *world;
    const struct args *args;
    const struct loaded *loaded;
    struct amendments amendments; /* to the plan */
    struct launch *launch;
    struct launched *launched;
    const char *
        trial_state; /* of a trial of the walls: where its session lies. Nothing of it is kept. NULL: a run */
    struct loop loop;
    struct session session;
    struct secrets secrets; /* the caller's, to be kept out of the journal */
    struct home home;
    struct network network;
    struct guard guard;
    struct control control;
    struct execs execs;
    struct checkpoints checkpoints;
    int later_fd; /* rings when the control socket is to be opened */
    struct git_asker asker;
    struct flags flags;
    struct timespec began;
    struct keeping *keeping;                /* keep.h */
    bool has_network, has_guard, has_flags; /* begun, and to be ended */
    bool has_plan_recorded;
    bool has_let_go;
};

/* Before the plan is handed over: what the child needs to find. The attendance must stay where it is until its end. */
int attend_begin(struct attendance *attendance, struct err *err) must_check;

/* While the child raises its walls, and before it runs the command. */
int attend_start(struct attendance *attendance, struct err *err) must_check;

/* The run cannot begin, or cannot go on: that is said and written down. */
void attend_failed(struct attendance *attendance, const struct err *err);

/* The command has ended, or was never run. Says what a person should know. */
void attend_end(struct attendance *attendance, struct outcome outcome);
