/*
 * What a run starts outside for its person. Alarms while the command runs: each starts the command of
 * --notify, or shows a desktop message.
 */
#include "outside/own.h"
#include "plan/amendments.h"
#include "policy/decide.h"
#include "report/messages.h"
#include "session/hook.h"
#include "session/run_parts.h"

/* A decoy was opened: tells the user while the command runs. */
static void notify_opened(void *context, const struct fired *fired)
{
    const struct run *run = context;
    struct arena *arena = run->loaded.policy.arena;
    struct hook hook = {
        .plan = &run->loaded.plan,
        .command = run->request.notify,
        .text = arena_printf(arena, "tripwire: the decoy %s, in %s",
                             opened_decoy_text(arena, run->loaded.request.home, fired), run->session.name),
        .facts = {{"BAWN_EVENT", "tripwire"},
                  {"BAWN_SESSION", run->session.name},
                  {"BAWN_PATH", fired->path},
                  {"BAWN_PROCESS", fired->process}},
    };
    hook_start(&run->caller, &hook);
}

/* A placeholder went where it must not: tells the user at once. */
static void notify_misused(void *context, const struct misused *misused)
{
    const struct run *run = context;
    struct hook hook = {
        .plan = &run->loaded.plan,
        .command = run->request.notify,
        .text = arena_printf(run->loaded.policy.arena,
                             "misused secret: the placeholder of %s was sent to %s, in %s", misused->name,
                             misused->host, run->session.name),
        .facts = {{"BAWN_EVENT", "secret-misused"},
                  {"BAWN_SESSION", run->session.name},
                  {"BAWN_SECRET", misused->name},
                  {"BAWN_HOST", misused->host}},
    };
    hook_start(&run->caller, &hook);
}

/* A secret of the host was found on its way out. */
static void notify_leaked(void *context, const struct leaked *leaked)
{
    const struct run *run = context;
    struct hook hook = {
        .plan = &run->loaded.plan,
        .command = run->request.notify,
        .text = arena_printf(run->loaded.policy.arena, "leak: %s in a request to %s, in %s%s", leaked->what,
                             leaked->host, run->session.name, leaked->is_stopped ? "; it was stopped" : ""),
        .facts = {{"BAWN_EVENT", "leak"},
                  {"BAWN_SESSION", run->session.name},
                  {"BAWN_SECRET", leaked->what},
                  {"BAWN_HOST", leaked->host}},
    };
    hook_start(&run->caller, &hook);
}

/* A key of the user's agent was to be used where no rule lets it. */
static void notify_refused_key(void *context, const struct refused_key *refused)
{
    const struct run *run = context;
    struct hook hook = {
        .plan = &run->loaded.plan,
        .command = run->request.notify,
        .text = arena_printf(run->loaded.policy.arena, "the ssh key %s was not used, in %s: %s", refused->key,
                             run->session.name, refused->why),
        .facts = {{"BAWN_EVENT", "ssh-key-refused"},
                  {"BAWN_SESSION", run->session.name},
                  {"BAWN_SECRET", refused->key}},
    };
    hook_start(&run->caller, &hook);
}

/*
 * The command could replace bawn, or a program of its own that starts outside when it is needed. With full
 * access it could replace any program.
 */
static int check_own_place(const struct run *run, struct err *err)
{
    const struct loaded *loaded = &run->loaded;
    struct arena *arena = loaded->policy.arena;
    const char *own = run->caller.own_path ? run->caller.own_path(arena) : NULL;
    struct operations operations = amended_operations(arena, &loaded->plan.operations, &run->amendments);
    return own && !run->request.full_access ? own_programs_check(own, loaded->request.fs, &operations, err)
                                            : 0;
}

/* The commands that this run may start outside: one that could be changed from inside is refused now, and not when it is needed. */
static int check_hooks(const struct run *run, struct err *err)
{
    const struct rule *asking = decide_setting(&run->loaded.policy, VERB_ASK_COMMAND);
    const char *const commands[] = {run->request.notifies ? run->request.notify : NULL, run->request.on_exit,
                                    asking ? asking->text : NULL};
    for (size_t i = 0; i < array_len(commands); i++) {
        const struct hook hook = {.plan = &run->loaded.plan, .command = commands[i]};
        if (commands[i] && *commands[i] && hook_check(&run->caller, &hook, err) < 0)
            return -1;
    }
    return 0;
}

int run_check_outside(const struct run *run, struct err *err)
{
    return check_own_place(run, err) < 0 || check_hooks(run, err) < 0 ? -1 : 0;
}

void run_set_alarms(struct run *run)
{
    if (!run->request.notifies)
        return;
    run->guard.tripwires.context = run->vault.context = run->signing.context = run;
    run->guard.tripwires.tell = notify_opened;
    run->vault.tell = notify_misused;
    run->vault.tell_leaked = notify_leaked;
    run->signing.tell = notify_refused_key;
}
