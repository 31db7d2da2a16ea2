#include "cli/tidy.h"

#include "cli/repair.h"
#include "cli/say.h"
#include "hold/stub.h"
#include "journal/session.h"

struct tidying {
    const struct world *world;
    struct arena arena;
};

static void say_removed(void *context, const char *path)
{
    struct tidying *tidying = context;
    say_problem(
        tidying->world,
        arena_printf(&tidying->arena, "removed %s, which a bawn that was killed had left there", path), NULL);
}

/* As the policy has it, without reading one: XDG_STATE_HOME, or its place in the home. */
static const char *state_directory(struct tidying *tidying)
{
    const char *state = world_variable(tidying->world, "XDG_STATE_HOME");
    const char *home = world_variable(tidying->world, "HOME");
    if (state && *state == '/')
        return state;
    home = home && *home ? home : tidying->world->account_home;
    return home && *home == '/' ? arena_printf(&tidying->arena, "%s/.local/state", home) : NULL;
}

void tidy_up(const struct world *world)
{
    struct tidying tidying = {.world = world};
    struct err err = {0};
    const char *state = state_directory(&tidying);
    if (state && stubs_tidy(&tidying.arena, state, say_removed, &tidying, &err) < 0)
        say_err(world, &err);
    if (state)
        repair_killed(world, state, false);
    arena_free(&tidying.arena);
}

int tidy_again(const struct world *world)
{
    struct tidying tidying = {.world = world};
    const char *state = state_directory(&tidying);
    size_t count = state ? session_take_up(&tidying.arena, state) : 0;
    bool is_done = !count || repair_killed(world, state, true);
    if (!count)
        fputs("No session needs repair.\n", world->out);
    else if (is_done)
        fprintf(world->out, "Repaired %zu session%s.\n", count, count == 1 ? "" : "s");
    arena_free(&tidying.arena);
    return is_done ? EXIT_FINE : EXIT_REFUSED;
}
