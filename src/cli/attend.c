#include "cli/attend.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "cli/chronicle.h"
#include "cli/hook.h"
#include "cli/keep.h"
#include "cli/left.h"
#include "cli/settle.h"
#include "cli/style.h"
#include "cli/summary.h"
#include "cli/tripped.h"
#include "home/seed.h"

/* Without a place for the journal the run goes on, and the user is told. */
static void begin_session(struct attendance *attendance)
{
    const struct loaded *loaded = attendance->loaded;
    struct arena *arena = loaded->policy.arena;
    const char *state =
        attendance->trial_state ? attendance->trial_state : loaded->request.starts[START_STATE];
    const char *workspace =
        loaded->policy.workspaces.count ? loaded->policy.workspaces.at[0].path : loaded->request.directory;
    struct session *session = &attendance->session;
    struct err err = {0};
    if (session_begin(arena, state, workspace, session, &err) < 0)
        say_err(attendance->world, &err);
    chronicle_start(attendance, workspace);
}

static void tell_home(struct attendance *attendance, const struct err *err)
{
    journal_event(&attendance->session.journal, "home", "why", err->message);
    say_err(attendance->world, err);
}

/* The home with what belongs into it. What could only not be filled in is said. */
static int begin_home(struct attendance *attendance, struct err *err)
{
    const struct loaded *loaded = attendance->loaded;
    struct home *home = &attendance->home;
    struct session *session = &attendance->session;
    if (home_open(loaded->policy.arena, &loaded->plan, session, home, err) < 0)
        return -1;
    if (home_fill(loaded->policy.arena, &loaded->plan, session, home, err) < 0)
        tell_home(attendance, err);
    if (seed_begin(loaded->policy.arena, &loaded->plan, &attendance->amendments, session, home, err) < 0)
        tell_home(attendance, err);
    if (home->sync.fd >= 0)
        loop_add(&attendance->loop, home->sync.fd, POLLIN, sync_ready, &home->sync);
    if (home->sync.timer_fd >= 0)
        loop_add(&attendance->loop, home->sync.timer_fd, POLLIN, sync_due, &home->sync);
    attendance->launch->home = home->path;
    return 0;
}

static int begin_network(struct attendance *attendance, struct err *err)
{
    struct network *network = &attendance->network;
    if (network_prepare(&attendance->loaded->plan, attendance->world->environment,
                        &attendance->session.journal, network, err) < 0) {
        network_free(network);
        return -1;
    }
    attendance->has_network = true;
    attendance->launch->host_fds = network->host_fds.at;
    attendance->launch->host_fd_count = network->host_fds.count;
    return 0;
}

static int begin_guard(struct attendance *attendance, struct err *err)
{
    struct arena *arena = attendance->loaded->policy.arena;
    attendance->guard.hold = (struct hold){
        .arena = arena,
        .plan = &attendance->loaded->plan,
        .amendments = &attendance->amendments,
        .session = &attendance->session,
        .stubs = stubs_in(arena, attendance->loaded->request.starts[START_STATE]),
    };
    attendance->guard.execs = &attendance->execs;
    attendance->has_guard = true;
    if (guard_begin(&attendance->guard, attendance->launch, attendance->launched, &attendance->loop, err) < 0)
        return -1;
    attendance->guard.tripwires.context = attendance;
    attendance->guard.tripwires.tell = attendance->args->flags & FLAG_NOTIFY ? tripped_notify : NULL;
    return 0;
}

/*
 * Must the session and its snapshot be there before the plan is handed over? Where something is put into them, or where
 * bawn itself puts something into the workspace, of which the snapshot must know nothing. Otherwise they are made while the
 * child raises its walls.
 */
static bool keeps_before_launch(const struct attendance *attendance)
{
    const struct plan *plan = &attendance->loaded->plan;
    bool makes = hold_needs_stub(plan);
    for (size_t i = 0; !makes && i < plan->operations.count; i++)
        makes = plan->operations.at[i].make;
    return makes || home_needs_session(plan) || attendance->args->flags & (FLAG_REVIEW | FLAG_DISCARD);
}

static int begin_keeping(struct attendance *attendance, struct err *err)
{
    if (attendance->session.folder_fd < 0)
        begin_session(attendance);
    if (attendance->trial_state && !(attendance->args->flags & FLAG_DISCARD))
        return 0;
    int result =
        keep_begin(attendance->world, attendance->loaded, &attendance->amendments, &attendance->session,
                   attendance->args->flags, attendance->args->branch, &attendance->keeping, err);
    struct past past = keep_past(attendance->loaded->policy.arena, attendance->keeping);
    if (result == 0)
        result = sockets_hide(&attendance->amendments, attendance->loaded->policy.arena, &past, err);
    return result;
}

/* Nobody gives a session more in its first moment, in which most commands are over: they need not pay for it. */
enum { LATER_MILLISECONDS = 20 };

static void ring(const struct attendance *attendance, long nanoseconds)
{
    struct itimerspec time = {.it_value = {.tv_nsec = nanoseconds}};
    if (attendance->later_fd >= 0)
        timerfd_settime(attendance->later_fd, 0, &time, NULL);
}

/* What need not be done before the command begins: at once while it begins, and a moment later. */
static int do_later(void *self, short events, struct err *err)
{
    (void)events;
    (void)err;
    struct attendance *attendance = self;
    if (!attendance->has_plan_recorded) {
        chronicle_plan(attendance);
        ring(attendance, LATER_MILLISECONDS * 1000000L);
        return 0;
    }
    loop_remove(&attendance->loop, attendance->later_fd);
    chronicle_let_go(attendance);
    control_open(&attendance->control, attendance->session.folder_fd, &attendance->network,
                 &attendance->loop);
    return 0;
}

int attend_begin(struct attendance *attendance, struct err *err)
{
    attendance->session = SESSION_NONE;
    attendance->home = HOME_NONE;
    attendance->control = CONTROL_NONE;
    attendance->checkpoints = CHECKPOINTS_NONE;
    attendance->execs.listener_fd = -1;
    attendance->launch->amendments = &attendance->amendments;
    attendance->later_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (attendance->later_fd >= 0)
        loop_add(&attendance->loop, attendance->later_fd, POLLIN, do_later, attendance);
    clock_gettime(CLOCK_MONOTONIC, &attendance->began);
    if (keeps_before_launch(attendance) && begin_keeping(attendance, err) < 0)
        return -1;
    return begin_network(attendance, err) < 0 || begin_home(attendance, err) < 0 ||
                   begin_guard(attendance, err) < 0 ||
                   keep_add_places(&attendance->guard.hold, attendance->keeping, err) < 0
               ? -1
               : 0;
}

static int begin_flags(struct attendance *attendance, struct err *err)
{
    attendance->asker = (struct git_asker){attendance->world, attendance->launch};
    attendance->flags =
        (struct flags){.hold = &attendance->guard.hold,
                       .past = keep_past(attendance->loaded->policy.arena, attendance->keeping),
                       .versions = {.ask = ask_git, .context = &attendance->asker}};
    attendance->has_flags = true;
    flags_begin(&attendance->flags);
    flags_read(&attendance->flags);
    if (attendance->flags.before.trouble)
        return err_sys(err, attendance->flags.before.trouble, "cannot read what is flagged in the workspace");
    return fs_check(&attendance->loaded->fs, err);
}

static int take_checkpoint(void *self, struct err *err)
{
    struct attendance *attendance = self;
    return keep_checkpoint(attendance->loaded, attendance->keeping, err);
}

static int begin_checkpoints(struct attendance *attendance, struct err *err)
{
    uint64_t seconds = attendance->args->checkpoint_seconds;
    if (!seconds || !attendance->keeping)
        return 0;
    attendance->checkpoints.loop = &attendance->loop;
    attendance->checkpoints.journal = &attendance->session.journal;
    attendance->checkpoints.take = take_checkpoint;
    attendance->checkpoints.context = attendance;
    return checkpoints_begin(&attendance->checkpoints, seconds, err);
}

/* While the command had the terminal, nothing could be said. */
static void end_checkpoints(struct attendance *attendance)
{
    struct checkpoints *checkpoints = &attendance->checkpoints;
    checkpoints_end(checkpoints);
    if (checkpoints->has_any)
        keep_has_checkpoints(attendance->keeping);
    if (checkpoints->failures)
        say_problem(attendance->world,
                    arena_printf(attendance->loaded->policy.arena,
                                 "%" PRIu64
                                 " checkpoint%s could not be taken, the last one because of this: %s",
                                 checkpoints->failures, checkpoints->failures == 1 ? "" : "s",
                                 checkpoints->failure.message),
                    checkpoints->failure.hint);
}

/*
 * The snapshot is taken while the child raises its walls. Where it finds a socket that must be hidden, the child was handed operations
 * that do not: another child is started, with the amendments as they are now.
 */
static int keep_after_launch(struct attendance *attendance, struct err *err)
{
    size_t hidden = attendance->amendments.hidden.count;
    if (begin_keeping(attendance, err) < 0)
        return -1;
    if (attendance->amendments.hidden.count == hidden)
        return 0;
    launch_abandon(attendance->launched);
    return launch_start(attendance->launch, attendance->launched, err);
}

int attend_start(struct attendance *attendance, struct err *err)
{
    if (hold_read(&attendance->guard.hold, err) < 0)
        return -1;
    if (!attendance->keeping && keep_after_launch(attendance, err) < 0)
        return -1;
    if (begin_checkpoints(attendance, err) < 0)
        return -1;
    if (!attendance->trial_state && begin_flags(attendance, err) < 0)
        return -1;
    network_watch(&attendance->network, attendance->launched, &attendance->loop);
    attendance->loop.rest_folder_fd = attendance->session.folder_fd;
    attendance->loop.heap = attendance->session.folder_fd < 0 ? NULL : attendance->world->heap;
    int listener_fd = attendance->launch->log_exec ? launch_take_listener(attendance->launched) : -1;
    if (listener_fd >= 0) /* otherwise the child has failed, and says why */
        execs_begin(&attendance->execs, listener_fd,
                    chronicle_command(attendance->loaded->policy.arena, attendance->args->command),
                    &attendance->session.journal, &attendance->loop);
    ring(attendance, 1);
    return 0;
}

void attend_failed(struct attendance *attendance, const struct err *err)
{
    if (attendance->session.folder_fd < 0)
        begin_session(attendance);
    journal_event(&attendance->session.journal, "failed", "why", err->message);
    say_err(attendance->world, err);
}

/* What was done to the user's files, or could not be: said always, also where nobody is asked. */
static void end_guard(struct attendance *attendance)
{
    struct hold *hold = &attendance->guard.hold;
    guard_end(&attendance->guard);
    for (size_t i = 0; i < hold->notices.count; i++)
        say_problem(attendance->world, hold->notices.at[i], NULL);
    vec_free(&hold->notices);
}

static void end_home(struct attendance *attendance, struct left *ret_left)
{
    const struct home *home = &attendance->home;
    struct err err = {0};
    *ret_left = (struct left){0};
    if (home->fd >= 0 && attendance->world->err_is_terminal && !home->is_fresh)
        find_left(attendance->loaded, home, ret_left);
    if (home_close(&attendance->home, &attendance->session, &err) < 0)
        say_err(attendance->world, &err);
}

static uint64_t milliseconds_since(struct timespec began)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)((now.tv_sec - began.tv_sec) * 1000 + (now.tv_nsec - began.tv_nsec) / 1000000);
}

/* A command of the user's, once all is written down and nothing of the session is at work any more. */
static void run_hook(const struct attendance *attendance, const struct summary *summary)
{
    struct arena *arena = attendance->loaded->policy.arena;
    auto_buf struct buf text = {0};
    summary_add_line(summary, &text);
    text.size -= text.size > 0; /* the line's end */
    struct hook hook = {
        .command = attendance->args->on_exit,
        .text = arena_copy(arena, text.bytes, text.size),
        .facts = {{"BAWN_EVENT", "end"},
                  {"BAWN_SESSION", summary->session},
                  {"BAWN_STATUS", arena_printf(arena, "%d", summary->status)},
                  {"BAWN_CHANGES", arena_printf(arena, "%" PRIu64, summary->changed->count)}},
    };
    int status = hook_run(attendance->world, &hook);
    if (status)
        say_problem(attendance->world,
                    arena_printf(arena, "the command of --on-exit ended with status %d", status), NULL);
}

void attend_end(struct attendance *attendance, struct outcome outcome)
{
    const struct world *world = attendance->world;
    const struct args *args = attendance->args;
    struct summary summary = {
        .world = world,
        .args = args,
        .loaded = attendance->loaded,
        .session = attendance->session.name,
        .status = outcome.status,
        .milliseconds = milliseconds_since(attendance->began),
        .network = attendance->has_network ? &attendance->network : NULL,
        .tripwires = attendance->has_guard ? &attendance->guard.tripwires : NULL,
    };
    struct changed changed = {0};
    struct left left;
    summary.changed = &changed;
    summary.left = &left;
    end_checkpoints(attendance);
    if (attendance->has_guard)
        end_guard(attendance);
    if (attendance->has_flags) {
        flags_find(&attendance->flags);
        summary.settlement =
            settle(world, &attendance->flags, args->flags & FLAG_KEEP_FLAGGED, outcome.status < 128);
    }
    execs_end(&attendance->execs);
    control_close(&attendance->control);
    if (attendance->later_fd >= 0)
        close(attendance->later_fd);
    loop_free(&attendance->loop);
    if (attendance->has_network)
        network_end(&attendance->network);
    struct flags *flags = attendance->has_flags ? &attendance->flags : NULL;
    struct keep_result kept = keep_end(world, attendance->loaded, attendance->keeping, flags);
    changed.mode = kept.mode;
    changed.count = kept.changes;
    if (flags) {
        say_sightings(world, flags);
        flags_free(flags);
    }
    end_home(attendance, &left); /* git is asked with it */
    if (summary_is_wanted(world, args))
        changed_find(world, attendance->loaded, attendance->session.folder_fd, &changed);
    chronicle_let_go(attendance);
    chronicle_end(attendance, &outcome, summary.milliseconds, changed.count);
    if (kept.is_unfinished)
        session_leave(&attendance->session);
    else
        session_end(&attendance->session);
    summary_tell(&summary);
    if (args->on_exit)
        run_hook(attendance, &summary);
    changed_free(&changed);
    left_free(&left);
    if (attendance->has_guard)
        tripwires_free(&attendance->guard.tripwires);
    if (attendance->has_network)
        network_free(&attendance->network);
    amendments_free(&attendance->amendments);
}
