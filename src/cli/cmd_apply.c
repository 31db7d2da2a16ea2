/* `bawn apply`: brings the changes of a session with --review into the workspace. */
#include "cli/approval.h"
#include "cli/commands.h"
#include "cli/dialogue.h"
#include "cli/review.h"
#include "cli/say.h"

static enum conflicts conflicts_of(const struct args *args)
{
    return (args->flags & FLAG(MARKERS)) ? CONFLICTS_MARK
           : (args->flags & FLAG(MERGE)) ? CONFLICTS_MERGE
           : (args->flags & FLAG(OURS))  ? CONFLICTS_OURS
                                         : CONFLICTS_STAY;
}

static int apply(const struct world *world, const struct args *args, struct choice *choice)
{
    const struct record *record = NULL;
    int status = choose_waiting(world, choice, "apply", &record);
    if (status == 0)
        status = choose_unmistakable(world, args, choice, record);
    if (status == 0)
        status = choose_alone(world, choice, args->verb->name, &record);
    if (status == 0)
        status = choose_open(world, choice, record);
    if (status)
        return status;
    if (args->flags & FLAG(PATCH))
        return review_session(world, args, choice, record);
    struct arena *arena = choice->loaded.policy.arena;
    struct err err = {0};
    auto_store struct store store = STORE_NONE;
    if (store_open(choice->store, &store, &err) < 0)
        return say_refused(world, &err);
    auto_approval struct approval approval = {
        .world = world,
        .override = "--allow-risky applies it",
        .patch = {.policy = &choice->loaded.policy,
                  .style = style_for_out(world, NULL),
                  .store = &store,
                  .arena = arena},
    };
    struct dialogue dialogue = {
        .mode = RECORD_APPLY,
        .of = record,
        .transition = {.directory = choice->store,
                       .workspace = choice->workspace,
                       .from = &choice->before,
                       .to = &choice->after,
                       .keeps_objects = true,
                       .overwrites = args->flags & FLAG(THEIRS)},
        .conflicts = conflicts_of(args),
        .asks = !(args->flags & FLAG(YES)),
        .question =
            arena_printf(arena, "Apply the changes of %s, %s?", record->name, age_text(arena, record->ended)),
        .done = "applied",
        .needs_approval = (args->flags & FLAG(ALLOW_RISKY)) ? NULL : approval_of_change,
        .commits_need_approval = (args->flags & FLAG(ALLOW_RISKY)) ? NULL : approval_of_commits,
        .context = &approval,
    };
    status = dialogue_run(world, choice, &dialogue);
    waiting_end(choice, &dialogue);
    if (dialogue.dropped.count && status == EXIT_FINE)
        fprintf(world->out, "%zu left out in favour of yours. `bawn undo %s` makes %s wait again.\n",
                dialogue.dropped.count, record->name, dialogue.dropped.count == 1 ? "it" : "them");
    dialogue_free(&dialogue);
    return status;
}

int cmd_apply(const struct world *world, const struct args *args)
{
    return choose_then(world, args, apply);
}
