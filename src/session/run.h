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
#include "session/branch.h"
#include "session/capture.h"
#include "session/load.h"
#include "supervise/checkpoints.h"
#include "supervise/control.h"
#include "supervise/disk.h"
#include "supervise/execs.h"
#include "supervise/foreground.h"
#include "supervise/guard.h"
#include "supervise/learning.h"
#include "supervise/network.h"
#include "supervise/signing.h"
#include "supervise/tripwires.h"
#include "supervise/vault.h"

/* The result of a run. Its pointers are valid until run_finish. */
struct run_result {
    const struct loaded *loaded; /* NULL: refused before it began, there is nothing to report */
    struct run_summary summary;  /* includes the exit status */
    struct changed changed;
    struct home_files left; /* found only if a person reads it */
    port_list servers;
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
    struct foreground foreground;
    unsigned asks_next;     /* a question that came while a prompt was on the terminal; 0: none */
    bool has_title;         /* the terminal's title names a question, or has a sentence */
    unsigned told;          /* sentences that were told at once */
    bool told_localhost[2]; /* of each kind, on the terminal */
    struct session session;
    struct secrets secrets; /* values of the caller's variables, redacted in the journal */
    struct home home;
    struct network network;
    struct vault vault; /* keeps secrets outside */
    struct canary canary;
    struct guard guard;
    struct control control;
    struct asking asking;   /* questions from inside */
    struct signing signing; /* ssh inside that logs in with keys outside */
    struct forging forging; /* git that reaches a repository with keys outside */
    struct execs execs;
    struct guarded guarded;
    struct learning learning;
    struct checkpoints checkpoints;
    struct disk disk;
    int later_fd;         /* a timer for do_later */
    struct branch branch; /* with --branch */
    struct git_asker asker;
    struct flags flags;
    struct timespec began;
    struct capture *capture;
    sigset_t signals;                                  /* the mask before the ending signals were blocked */
    bool has_network, has_vault, has_guard, has_flags; /* begun, so run_end and run_finish must end them */
    bool has_signals;
    enum { NAMESPACES_UNKNOWN, NAMESPACES_THERE, NAMESPACES_LACKING } namespaces;
    bool has_plan_recorded;
    bool has_retired_sessions;
    bool refuses_outside; /* something could be changed from inside: nothing is started at the end either */
    bool is_interrupted;
    const char *ended_by; /* the limit for which bawn ended the command: "time", "disk"; NULL: none */
    int passed_on; /* the last signal that asks a program to end, of those that bawn was sent; 0: none */
};

/* Runs the command. The result is set in any case; the caller must call run_finish. */
void run_command(const struct caller *caller, const struct run_request *request, struct run *ret_run);

/* Frees the run and unblocks the ending signals. After a Ctrl-C of a person's, SIGINT goes to the whole job. */
void run_finish(struct run *run);
