/*
 * A run: one command behind the walls, with its session and journal, private home, network, frozen and flagged
 * paths, and capture. run.c has the theory of operation.
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

/* The result of a run. Its pointers are valid until run_finish. */
struct run_result {
    const struct loaded *loaded; /* NULL: refused before it began, there is nothing to report */
    struct run_summary summary;  /* includes the exit status */
    struct changed changed;
    struct home_files left; /* found only if a person reads it */
};

/*
 * The state of a run. The struct must not move, because the event loop points into it. It must not lie in the heap,
 * which a supervisor that waits for long writes out to a file.
 */
struct run {
    struct run_result result;
    struct arena arena;
    struct caller caller;
    struct run_request request;
    struct machine machine;
    struct loaded loaded;
    struct amendments amendments;
    struct buf briefing;
    struct launch launch;
    struct launched launched;
    struct loop loop;
    struct session session;
    struct secrets secrets; /* values of the caller's variables, redacted in the journal */
    struct home home;
    struct network network;
    struct guard guard;
    struct control control;
    struct asking asking; /* questions from inside */
    struct execs execs;
    struct checkpoints checkpoints;
    int later_fd; /* a timer for do_later */
    struct git_asker asker;
    struct flags flags;
    struct timespec began;
    struct capture *capture;
    sigset_t signals;                       /* the mask before the ending signals were blocked */
    bool has_network, has_guard, has_flags; /* begun, so run_end and run_finish must end them */
    bool has_signals;
    bool has_plan_recorded;
    bool has_retired_sessions;
    bool is_interrupted;
};

/* Runs the command. The result is set in any case; the caller must call run_finish. */
void run_command(const struct caller *caller, const struct run_request *request, struct run *ret_run);

/* Frees the run and unblocks the ending signals. After a Ctrl-C of a person's, SIGINT goes to the whole job. */
void run_finish(struct run *run);
