/* Alarms while the command runs: each starts the command of --notify, or shows a desktop message. */
#include "report/messages.h"
#include "session/hook.h"
#include "session/run_parts.h"

/* A decoy was opened: tells the user while the command runs. */
static void notify_opened(void *context, const struct fired *fired)
{
    const struct run *run = context;
    struct arena *arena = run->loaded.policy.arena;
    struct hook hook = {
        .command = run->request.notify,
        .text = arena_printf(arena, "tripwire: %s, in %s",
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
        .command = run->request.notify,
        .text =
            arena_printf(run->loaded.policy.arena, "tripwire: the placeholder of %s was sent to %s, in %s",
                         misused->name, misused->host, run->session.name),
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
        .command = run->request.notify,
        .text = arena_printf(run->loaded.policy.arena, "the ssh key %s was not used, in %s: %s", refused->key,
                             run->session.name, refused->why),
        .facts = {{"BAWN_EVENT", "ssh-key-refused"},
                  {"BAWN_SESSION", run->session.name},
                  {"BAWN_SECRET", refused->key}},
    };
    hook_start(&run->caller, &hook);
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
