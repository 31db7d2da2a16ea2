/*
 * Phases 3, 5 and 7 of a run; run.c has the theory of operation.
 *
 * run_end follows the dependencies. The guard ends first, so that no stub is in the workspace when the capture ends.
 * Flagged files are held aside before the capture ends, so that the record has the state after that. The home closes
 * after both, because git runs with it. Journal and session end last, and then everything is said that was found: a pipe that
 * nobody reads blocks no part of the end. A part that was not begun is skipped.
 */
#include <inttypes.h>
#include <poll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "hold/hold.h"
#include "home/home.h"
#include "outside/outside.h"
#include "report/messages.h"
#include "session/bare.h"
#include "session/caller.h"
#include "session/hook.h"
#include "session/run_parts.h"
#include "session/tell_person.h"
#include "session/upkeep.h"
#include "supervise/helper.h"

/*
 * If the session has no folder, the run goes on without a journal, and the user is told. Fails only if the
 * caller could not take the name of the session.
 */
static int begin_session(struct run *run, struct err *err)
{
    const struct loaded *loaded = &run->loaded;
    struct arena *arena = loaded->policy.arena;
    const char *state =
        run->request.trial_state ? run->request.trial_state : loaded->request.starts[START_STATE];
    const char *workspace =
        loaded->policy.workspaces.count ? loaded->policy.workspaces.at[0].path : loaded->request.directory;
    struct session *session = &run->session;
    struct err why = {0};
    if (session_begin(arena, state, workspace, session, &why) < 0 ||
        outside_record(state, &loaded->plan, &why) < 0)
        caller_say_err(&run->caller, &why);
    control_announce(session->folder_fd);
    run_journal_start(run, workspace);
    return run->request.begun && session->name ? run->request.begun(run->request.watcher, session->name, err)
                                               : 0;
}

static void report_home(struct run *run, const struct err *err)
{
    journal_event(&run->session.journal, "home", "why", err->message);
    caller_say_err(&run->caller, err);
}

/* Opens and fills the home. A failure to fill it is only reported. */
static int begin_home(struct run *run, struct err *err)
{
    const struct loaded *loaded = &run->loaded;
    struct home *home = &run->home;
    struct session *session = &run->session;
    if (home_open(loaded->policy.arena, &loaded->plan, session, home, err) < 0)
        return -1;
    if (home_fill(loaded->policy.arena, &loaded->plan, session, home, err) < 0)
        report_home(run, err);
    if (seed_begin(loaded->policy.arena, &loaded->plan, &run->amendments, session, home, err) < 0)
        report_home(run, err);
    home->sync.changed = vault_login_changed;
    home->sync.context = &run->vault;
    if (home->sync.fd >= 0)
        loop_add(&run->loop, home->sync.fd, POLLIN, sync_ready, &home->sync);
    if (home->sync.timer_fd >= 0)
        loop_add(&run->loop, home->sync.timer_fd, POLLIN, sync_due, &home->sync);
    run->launch.home = home->path;
    return 0;
}

static void note_refused_request(void *self, const char *host, const char *port, const char *sentence)
{
    helper_note_refused(self, host, port, sentence);
}

static int begin_network(struct run *run, struct err *err)
{
    struct network *network = &run->network;
    if (network_prepare(&run->loaded.plan, run->caller.environment, &run->session.journal, network, err) <
        0) {
        network_free(network);
        return -1;
    }
    run->has_network = true;
    network->vault_fd = run->vault.egress_fd;
    network->placeholders = vault_placeholder_lines(&run->vault);
    network->leaks = leaks_plain_lines(&run->vault);
    network->misused = vault_note_misused;
    network->leaked = leaks_note;
    network->misused_self = &run->vault;
    run->vault.refused = note_refused_request;
    run->vault.refused_self = network;
    network->rate_fd = run->request.rate_fd;
    /* A warden that starts now judges hostile calls: if it is taken over, it must have no way to the vault. */
    const int links[] = {run->vault.front_fd, run->vault.back_fd, run->vault.egress_fd,
                         run->vault.waiting_fd};
    for (size_t i = 0; i < array_len(links); i++) {
        if (links[i] >= 0)
            vec_push(&network->host_fds, links[i]);
    }
    run->launch.host_fds = network->host_fds.at;
    run->launch.host_fd_count = network->host_fds.count;
    return 0;
}

static int begin_guard(struct run *run, struct err *err)
{
    struct arena *arena = run->loaded.policy.arena;
    run->guard.hold = (struct hold){
        .arena = arena,
        .plan = &run->loaded.plan,
        .amendments = &run->amendments,
        .session = &run->session,
        .stubs = stubs_in(arena, run->loaded.request.starts[START_STATE]),
        .modes = modes_in(arena, run->loaded.request.starts[START_STATE]),
    };
    run->guard.execs = &run->execs;
    run->has_guard = true;
    if (guard_begin(&run->guard, &run->launch, &run->launched, &run->loop, err) < 0)
        return -1;
    return 0;
}

/*
 * Must the capture begin before the plan is handed over? It must where what is written goes elsewhere, since the child has to be told
 * where, and where bawn itself puts something into the session or the workspace, or changes modes there:
 * without namespaces it freezes so. Only the snapshot of a live run may be taken while the child raises its
 * walls.
 */
static bool captures_before_launch(const struct run *run)
{
    const struct run_request *request = &run->request;
    const struct plan *plan = &run->loaded.plan;
    bool is_live = !request->review && !request->discard && !request->nested && !request->branch;
    bool makes = hold_needs_stub(plan);
    bool changes_modes = plan->request.on == ON_LANDLOCK;
    for (size_t i = 0; !makes && i < plan->operations.count; i++) {
        const struct operation *operation = &plan->operations.at[i];
        makes = operation->make || (changes_modes && operation->kind == OP_FREEZE && !operation->missing);
    }
    return !is_live || makes || home_needs_session(plan);
}

static int begin_capture(struct run *run, struct err *err)
{
    if (run->session.folder_fd < 0 && begin_session(run, err) < 0)
        return -1;
    if (run->request.trial_state && !run->request.discard)
        return 0;
    int result = capture_begin(&run->caller, &run->loaded, &run->amendments, &run->session, &run->request,
                               &run->capture, err);
    struct past past = capture_past(run->loaded.policy.arena, run->capture);
    /* Without namespaces nothing connects to a socket of the host. */
    if (result == 0 && run->loaded.plan.request.on == ON_NAMESPACES)
        result = sockets_hide(&run->amendments, run->loaded.policy.arena, &past, err);
    return result;
}

/* The control socket opens after this delay: most commands have ended by then and need not pay for it. */
enum { LATER_MILLISECONDS = 20 };

static void set_timer(const struct run *run, long nanoseconds)
{
    struct itimerspec time = {.it_value = {.tv_nsec = nanoseconds}};
    if (run->later_fd >= 0)
        timerfd_settime(run->later_fd, 0, &time, NULL);
}

/* Until process 1 has handed its sockets over, questions wait in there. Returns whether it has to be tried again. */
static bool listen_inside(struct run *run)
{
    struct err ignored;
    int *handed = run->launched.handed;
    if (!run->launch.policy && !run->signing.plan && !run->forging.plan)
        return false;
    if (launch_take_handed(&run->launched, false, &ignored) == 0)
        return true;
    if (handed[HANDED_QUESTIONS] >= 0)
        asking_listen(&run->asking, fd_take(&handed[HANDED_QUESTIONS]));
    if (handed[HANDED_KEYS] >= 0)
        signing_listen(&run->signing, fd_take(&handed[HANDED_KEYS]));
    return false;
}

/* Runs twice: the plan is recorded while the command begins; the control socket is opened a moment later. */
static int do_later(void *self, short events, struct err *err)
{
    (void)events;
    (void)err;
    struct run *run = self;
    if (!run->has_plan_recorded) {
        run_journal_plan(run);
        set_timer(run, LATER_MILLISECONDS * 1000000L);
        return 0;
    }
    if (listen_inside(run)) {
        set_timer(run, LATER_MILLISECONDS * 1000000L);
        return 0;
    }
    loop_remove(&run->loop, run->later_fd);
    run_retire_sessions(run);
    const struct control_parts parts = {&run->network, &run->asking, &run->guard.standstill, &run->loop};
    control_open(&run->control, run->session.folder_fd, &parts);
    return 0;
}

int run_prepare(struct run *run, struct err *err)
{
    run->session = SESSION_NONE;
    run->home = HOME_NONE;
    run->foreground = FOREGROUND_NONE;
    run->foreground.launch = &run->launch;
    run->foreground.launched = &run->launched;
    run->foreground.loop = &run->loop;
    run->control = CONTROL_NONE;
    run->asking = ASKING_NONE;
    run->signing = SIGNING_NONE;
    run->checkpoints = CHECKPOINTS_NONE;
    run->disk = DISK_NONE;
    run->execs = EXECS_NONE;
    run->guarded = GUARDED_NONE;
    run->learning.listener_fd = -1;
    run->launch.amendments = &run->amendments;
    run->later_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (run->later_fd >= 0)
        loop_add(&run->loop, run->later_fd, POLLIN, do_later, run);
    clock_gettime(CLOCK_MONOTONIC, &run->began);
    /* Its folder has the command's temporary files. */
    if (run->loaded.plan.request.on == ON_LANDLOCK && begin_session(run, err) < 0)
        return -1;
    if (captures_before_launch(run) && begin_capture(run, err) < 0)
        return -1;
    run->refuses_outside = run_check_outside(run, err) < 0;
    return run->refuses_outside || bare_make_scratch(run, err) < 0 || outside_begin(run, err) < 0 ||
                   begin_network(run, err) < 0 || begin_home(run, err) < 0 || bare_prepare(run, err) < 0 ||
                   begin_guard(run, err) < 0 || capture_add_places(&run->guard.hold, run->capture, err) < 0
               ? -1
               : 0;
}

/* What happens in a flagged place of the host during --review or --discard is the user's own doing. */
static int begin_flags(struct run *run, struct err *err)
{
    bool keeps_aside = run->request.review || run->request.discard;
    if (keeps_aside && !run->request.trial_tree)
        return 0;
    run->asker = (struct git_asker){.caller = &run->caller, .launch = &run->launch};
    run->flags = (struct flags){.hold = &run->guard.hold,
                                .past = capture_past(run->loaded.policy.arena, run->capture),
                                .versions = {.ask = ask_git, .context = &run->asker},
                                .only = run->request.trial_tree};
    run->has_flags = true;
    flags_begin(&run->flags);
    flags_read(&run->flags);
    if (run->flags.before.trouble)
        return err_sys(err, run->flags.before.trouble, "cannot read the flagged files of the workspace");
    return fs_check(&run->loaded.fs, err);
}

static int take_checkpoint(void *self, struct err *err)
{
    const struct run *run = self;
    return capture_checkpoint(run->capture, err);
}

static int begin_checkpoints(struct run *run, struct err *err)
{
    uint64_t seconds = run->request.checkpoint_seconds;
    if (!seconds || !run->capture)
        return 0;
    run->checkpoints.loop = &run->loop;
    run->checkpoints.journal = &run->session.journal;
    run->checkpoints.take = take_checkpoint;
    run->checkpoints.context = run;
    return checkpoints_begin(&run->checkpoints, seconds, err);
}

/* Reports failures now, because the command had the terminal until its end. */
static void end_checkpoints(struct run *run)
{
    struct checkpoints *checkpoints = &run->checkpoints;
    checkpoints_end(checkpoints);
    if (checkpoints->has_any)
        capture_has_checkpoints(run->capture);
    if (checkpoints->failures)
        caller_say(&run->caller,
                   arena_printf(run->loaded.policy.arena,
                                "%" PRIu64 " checkpoint%s could not be taken, the last one because: %s",
                                checkpoints->failures, checkpoints->failures == 1 ? "" : "s",
                                checkpoints->failure.message),
                   checkpoints->failure.hint);
}

/*
 * The snapshot is taken while the child raises its walls. The child was not told of what it amends, a socket
 * of the host that is to be hidden: that is hidden from outside, before the command begins.
 */
static int capture_after_launch(struct run *run, struct err *err)
{
    size_t known = amended_count(run->launch.operations, &run->amendments);
    if (begin_capture(run, err) < 0)
        return -1;
    if (amended_count(run->launch.operations, &run->amendments) == known)
        return 0;
    return launch_hide_late(&run->launch, &run->launched, known, err);
}

/* Without the listener, whatever the command executes would wait for ever. */
static int begin_execs(struct run *run, struct err *err)
{
    bool has_guards =
        guarded_begin(&run->guarded, &run->loaded.policy, &run->asking, &run->session.journal, &run->loop);
    if (!run->launch.log_exec && !has_guards && !run->launch.learns)
        return 0;
    int taken = launch_take_handed(&run->launched, true, err);
    if (taken <= 0)
        return taken;
    int listener = fd_take(&run->launched.handed[HANDED_LISTENER]);
    int told = fd_take(&run->launched.handed[HANDED_TOLD]);
    if (run->launch.learns) {
        learning_begin(&run->learning, told < 0 ? listener : told, told >= 0, &run->loaded.plan.operations,
                       run->loaded.request.starts[START_CACHE], &run->loop);
        run->learning.places =
            (struct learning_places){run->loaded.request.home, run->home.path, run->launch.scratch};
        return 0;
    }
    struct execs_wanted wanted = {
        .listener_fd = listener,
        .told_fd = told,
        .command = command_text(run->loaded.policy.arena, run->request.command),
        .records = run->launch.log_exec,
        .guarded = has_guards ? &run->guarded : NULL,
    };
    execs_begin(&run->execs, &wanted, &run->session.journal, &run->loop);
    return 0;
}

int run_start(struct run *run, struct err *err)
{
    if (hold_read(&run->guard.hold, err) < 0)
        return -1;
    if (!run->capture && capture_after_launch(run, err) < 0)
        return -1;
    if (begin_checkpoints(run, err) < 0 || run_begin_disk(run, err) < 0)
        return -1;
    if (begin_flags(run, err) < 0)
        return -1;
    asking_begin(&run->asking, &run->network, &run->session.journal, &run->loop,
                 run->loaded.plan.request.asks);
    run_begin_granting(run);
    run_watch_settings(run);
    tell_begin(run);
    forging_begin(&run->forging, &run->loaded.plan, run->caller.environment, &run->session.journal,
                  &run->loop);
    run->asking.forging = run->forging.plan ? &run->forging : NULL;
    run_set_alarms(run);
    if (signing_begin(&run->signing, &run->loaded.plan, run->caller.environment, &run->asking, err) < 0)
        return -1;
    network_watch(&run->network, &run->launched, &run->loop);
    vault_watch(&run->vault, &run->loop);
    if (begin_execs(run, err) < 0)
        return -1;
    run_name_others(run);
    set_timer(run, 1);
    return 0;
}

void run_failed(struct run *run, const struct err *err)
{
    struct err why;
    if (run->session.folder_fd < 0 && begin_session(run, &why) < 0)
        caller_say_err(&run->caller, &why);
    journal_event(&run->session.journal, "failed", "why", err->message);
    caller_say_err(&run->caller, err);
}

/* Reports what was done to the user's files, or failed. This is said even if no person reads. */
static void end_guard(struct run *run)
{
    struct hold *hold = &run->guard.hold;
    guard_end(&run->guard);
    for (size_t i = 0; i < hold->notices.count; i++)
        caller_say(&run->caller, hold->notices.at[i], NULL);
    vec_free(&hold->notices);
}

static void end_home(struct run *run, struct home_files *ret_left)
{
    const struct home *home = &run->home;
    struct err err = {0};
    *ret_left = (struct home_files){0};
    if (home->fd >= 0 && run->caller.speaker->is_read && !home->is_fresh)
        home_files_find_new(&run->loaded.plan, home, ret_left);
    if (home_close(&run->home, &run->session, &err) < 0)
        caller_say_err(&run->caller, &err);
    if (bare_remove(&run->session, &err) < 0)
        caller_say_err(&run->caller, &err);
}

void run_end(struct run *run, struct outcome outcome)
{
    struct run_result *result = &run->result;
    const struct caller *caller = &run->caller;
    const struct speaker *speaker = caller->speaker;
    struct later later;
    run->network.noticed = NULL; /* the summary has it */
    network_servers(&run->network, &result->servers);
    run->caller.speaker = later_begin(&later, speaker);
    result->summary = (struct run_summary){
        .plan = &run->loaded.plan,
        .session = run->session.name,
        .status = outcome.status,
        .milliseconds = (uint64_t)milliseconds_since(run->began),
        .changed = &result->changed,
        .used = &run->network.used,
        .refused = &run->network.refused,
        .unreachable = &run->network.unreachable,
        .fired = &run->guard.tripwires.fired,
        .misused = &run->vault.misused,
        .leaked = &run->vault.leaked,
        .refused_keys = &run->signing.refused,
        .servers = &result->servers,
        .left = &result->left,
    };
    control_remove(run->session.folder_fd); /* nobody would answer there from now on */
    control_close(&run->control);
    granting_settle(&run->asking.granting);
    end_checkpoints(run);
    disk_end(&run->disk);
    if (run->has_guard)
        end_guard(run);
    bare_end_branch(run);
    if (run->has_flags) {
        flags_find(&run->flags);
        result->summary.held =
            flagged_decide(caller, &run->flags, run->request.keep_flagged, outcome.status < 128);
    }
    execs_end(&run->execs);
    guarded_end(&run->guarded);
    if (run->learning.listener_fd >= 0)
        run_learn_variables(run);
    learning_end(&run->learning, &run->session.journal);
    asking_end(&run->asking);
    tell_settled(run);
    forging_end(&run->forging);
    signing_end(&run->signing);
    if (run->later_fd >= 0)
        close(run->later_fd);
    loop_free(&run->loop);
    if (run->has_network)
        network_end(&run->network);
    if (run->has_vault)
        vault_end(&run->vault);
    result->summary.refused_in_all = run->network.refused_in_all;
    struct flags *flags = run->has_flags ? &run->flags : NULL;
    struct capture_result captured = capture_end(run->capture, flags);
    result->changed.mode = captured.mode;
    result->changed.count = captured.changes;
    if (captured.lacks_changes)
        result->summary.status = EXIT_REFUSED;
    if (flags) {
        flagged_say_sightings(caller, flags);
        flags_free(flags);
    }
    if (run->has_guard)
        hold_free(&run->guard.hold);
    end_home(run, &result->left);
    if (run->request.wants_changes)
        changed_find(&run->loaded, run->session.folder_fd, &result->changed);
    pruning_by_count(&run->caller, &run->loaded, &run->session);
    run_retire_sessions(run);
    run_journal_end(run, &outcome, result->summary.milliseconds, result->changed.count);
    if (captured.is_unfinished)
        session_leave(&run->session);
    else
        session_end(&run->session);
    run->caller.speaker = speaker;
    later_end(&later);
}
