/*
 * Theory of operation
 *
 * A run goes through these phases:
 *
 *   0. enter_branch  with --branch only: makes the worktree and adds rules to the request.
 *   1. begin_child   starts the child, which makes its namespaces while the policy is read.
 *   2. make_plan     makes the plan; a plan that cannot be enforced here is refused. A request may wait here for its turn.
 *   3. run_prepare   begins network, home and guard; also session and capture, if the plan refers to them.
 *   4. launch_start  hands operations and amendments to the child, which raises its walls.
 *   5. run_start     meanwhile: begins session and capture if phase 3 did not, then checkpoints and flags.
 *   6. supervise     lets the child run the command, and serves the event loop until it ends.
 *   7. run_end       ends everything that was begun, in a fixed order, and fills in the result. Process 1 is released before it,
 *                    but after it where it frees what run_end removes: see frees_directories.
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
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "base/text.h"
#include "home/home.h"
#include "kernel/landlock.h"
#include "kernel/probe.h"
#include "kernel/process.h"
#include "policy/decide.h"
#include "report/messages.h"
#include "session/branch.h"
#include "session/run_parts.h"

/* Shows the plan's notes to a person. In a pipe bawn adds no byte, unless it gives up something that nobody told it to. */
static void say_notes(const struct caller *caller, const struct run_request *request,
                      const struct loaded *loaded)
{
    vec_each (const struct note, note, &loaded->plan.notes) {
        bool is_wanted = caller->speaker->is_read || note->is_said_always || (note->is_loss && !request->on);
        if (is_wanted && !(note->is_said_once && run_has_said(loaded, note->text)))
            caller_note(caller, arena_printf(loaded->policy.arena, "note: %s", note->text), NULL);
    }
}

/* ~/.config/bawn/start-line says `off`. No policy can: a repository's could silence it. */
static bool start_is_silenced(const struct loaded *loaded)
{
    enum { SETTING_LARGEST = 64 };
    const char *text = load_settings(loaded, "start-line", SETTING_LARGEST);
    return text && strncmp(text, "off", 3) == 0;
}

/* One line on a terminal, before the command begins: what it may write and reach. */
static void say_start(const struct caller *caller, const struct run_request *request,
                      const struct loaded *loaded)
{
    if (!caller->speaker->is_read || caller->speaker->is_quiet || start_is_silenced(loaded))
        return;
    auto_buf struct buf line = {0};
    run_start_add(&loaded->plan, *request->command, request->review || request->discard, &line);
    caller_note(caller, arena_str(loaded->policy.arena, buf_text(&line)), NULL);
    const char *named = loaded->policy.workspaces.count ? policy_first_named(&loaded->policy) : NULL;
    if (named && !request->read_only && access(named, W_OK) < 0)
        caller_note(
            caller,
            arena_printf(
                loaded->policy.arena,
                "note: you cannot write the directory %s itself, so the command cannot either",
                style_path(&(struct style){.home = loaded->request.home}, loaded->policy.arena, named)),
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

/* The flag of the request that only namespaces can carry out, or NULL. */
static const char *flag_for_namespaces(const struct run_request *request)
{
    return request->nested ? "--nested" : NULL;
}

/* Says what of the request or of the plan needs namespaces, which this run does without. */
static bool needs_namespaces(const struct caller *caller, const struct run_request *request,
                             struct loaded *loaded)
{
    const char *why, *flag = flag_for_namespaces(request);
    if (loaded->plan.request.on == ON_LANDLOCK && flag) {
        caller_say(caller, arena_printf(&loaded->arena, "%s needs namespaces, and this run has none", flag),
                   "`bawn doctor` shows how to get them; or leave the flag out");
        return true;
    }
    const struct operation *net = operations_find(&loaded->plan.operations, OP_NET);
    if (loaded->plan.request.on == ON_LANDLOCK && net && strcmp(net->value, "off") != 0 &&
        landlock_abi() < LANDLOCK_ABI_WITH_TCP) {
        caller_say(caller,
                   "a network without namespaces needs Linux 6.7, whose Landlock has rules for connections",
                   "pass --net off; or `bawn doctor` shows how to get namespaces");
        return true;
    }
    const struct operation *unheld =
        plan_unheld_on_landlock(&loaded->plan, request->review || request->discard, &why);
    if (!unheld)
        return false;
    const char *object = unheld->path    ? unheld->path
                         : unheld->value ? unheld->value
                         : unheld->name  ? unheld->name
                                         : "";
    caller_say(caller,
               arena_printf(&loaded->arena, "walls without namespaces cannot hold `%s%s%s`: %s",
                            operation_name(unheld->kind), *object ? " " : "", object, why),
               "`bawn doctor` shows how to get namespaces; or leave the rule out");
    return true;
}

/* A run can have one seccomp listener. If that reports paths, guarded commands would run unasked. */
static bool learns_beside_guards(const struct caller *caller, const struct run_request *request,
                                 const struct loaded *loaded)
{
    if (!request->learns || !operations_find(&loaded->plan.operations, OP_GUARD))
        return false;
    caller_say(caller, "`bawn learn` cannot run beside a `guard` rule",
               "`bawn show --all` names the rule; take it out while you learn");
    return true;
}

/* Can this machine enforce the seals and limits of the plan? If not, says why. */
static bool can_enforce(const struct caller *caller, const struct run_request *request, struct loaded *loaded)
{
    if (needs_namespaces(caller, request, loaded) || learns_beside_guards(caller, request, loaded))
        return false;
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
    const char *why;
    const struct operation *unheld = plan_unheld_limit(&loaded->plan, &why);
    if (unheld) {
        caller_say(
            caller,
            arena_printf(&loaded->arena, "limit %s cannot be enforced: %s", unheld->because->written, why),
            "leave the limit out");
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
    launch->git_config = git_settings(&loaded->plan);
    briefing_add(&loaded->plan, run->request.review || run->request.discard, &run->briefing);
    launch->briefing = buf_text(&run->briefing);
    launch->command = run->request.trial_state ? run->request.trial_command
                                               : command_words(&run->request, loaded, launch->briefing);
    const struct rule *time = decide_limit(&loaded->policy, LIMIT_TIME, NULL).decides;
    launch->seconds = time ? time->limit.most : UINT64_MAX;
    if (run->request.learn_seconds && run->request.learn_seconds < launch->seconds)
        launch->seconds = run->request.learn_seconds;
}

/* The command itself is executed from process 1's memory, which nobody can read: its path is noted here. */
static void note_missing_command(struct run *run)
{
    const struct fs_place *place = policy_find_command(&run->loaded.policy, *run->request.command);
    struct want *want =
        run->learning.listener_fd >= 0 && place
            ? wants_note(&run->learning.wants, WANT_EXECUTE, place->real, 0, *run->request.command)
            : NULL;
    if (want)
        want_note_ending(want, WANT_FAILED);
}

/* Published ports of the host are taken until run_finish. */
static void tell_ended(const struct run *run)
{
    if (run->request.ended && !operations_find(&run->loaded.plan.operations, OP_PUBLISH))
        run->request.ended(run->request.watcher);
}

/* Does run_end remove directories that process 1 or the warden is to free? (launch_leave) */
static bool frees_directories(struct run *run)
{
    bool retires = run->session.tidies_up && !run->has_retired_sessions;
    if (run->launched.is_bare) /* it has the directories of temporary files open */
        return true;
    return run->home.seeds_fd < 0 && /* the mounts of a seed have their layers until it is gone */
           (capture_leave_layers(run->capture, &run->launched) || retires);
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
        prepared = supervise(&run->foreground, &run->guard.standstill, &run->guard.tripwires,
                             &run->network.localhost, &outcome, &err);
        run->launched.has_ended = prepared == 0;
        trace_point(trace, "outside", "the command has ended");
        tell_ended(run);
        if (run->caller.speaker->command_ended)
            run->caller.speaker->command_ended(run->caller.speaker);
    }
    if (prepared < 0 && outcome.status == STATUS_NOT_FOUND)
        run_explain_missing(run, &err);
    /* Landlock hides no name: what is not granted is there, and cannot be executed. */
    if (prepared < 0 && (outcome.status == STATUS_NOT_FOUND ||
                         (outcome.status == STATUS_NOT_EXECUTABLE && run->launched.is_bare)))
        note_missing_command(run);
    if (prepared < 0)
        run_failed(run, &err);
    run_journal_limits(run, &outcome);
    /* Without a pid namespace, every process that is left counts as the command's: bawn's own helpers must have ended before. */
    if (run->launched.is_bare && run->has_network)
        network_end(&run->network);
    if (run->launched.is_bare && !run->launched.has_ended && run->has_vault)
        vault_end(&run->vault);
    bool is_left_for_later = run->launched.has_ended && frees_directories(run);
    if (!is_left_for_later)
        launch_release(&run->launched, run->home.seeds_fd >= 0);
    run_end(run, outcome);
    if (is_left_for_later)
        launch_release(&run->launched, false);
    run->is_interrupted = outcome.is_interrupted;
    run->passed_on = outcome.passed_on;
}

/* Phase 0, for --branch: the command writes a worktree and reads the checkout. Returns 0, or the exit status. */
static int enter_branch(struct run *run)
{
    struct run_request *request = &run->request;
    struct caller *caller = &run->caller;
    struct branch *branch = &run->branch;
    int status = branch_open(caller, request, &run->launch, &run->arena, branch);
    if (status)
        return status;
    request->branch = branch->name;
    const char *inner =
        path_is_beneath(caller->directory, branch->workspace)
            ? arena_printf(&run->arena, "%s%s", branch->tree, caller->directory + strlen(branch->workspace))
            : branch->tree;
    struct stat folder;
    caller->directory = stat(inner, &folder) == 0 && S_ISDIR(folder.st_mode) ? inner : branch->tree;
    struct argument *rules = arena_alloc(&run->arena, (request->rule_count + 2) * sizeof(*rules));
    if (request->rule_count)
        memcpy(rules, request->rules, request->rule_count * sizeof(*rules));
    rules[request->rule_count++] = (struct argument){VERB_WORKSPACE, branch->tree};
    rules[request->rule_count++] = (struct argument){VERB_READ, branch->workspace};
    request->rules = rules;
    return 0;
}

/*
 * Can this machine make no namespaces? Asked when the policy is read: by then the child that was started
 * ahead mostly has its own. Real root starts none; with all its rights it can, unless something else forbids
 * it.
 */
static bool lacks_namespaces(void *self)
{
    struct run *run = self;
    if (run->request.on) /* bawn's own calls of git have the same walls */
        return *run->request.on == ON_LANDLOCK;
    if (run->namespaces != NAMESPACES_UNKNOWN)
        return run->namespaces == NAMESPACES_LACKING;
    bool has_child = run->launched.pid > 0 && !run->launched.is_bare; /* a warden tells nothing */
    bool has = has_child ? launch_has_namespaces(&run->launched)
                         : run->machine.is_root && process_may_administrate();
    if (!has && has_child)
        launch_abandon(&run->launched);
    if (!has)
        has = probe_namespaces();
    run->namespaces = has ? NAMESPACES_THERE : NAMESPACES_LACKING;
    return !has;
}

/* Without random bytes the decoys are as they are, and have no canary. */
static void begin_canary(struct run *run)
{
    unsigned char random[CANARY_RANDOM];
    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return;
    canary_make(random, &run->canary);
    run->launch.canary = &run->canary;
}

/* Phase 1. */
static void begin_child(struct run *run)
{
    const struct run_request *request = &run->request;
    struct launch *launch = &run->launch;
    launch->nested = request->nested;
    launch->log_exec = request->log_exec;
    launch->learns = request->learns;
    launch->probably_no_names = asks_for_network(request, "off");
    launch->probably_host_network = asks_for_network(request, "open");
    launch->cgroup_place = &run->machine.cgroup;
    launch->trace = run->caller.trace;
    begin_canary(run);
    command_find_terminal(launch);
    bool is_bare = request->on ? *request->on == ON_LANDLOCK : run->namespaces == NAMESPACES_LACKING;
    if (!request->full_access) /* its child is started in phase 4 */
        launch_begin(launch, is_bare, &run->launched);
    trace_point(run->caller.trace, "outside", "the child is started");
}

/*
 * Phase 2. A request that waits for its turn waits here: nothing has begun that another run, or a person, could notice. What there is to
 * say is said when its turn has come. Returns 0 if the plan can be carried out, or the exit status.
 */
static int make_plan(struct run *run, const struct speaker *speaker)
{
    const struct run_request *request = &run->request;
    struct later later;
    if (request->may_begin)
        run->caller.speaker = later_begin(&later, speaker);
    int status = load_plan(&run->caller, request, &run->loaded);
    if (status == 0 && !can_enforce(&run->caller, request, &run->loaded))
        status = EXIT_REFUSED;
    trace_point(run->caller.trace, "outside", "policy and plan");
    if (!request->may_begin)
        return status;
    run->caller.speaker = speaker;
    if (request->may_begin(request->watcher)) {
        later_end(&later);
        return status;
    }
    later_drop(&later);
    return EXIT_REFUSED;
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
        caller_say(caller, "already inside bawn: a second sandbox cannot be made here",
                   "run the command without bawn: this sandbox applies to it, too. For other rules, start "
                   "bawn outside");
        return;
    }
    caller->look_at_machine(request->degraded, &run->machine);
    run->caller.machine = &run->machine;
    run->caller.lacks_namespaces = lacks_namespaces;
    run->caller.namespaces_context = run;
    int status = request->branch ? enter_branch(run) : 0;
    if (status == 0) {
        begin_child(run);
        status = make_plan(run, caller->speaker);
    }
    if (status) {
        launch_abandon(&run->launched); /* nothing of a refused run is left when this returns */
        branch_abandon(&run->branch, &run->arena);
        run->result.summary.status = status;
        return;
    }
    say_start(caller, &run->request, &run->loaded);
    say_notes(caller, &run->request, &run->loaded);
    run->result.loaded = &run->loaded;
    carry_out_plan(run);
}

void run_finish(struct run *run)
{
    changed_free(&run->result.changed);
    home_files_free(&run->result.left);
    vec_free(&run->result.servers);
    if (run->has_guard)
        tripwires_free(&run->guard.tripwires);
    if (run->has_network)
        network_free(&run->network);
    if (run->has_vault)
        vault_free(&run->vault);
    signing_free(&run->signing);
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
