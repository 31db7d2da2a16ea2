/* Runs a command behind the walls. */
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "cli/attend.h"
#include "cli/branch.h"
#include "cli/chronicle.h"
#include "cli/commands.h"
#include "cli/load.h"
#include "cli/retell.h"
#include "cli/run.h"
#include "cli/say.h"
#include "home/git_settings.h"
#include "kernel/landlock.h"
#include "kernel/process.h"
#include "launch/launch.h"
#include "policy/decide.h"
#include "report/messages.h"

/* PATH without the folders that the sandbox does not show: a program there would only be looked for in vain. */
static const char *visible_path(const struct loaded *loaded, const char *path)
{
    auto_buf struct buf kept = {0};
    for (const char *folder; (folder = path_next_folder(loaded->policy.arena, &path));) {
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
static const char *const *environment_for(const struct world *world, const struct loaded *loaded,
                                          bool has_policy)
{
    struct arena *arena = loaded->policy.arena;
    const char **environment = arena_alloc(arena, (loaded->plan.operations.count + 2) * sizeof(*environment));
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
    if (has_policy)
        environment[count++] = "BAWN_POLICY=" RETOLD_POLICY; /* for `bawn why` inside */
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
    launch->own_group =
        launch->foreground || launch->terminal_fd < 0 || landlock_abi() < LANDLOCK_ABI_WITH_SCOPES;
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

/* Before the policy is read there is only what was typed to go by. The plan has the last word. */
static bool asks_for_network(const struct args *args, const char *kind)
{
    bool is_that = false;
    for (size_t i = 0; i < args->rules.count; i++) {
        if (args->rules.at[i].verb == VERB_NET)
            is_that = strcmp(args->rules.at[i].text, kind) == 0;
    }
    return is_that;
}

/* A word of a profile's, with the briefing where it asks for it. */
static const char *word_with_briefing(struct arena *arena, const char *word, const char *briefing)
{
    const char *variable = strstr(word, BRIEFING_VARIABLE);
    return variable ? arena_printf(arena, "%.*s%s%s", (int)(variable - word), word, briefing,
                                   variable + strlen(BRIEFING_VARIABLE))
                    : word;
}

/* The command's words, with those that its profile adds behind the agent's own name. */
static const char *const *words_for(const struct args *args, const struct loaded *loaded,
                                    const char *briefing)
{
    const struct plan *plan = &loaded->plan;
    size_t count = 0, at = 0;
    while (args->command[count])
        count++;
    const char **words =
        arena_alloc(loaded->policy.arena, (count + plan->operations.count + 1) * sizeof(*words));
    for (size_t i = 0; i < count; i++) {
        words[at++] = args->command[i];
        for (size_t j = 0; i == loaded->policy.agent_word && j < plan->operations.count; j++) {
            if (plan->operations.at[j].kind == OP_ARGUMENT)
                words[at++] =
                    word_with_briefing(loaded->policy.arena, plan->operations.at[j].value, briefing);
        }
    }
    return words;
}

/* The kernel lays the arguments down one after the other. */
static size_t size_of_typed(const struct args *args)
{
    const char *end = *args->typed;
    for (char *const *argument = args->typed; *argument && *argument == end; argument++)
        end += strlen(*argument) + 1;
    return (size_t)(end - *args->typed);
}

/*
 * Whoever ends an agent by Ctrl-C often presses it once too often, and bawn has to write down what changed: it is not
 * interrupted in that. Ctrl-\ ends it; the next bawn then finishes what it began.
 */
static void hold_signals_back(sigset_t *ret_before)
{
    sigset_t held_back = process_ending_signals();
    sigprocmask(SIG_BLOCK, &held_back, ret_before);
}

/* A Ctrl-C too many is forgotten. Others come through now that all is done. */
static void let_signals_come(const sigset_t *before)
{
    struct sigaction usual;
    sigaction(SIGINT, &(struct sigaction){.sa_handler = SIG_IGN}, &usual);
    sigaction(SIGINT, &usual, NULL);
    sigprocmask(SIG_SETMASK, before, NULL);
}

static int run(const struct world *world, const struct args *args, const struct trial *trial,
               struct loaded *loaded, struct launch *launch, struct launched *launched)
{
    launch->plan = &loaded->plan;
    launch->policy = loaded->request.full_access ? NULL : policy_retold(loaded);
    launch->environment = environment_for(world, loaded, launch->policy != NULL);
    launch->directory = loaded->request.directory;
    launch->git_config = git_settings(&loaded->policy);
    auto_buf struct buf briefing = {0};
    briefing_add(&loaded->plan, args->flags & (FLAG_REVIEW | FLAG_DISCARD), &briefing);
    launch->briefing = buf_text(&briefing);
    launch->command = trial ? trial->command : words_for(args, loaded, launch->briefing);
    const struct rule *time = decide_limit(&loaded->policy, LIMIT_TIME, NULL).decides;
    launch->seconds = time ? time->limit.most : UINT64_MAX;
    struct attendance attendance = {.world = world,
                                    .args = args,
                                    .loaded = loaded,
                                    .launch = launch,
                                    .launched = launched,
                                    .trial_state = trial ? trial->state : NULL};
    struct outcome outcome = {.status = EXIT_REFUSED};
    struct err err = {0};
    int result = attend_begin(&attendance, &err);
    trace_point(world->trace, "outside", "what the child needs to find");
    if (result == 0)
        result = fs_check(&loaded->fs, &err);
    if (result == 0)
        result = launch_start(launch, launched, &err);
    else
        launch_abandon(launched);
    trace_point(world->trace, "outside", "the plan is handed over");
    if (result == 0 && (result = attend_start(&attendance, &err)) < 0)
        launch_abandon(launched);
    trace_point(world->trace, "outside", "all that stands by");
    sigset_t before;
    hold_signals_back(&before);
    if (result == 0) {
        result = supervise(launch, launched, &attendance.loop, &attendance.guard.tripwires, &outcome, &err);
        trace_point(world->trace, "outside", "the command has ended");
    }
    if (result < 0)
        attend_failed(&attendance, &err);
    chronicle_limits(&attendance, &outcome);
    launch_release(launched);
    attend_end(&attendance, outcome);
    let_signals_come(&before);
    trace_point(world->trace, "outside", "the end of it");
    if (outcome.is_interrupted)
        kill(0, SIGINT); /* a person's, and so for the whole job: a shell's loop around bawn ends too */
    return outcome.status;
}

int run_command(const struct world *world, const struct args *args, const struct trial *trial)
{
    struct machine machine;
    world->look_at_machine(args->degraded, &machine);
    struct world seen = *world;
    seen.machine = &machine;
    struct launch launch = {
        .own_arguments = *args->typed,
        .own_arguments_size = size_of_typed(args),
        .nested = args->flags & FLAG_NESTED,
        .log_exec = args->flags & FLAG_RECORD_EXEC,
        .probably_no_names = asks_for_network(args, "off"),
        .probably_host_network = asks_for_network(args, "open"),
        .cgroup_place = &machine.cgroup,
        .trace = world->trace,
    };
    find_terminal(&launch);
    struct launched launched = LAUNCHED_NONE;
    if (!(args->flags & FLAG_FULL_ACCESS)) /* whose root is another from the beginning */
        launch_begin(&launch, &launched);
    trace_point(world->trace, "outside", "the child is started");
    struct loaded loaded = {0};
    int status = load_plan(&seen, args, &loaded);
    trace_point(world->trace, "outside", "policy and plan");
    if (status == 0 && is_held(world, &loaded)) {
        say_notes(world, &loaded);
        status = run(world, args, trial, &loaded, &launch, &launched);
    } else {
        status = EXIT_REFUSED;
    }
    launch_abandon(&launched);
    loaded_free(&loaded);
    return status;
}

/* The same in the branch's worktree, with the checkout to be read. */
static int run_on_branch(const struct world *world, const struct args *args)
{
    struct arena arena = {0};
    struct launch launch = {.own_arguments = *args->typed, .own_arguments_size = size_of_typed(args)};
    struct branch branch;
    struct args with = *args;
    with.rules.at = NULL;
    with.rules.count = with.rules.capacity = 0;
    int status = branch_open(world, args, &launch, &arena, &branch);
    if (status == 0) {
        struct world there = *world;
        const char *inner =
            path_is_beneath(world->directory, branch.workspace)
                ? arena_printf(&arena, "%s%s", branch.tree, world->directory + strlen(branch.workspace))
                : branch.tree;
        struct stat folder;
        there.directory = stat(inner, &folder) == 0 && S_ISDIR(folder.st_mode) ? inner : branch.tree;
        for (size_t i = 0; i < args->rules.count; i++)
            vec_push(&with.rules, args->rules.at[i]);
        vec_push(&with.rules, (struct argument){VERB_WORKSPACE, branch.tree});
        vec_push(&with.rules, (struct argument){VERB_READ, branch.workspace});
        status = run_command(&there, &with, NULL);
    }
    vec_free(&with.rules);
    arena_free(&arena);
    return status;
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
    return args->flags & FLAG_BRANCH ? run_on_branch(world, args) : run_command(world, args, NULL);
}
