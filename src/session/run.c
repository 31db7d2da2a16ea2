/*
 * Theory of operation
 *
 * A run goes through these phases:
 *
 *   0. enter_branch  with --branch only: makes the worktree and adds rules to the request.
 *   1. begin_child   starts the child, which makes its namespaces while the policy is read.
 *   2. load_plan     makes the plan; a plan that cannot be enforced here is refused.
 *   3. run_prepare   begins network, home and guard; also session and capture, if the plan refers to them.
 *   4. launch_start  hands operations and amendments to the child, which raises its walls.
 *   5. run_start     meanwhile: begins session and capture if phase 3 did not, then checkpoints and flags.
 *   6. supervise     lets the child run the command, and serves the event loop until it ends.
 *   7. run_end       ends everything that was begun, in a fixed order, and fills in the result.
 *   8. run_finish    the caller has reported the result: frees everything.
 *
 * Ownership: struct run owns all state, and run_finish frees it. The plan is not changed after phase 2; later decisions
 * are amendments. The has_* members say which parts were begun and must be ended.
 *
 * Failure: in phases 0 to 2 the reason is said, result.loaded stays NULL and nothing is recorded. From phase 3 on,
 * run_failed says and records the reason, the phases up to 6 are skipped, and phases 7 and 8 run with status 125.
 *
 * Signals: SIGINT, SIGTERM and SIGHUP are blocked from before phase 6 until phase 8. A second Ctrl-C must not interrupt
 * bawn while it writes the record and the report. SIGQUIT is not blocked; the next bawn then repairs the session.
 */
#include "session/run.h"

#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "base/text.h"
#include "home/home.h"
#include "kernel/process.h"
#include "policy/decide.h"
#include "report/messages.h"
#include "session/branch.h"
#include "session/run_parts.h"

/* Shows the plan's notes to a person. In a pipe bawn adds no byte. */
static void say_notes(const struct caller *caller, const struct loaded *loaded)
{
    for (size_t i = 0; caller->speaker->is_read && i < loaded->plan.notes.count; i++)
        caller_note(caller, arena_printf(loaded->policy.arena, "note: %s", loaded->plan.notes.at[i].text),
                    NULL);
}

/*
 * Finds a sealed path that does not exist yet in a writable tree. Nothing can be mounted over it, so a program
 * inside could create it and one outside would trust it. The run is refused.
 */
static const struct operation *missing_seal(const struct plan *plan)
{
    for (size_t i = 0; i < plan->operations.count; i++) {
        const struct operation *operation = &plan->operations.at[i];
        if (operation->kind == OP_FREEZE && operation->missing && operation->because->verb == VERB_SEAL)
            return operation;
    }
    return NULL;
}

/* Can this machine enforce the seals and the memory limit of the plan? If not, says why. */
static bool can_enforce(const struct caller *caller, struct loaded *loaded)
{
    const struct operation *seal = missing_seal(&loaded->plan), *memory = plan_unheld_memory(&loaded->plan);
    if (seal) {
        caller_say(caller,
                   arena_printf(&loaded->arena,
                                "%s is sealed but does not exist, so the command could create it",
                                seal->path),
                   arena_printf(&loaded->arena,
                                "create it first (mkdir -p %s), or grant less than the directory around it",
                                seal->path));
        return false;
    }
    if (memory && !walls_have(loaded->plan.request.degraded, WALL_MEMORY)) {
        caller_say(caller, "the memory limit cannot be enforced: you have no control group of your own",
                   "`bawn doctor` shows how to get one; --degrade=memory runs without the limit");
        return false;
    }
    return true;
}

/* A guess from the flags, before the policy is read. The plan decides. */
static bool asks_for_network(const struct run_request *request, const char *kind)
{
    bool is_that = false;
    for (size_t i = 0; i < request->rule_count; i++) {
        if (request->rules[i].verb == VERB_NET)
            is_that = strcmp(request->rules[i].text, kind) == 0;
    }
    return is_that;
}

/* The kernel places the arguments one after the other in memory. */
static size_t size_of_typed(const struct run_request *request)
{
    const char *end = *request->typed;
    for (char *const *argument = request->typed; *argument && *argument == end; argument++)
        end += strlen(*argument) + 1;
    return (size_t)(end - *request->typed);
}

static void block_ending_signals(sigset_t *ret_before)
{
    sigset_t ending = process_ending_signals();
    sigprocmask(SIG_BLOCK, &ending, ret_before);
}

/* Ignoring SIGINT for a moment drops a pending Ctrl-C. Other pending signals are delivered. */
static void unblock_signals(const sigset_t *before)
{
    struct sigaction usual;
    sigaction(SIGINT, &(struct sigaction){.sa_handler = SIG_IGN}, &usual);
    sigaction(SIGINT, &usual, NULL);
    sigprocmask(SIG_SETMASK, before, NULL);
}

/* Fills in the launcher's inputs beside the operations. */
static void fill_launch(struct run *run)
{
    const struct loaded *loaded = &run->loaded;
    struct launch *launch = &run->launch;
    launch->operations = &loaded->plan.operations;
    launch->policy = loaded->request.full_access ? NULL : policy_for_inside(loaded);
    launch->environment = command_environment(&run->caller, loaded, launch->policy != NULL);
    launch->directory = policy_start(&loaded->policy);
    launch->git_config = git_settings(&loaded->policy);
    briefing_add(&loaded->plan, run->request.review || run->request.discard, &run->briefing);
    launch->briefing = buf_text(&run->briefing);
    launch->command = run->request.trial_state ? run->request.trial_command
                                               : command_words(&run->request, loaded, launch->briefing);
    const struct rule *time = decide_limit(&loaded->policy, LIMIT_TIME, NULL).decides;
    launch->seconds = time ? time->limit.most : UINT64_MAX;
}

/* Phases 3 to 7. */
static void carry_out_plan(struct run *run)
{
    const struct trace trace = run->caller.trace;
    struct outcome outcome = {.status = EXIT_REFUSED};
    struct err err = {0};
    fill_launch(run);
    int prepared = run_prepare(run, &err);
    trace_point(trace, "outside", "what the child needs to find");
    if (prepared == 0)
        prepared = fs_check(&run->loaded.fs, &err);
    if (prepared == 0)
        prepared = launch_start(&run->launch, &run->launched, &err);
    else
        launch_abandon(&run->launched);
    trace_point(trace, "outside", "the plan is handed over");
    if (prepared == 0 && (prepared = run_start(run, &err)) < 0)
        launch_abandon(&run->launched);
    trace_point(trace, "outside", "all that stands by");
    block_ending_signals(&run->signals);
    run->has_signals = true;
    if (prepared == 0) {
        prepared = supervise(&run->launch, &run->launched, &run->loop, &run->guard.standstill,
                             &run->guard.tripwires, &outcome, &err);
        trace_point(trace, "outside", "the command has ended");
    }
    if (prepared < 0)
        run_failed(run, &err);
    run_journal_limits(run, &outcome);
    launch_release(&run->launched,
                   run->home.seeds_fd >= 0); /* its mounts have their layers until it is gone */
    run_end(run, outcome);
    run->is_interrupted = outcome.is_interrupted;
}

/* Phase 0, for --branch: the command writes a worktree and reads the checkout. Returns 0, or the exit status. */
static int enter_branch(struct run *run)
{
    struct run_request *request = &run->request;
    struct caller *caller = &run->caller;
    struct branch branch;
    int status = branch_open(caller, request, &run->launch, &run->arena, &branch);
    if (status)
        return status;
    const char *inner =
        path_is_beneath(caller->directory, branch.workspace)
            ? arena_printf(&run->arena, "%s%s", branch.tree, caller->directory + strlen(branch.workspace))
            : branch.tree;
    struct stat folder;
    caller->directory = stat(inner, &folder) == 0 && S_ISDIR(folder.st_mode) ? inner : branch.tree;
    struct argument *rules = arena_alloc(&run->arena, (request->rule_count + 2) * sizeof(*rules));
    if (request->rule_count)
        memcpy(rules, request->rules, request->rule_count * sizeof(*rules));
    rules[request->rule_count++] = (struct argument){VERB_WORKSPACE, branch.tree};
    rules[request->rule_count++] = (struct argument){VERB_READ, branch.workspace};
    request->rules = rules;
    return 0;
}

/* Phase 1. */
static void begin_child(struct run *run)
{
    const struct run_request *request = &run->request;
    struct launch *launch = &run->launch;
    launch->nested = request->nested;
    launch->log_exec = request->log_exec;
    launch->probably_no_names = asks_for_network(request, "off");
    launch->probably_host_network = asks_for_network(request, "open");
    launch->cgroup_place = &run->machine.cgroup;
    launch->trace = run->caller.trace;
    command_find_terminal(launch);
    if (!request->full_access) /* which keeps the host's root: its child starts in phase 4 */
        launch_begin(launch, &run->launched);
    trace_point(run->caller.trace, "outside", "the child is started");
}

/* Inside bawn, its filter refuses the namespaces of a second one, also with --nested. */
static bool is_inside_bawn(const struct caller *caller)
{
    return text_equal(caller_variable(caller, "BAWN"), "1") && process_is_filtered();
}

void run_command(const struct caller *caller, const struct run_request *request, struct run *ret_run)
{
    struct run *run = ret_run;
    *run = (struct run){.caller = *caller, .request = *request, .launched = LAUNCHED_NONE};
    run->result.summary.status = EXIT_REFUSED;
    run->launch.own_arguments = *request->typed;
    run->launch.own_arguments_size = size_of_typed(request);
    if (is_inside_bawn(caller)) {
        caller_say(caller, "already inside bawn, which makes no second sandbox",
                   "run the command without bawn in front: the sandbox around this one holds it too. Whoever "
                   "needs other rules starts bawn outside");
        return;
    }
    int status = request->branch ? enter_branch(run) : 0;
    if (status) {
        run->result.summary.status = status;
        return;
    }
    caller->look_at_machine(request->degraded, &run->machine);
    run->caller.machine = &run->machine;
    begin_child(run);
    status = load_plan(&run->caller, &run->request, &run->loaded);
    trace_point(caller->trace, "outside", "policy and plan");
    if (status || !can_enforce(caller, &run->loaded))
        return;
    say_notes(caller, &run->loaded);
    run->result.loaded = &run->loaded;
    carry_out_plan(run);
}

void run_finish(struct run *run)
{
    changed_free(&run->result.changed);
    home_files_free(&run->result.left);
    if (run->has_guard)
        tripwires_free(&run->guard.tripwires);
    if (run->has_network)
        network_free(&run->network);
    if (run->has_signals)
        unblock_signals(&run->signals);
    trace_point(run->caller.trace, "outside", "the end of it");
    if (run->is_interrupted)
        kill(0, SIGINT); /* Ctrl-C is for the whole job: a shell loop around bawn ends too */
    launch_abandon(&run->launched);
    buf_free(&run->briefing);
    amendments_free(&run->amendments);
    loaded_free(&run->loaded);
    arena_free(&run->arena);
}
