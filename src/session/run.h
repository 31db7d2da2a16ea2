/*
 * A run: one command behind the walls, and all that accompanies it outside: the session and its journal, the private home,
 * the network, frozen and flagged paths, snapshots.
 */
#pragma once

#include <signal.h>
#include <time.h>

#include "home/home.h"
#include "report/summary.h"
#include "session/ask_git.h"
#include "session/capture.h"
#include "session/load.h"
#include "supervise/checkpoints.h"
#include "supervise/control.h"
#include "supervise/execs.h"
#include "supervise/guard.h"
#include "supervise/network.h"
#include "supervise/tripwires.h"

/* What came of a run. Its pointers hold until run_finish. */
struct run_result {
    const struct loaded
        *loaded;                /* NULL: it was refused before it could begin, and there is nothing to tell */
    struct run_summary summary; /* with the exit status */
    struct changed changed;
    struct left left; /* looked for only where a person reads it */
};

/*
 * Everything that lives as long as the run. It must not move, since the event loop has pointers into it, and must not lie in
 * the heap, which a supervisor that waits for long lays aside.
 */
struct run {
    struct run_result result;
    struct arena arena;
    struct caller caller;
    struct run_request request;
    struct machine machine;
    struct loaded loaded;
    struct amendments amendments; /* to the plan */
    struct buf briefing;
    struct launch launch;
    struct launched launched;
    struct loop loop;
    struct session session;
    struct secrets secrets; /* the caller's, to be kept out of the journal */
    struct home home;
    struct network network;
    struct guard guard;
    struct control control;
    struct execs execs;
    struct checkpoints checkpoints;
    int later_fd; /* a timer: when the control socket is to be opened */
    struct git_asker asker;
    struct flags flags;
    struct timespec began;
    struct capture *capture;
    sigset_t signals;                       /* blocked before the end was begun */
    bool has_network, has_guard, has_flags; /* begun, and to be ended */
    bool has_signals;
    bool has_plan_recorded;
    bool has_retired_sessions;
    bool is_interrupted;
};

/* Runs the command. The result is written in any case; run_finish ends the run. */
void run_command(const struct caller *caller, const struct run_request *request, struct run *ret_run);

/*
 * Ends what is left of the run. The signals that end a program were held back until now, so that nothing interrupted whoever
 * wrote down or told what came of it; a person's Ctrl-C reaches the whole job here.
 */
void run_finish(struct run *run);
