/* Runs a command behind the walls. */
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "cli/ask_git.h"
#include "cli/commands.h"
#include "cli/left.h"
#include "cli/load.h"
#include "cli/settle.h"
#include "cli/summary.h"
#include "hold/flags.h"
#include "home/git_settings.h"
#include "home/home.h"
#include "journal/session.h"
#include "kernel/landlock.h"
#include "launch/launch.h"
#include "policy/decide.h"
#include "supervise/control.h"
#include "supervise/guard.h"
#include "supervise/network.h"
#include "supervise/supervise.h"

/* PATH without the folders that the sandbox does not show: a program there would only be looked for in vain. */
static const char *visible_path(const struct loaded *loaded, const char *path)
{
    auto_buf struct buf kept = {0};
    while (*path) {
        size_t size = strcspn(path, ":");
        const char *folder = arena_copy(loaded->policy.arena, path, size);
        path += size + (path[size] == ':');
        const struct fs_place *place = NULL;
        struct err ignored;
        if (*folder != '/' || fs_resolve(loaded->request.fs, path_clean(loaded->policy.arena, "/", folder),
                                         &place, &ignored) < 0)
            continue;
        enum access access = decide_path(&loaded->policy, place->real, NULL).access;
        if (place->kind != FILE_DIRECTORY || access == ACCESS_NONE)
            continue;
        if (kept.size)
            buf_add_char(&kept, ':');
        buf_add_str(&kept, folder);
    }
    return arena_copy(loaded->policy.arena, kept.bytes, kept.size);
}

/* What the command gets: the variables of the plan, with the caller's values for those that pass. */
static const char *const *environment_for(const struct world *world, const struct loaded *loaded)
{
    struct arena *arena = loaded->policy.arena;
    const char **environment = arena_alloc(arena, (loaded->plan.operations.count + 1) * sizeof(*environment));
    size_t count = 0;
    for (size_t i = 0; i < loaded->plan.operations.count; i++) {
        const struct operation *operation = &loaded->plan.operations.at[i];
        const char *value = operation->value;
        if (operation->kind == OP_ENV_PASS)
            value = world_variable(world, operation->name);
        else if (operation->kind != OP_ENV_SET)
            continue;
        if (strcmp(operation->name, "PATH") == 0)
            value = visible_path(loaded, value);
        environment[count++] = arena_printf(arena, "%s=%s", operation->name, value);
    }
    return environment;
}

/*
 * Who has the terminal. Only where bawn reads from it and writes to it is it taken to be bawn's alone: in a pipeline
 * its neighbours belong to the same job, and must keep theirs.
 */
static void find_terminal(struct launch *launch)
{
    launch->terminal_fd = -1;
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && launch->terminal_fd < 0; fd++) {
        if (isatty(fd))
            launch->terminal_fd = fd;
    }
    launch->foreground =
        isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && tcgetpgrp(STDIN_FILENO) == getpgrp();
    /* In the caller's group kill(0, …) would reach the caller's neighbours, unless Landlock keeps signals inside. */
    launch->own_group = launch->foreground || launch->terminal_fd < 0 || landlock_abi() < 6;
}

/* What the user should know, where a person reads it; in a pipe bawn adds no byte. */
static void say_notes(const struct world *world, const struct loaded *loaded)
{
    for (size_t i = 0; world->err_is_terminal && i < loaded->plan.notes.count; i++)
        say_problem(world, arena_printf(loaded->policy.arena, "note: %s", loaded->plan.notes.at[i].text),
                    NULL);
}

/*
 * A sealed place that does not exist yet, in a tree that can be written, would be made inside and believed outside: bawn's
 * own policy, what starts with a session. Nothing can be mounted over what is not there, so the run is refused.
 */
static const struct operation *unheld_seal(const struct plan *plan)
{
    for (size_t i = 0; i < plan->operations.count; i++) {
        const struct operation *operation = &plan->operations.at[i];
        if (operation->kind == OP_FREEZE && operation->missing && operation->because->verb == VERB_SEAL)
            return operation;
    }
    return NULL;
}

/* Does the plan hold all that it says? Where it does not, that is said. */
static bool is_held(const struct world *world, struct loaded *loaded)
{
    const struct operation *seal = unheld_seal(&loaded->plan), *memory = plan_unheld_memory(&loaded->plan);
    if (seal) {
        say_problem(world,
                    arena_printf(&loaded->arena,
                                 "%s is sealed and does not exist yet, and could be made inside", seal->path),
                    arena_printf(&loaded->arena,
                                 "make it first (mkdir -p %s), or grant less than the tree around it",
                                 seal->path));
        return false;
    }
    if (memory && !walls_have(loaded->plan.request.degraded, WALL_MEMORY)) {
        say_problem(world, "the limit of memory cannot be held here: no control group is yours",
                    "`bawn doctor` shows how to get one; --degrade=memory goes on without the limit");
        return false;
    }
    return true;
}

/* A session was killed: what it left is put right. */
static int repair(void *context, struct session *session, struct err *err)
{
    const struct world *world = context;
    journal_event(&session->journal, "killed");
    char text[256];
    snprintf(text, sizeof(text),
             "bawn was killed in the session %s: what is new in flagged files was not settled",
             session->name);
    if (world->err_is_terminal)
        say_problem(world, text, "look at what the command left there before you go on");
    return home_repair(session, err);
}

/* Without a place for the journal the run goes on, and the user is told. */
static struct session begin_session(const struct world *world, const struct loaded *loaded,
                                    const struct args *args)
{
    struct arena *arena = loaded->policy.arena;
    const char *state = loaded->request.starts[START_STATE];
    const char *workspace =
        loaded->policy.workspaces.count ? loaded->policy.workspaces.at[0].path : loaded->request.directory;
    struct session session = SESSION_NONE;
    struct err err = {0};
    if (session_repair_all(arena, state, repair, (void *)world, &err) < 0 ||
        session_begin(arena, state, workspace, &session, &err) < 0)
        say_err(world, &err);
    journal_event(&session.journal, "start", "workspace", workspace, "command", args->command[0]);
    for (size_t i = 0; i < loaded->plan.given_up.count; i++) {
        const struct given_up *given_up = &loaded->plan.given_up.at[i];
        journal_event(&session.journal, "given up", "wall", wall_name(given_up->wall), "by", given_up->by);
    }
    return session;
}

/* The command's words, apart from those of bawn's own command line, which process 1 forgets. */
static char *const *copy_command(struct arena *arena, const struct args *args)
{
    size_t count = 0;
    while (args->command[count])
        count++;
    char **copy = arena_alloc(arena, (count + 1) * sizeof(*copy));
    for (size_t i = 0; i < count; i++)
        copy[i] = arena_str(arena, args->command[i]);
    return copy;
}

/* The kernel lays the arguments down one after the other. */
static size_t size_of_typed(const struct args *args)
{
    const char *end = *args->typed;
    for (char *const *argument = args->typed; *argument && *argument == end; argument++)
        end += strlen(*argument) + 1;
    return (size_t)(end - *args->typed);
}

/* The home with what belongs into it. Returns -1 where there is none; what could only not be filled in is said. */
static int prepare_home(const struct world *world, const struct loaded *loaded, struct session *session,
                        struct home *ret_home, struct loop *loop, struct err *err)
{
    if (home_open(loaded->policy.arena, &loaded->plan, session, ret_home, err) < 0)
        return -1;
    if (home_fill(loaded->policy.arena, &loaded->plan, session, ret_home, err) < 0) {
        journal_event(&session->journal, "home", "why", err->message);
        say_err(world, err);
    }
    if (ret_home->sync.fd >= 0)
        loop_add(loop, ret_home->sync.fd, POLLIN, sync_ready, &ret_home->sync);
    if (ret_home->sync.timer_fd >= 0)
        loop_add(loop, ret_home->sync.timer_fd, POLLIN, sync_due, &ret_home->sync);
    return 0;
}

/* The command has ended: what it left is told where a person reads it. */
static void leave_home(const struct world *world, const struct loaded *loaded, const struct session *session,
                       struct home *home)
{
    struct err err = {0};
    if (home->fd >= 0 && world->err_is_terminal && !home->is_fresh)
        say_left(world, loaded, home);
    if (home_close(home, session, &err) < 0)
        say_err(world, &err);
}

/* What was done to the user's files, or could not be: said always, also where nobody is asked. */
static void say_notices(const struct world *world, struct hold *hold)
{
    for (size_t i = 0; i < hold->notices.count; i++)
        say_problem(world, hold->notices.at[i], NULL);
    vec_free(&hold->notices);
}

static int run(const struct world *world, const struct args *args, struct loaded *loaded,
               struct launch *launch, struct launched *launched)
{
    launch->plan = &loaded->plan;
    launch->environment = environment_for(world, loaded);
    launch->directory = loaded->request.directory;
    launch->git_config = git_settings(&loaded->policy);
    const struct rule *time = decide_limit(&loaded->policy, LIMIT_TIME, NULL).decides;
    launch->seconds = time ? time->limit.most : UINT64_MAX;
    struct arena *arena = loaded->policy.arena;
    struct session session = SESSION_NONE;
    struct guard guard = {.hold = {.arena = arena,
                                   .plan = &loaded->plan,
                                   .session = &session,
                                   .stubs = stubs_in(arena, loaded->request.starts[START_STATE])}};
    struct git_asker asker = {world, launch};
    struct flags flags = {.hold = &guard.hold, .versions = {.ask = ask_git, .context = &asker}};
    struct loop loop = {0};
    struct err err = {0};
    struct home home = HOME_NONE;
    struct network network;
    struct outcome outcome = {.status = EXIT_REFUSED};
    bool is_early = home_needs_session(&loaded->plan);
    if (is_early)
        session = begin_session(world, loaded, args);
    flags_begin(&flags);
    int result = network_prepare(&loaded->plan, world->environment, &session.journal, &network, &err);
    launch->host_fds = network.host_fds.at;
    launch->host_fd_count = network.host_fds.count;
    if (result == 0)
        result = prepare_home(world, loaded, &session, &home, &loop, &err);
    launch->home = home.path;
    if (result == 0)
        result = guard_begin(&guard, launch, launched, &loop, &err);
    trace_point(world->trace, "outside", "frozen and flagged paths");
    if (result == 0)
        result = launch_start(launch, launched, &err);
    else
        launch_abandon(launched);
    bool is_started = result == 0;
    trace_point(world->trace, "outside", "the plan is handed over");
    if (!is_early)
        session = begin_session(world, loaded, args); /* while the child raises its walls */
    trace_point(world->trace, "outside", "the session's folder");
    struct control control = CONTROL_NONE;
    if (is_started) {
        network_watch(&network, launched, &loop);
        control_open(&control, session.folder_fd, &network, &loop);
        flags_read(&flags);
        result = supervise(launch, launched, &loop, &outcome, &err);
    }
    trace_point(world->trace, "outside", "the command has ended");
    if (result < 0) {
        journal_event(&session.journal, "failed", "why", err.message);
        say_err(world, &err);
    }
    guard_end(&guard);
    say_notices(world, &guard.hold);
    if (is_started) {
        flags_find(&flags);
        settle(world, &flags, args->flags & FLAG_KEEP_FLAGGED, outcome.status < 128);
    }
    flags_free(&flags);
    control_close(&control);
    loop_free(&loop);
    network_end(&network);
    say_refused(world, &network);
    network_free(&network);
    launch_release(launched);
    leave_home(world, loaded, &session, &home);
    journal_event(&session.journal, "end", "status",
                  arena_printf(loaded->policy.arena, "%d", outcome.status));
    session_end(&session);
    trace_point(world->trace, "outside", "the session is closed");
    if (outcome.is_interrupted)
        kill(0, SIGINT); /* a person's, and so for the whole job: a shell's loop around bawn ends too */
    return outcome.status;
}

int cmd_run(const struct world *world, const struct args *args)
{
    if (!*args->command && (args->rules.count || args->verb_is_named)) {
        say_problem(world, "there is no command to run", "`bawn --help` shows how one is given");
        return EXIT_BAD_INPUT;
    }
    if (!*args->command)
        return cmd_help(world, args);
    if (args->flags & FLAG_FULL_ACCESS && !(args->flags & FLAG_I_KNOW)) {
        say_problem(
            world, "--full-access takes the walls around your files away",
            "add --i-know if that is what you want; to give more than the workspace, --write PATH does");
        return EXIT_BAD_INPUT;
    }
    struct arena arena = {0};
    struct launch launch = {
        .command = copy_command(&arena, args),
        .own_arguments = *args->typed,
        .own_arguments_size = size_of_typed(args),
        .nested = args->flags & FLAG_NESTED,
        .trace = world->trace,
    };
    find_terminal(&launch);
    struct launched launched = LAUNCHED_NONE;
    if (!(args->flags & FLAG_FULL_ACCESS)) /* whose root is another from the beginning */
        launch_begin(&launch, &launched);
    trace_point(world->trace, "outside", "the child is started");
    struct loaded loaded = {0};
    int status = load_plan(world, args, &loaded);
    trace_point(world->trace, "outside", "policy and plan");
    if (status == 0 && is_held(world, &loaded)) {
        say_notes(world, &loaded);
        status = run(world, args, &loaded, &launch, &launched);
    } else {
        status = EXIT_REFUSED;
    }
    launch_abandon(&launched);
    loaded_free(&loaded);
    arena_free(&arena);
    return status;
}
