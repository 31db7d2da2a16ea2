/* `bawn apply`: brings the changes of a session with --review into the workspace. */
#include "cli/commands.h"
#include "cli/commits.h"
#include "cli/dialogue.h"
#include "cli/review.h"
#include "cli/say.h"
#include "report/patch.h"

struct approval {
    const struct world *world;
    struct patch patch;
};

/* Why a change needs a person's approval. On a terminal the person is asked; elsewhere the change waits. */
static const char *needs_approval(void *context, const struct change *change)
{
    const struct approval *approval = context;
    const struct world *world = approval->world;
    const struct patch *patch = &approval->patch;
    reason_list reasons;
    patch_reasons(patch, change, &reasons);
    const char *why = reasons.count ? reasons.at[0] : NULL;
    vec_free(&reasons);
    if (!why)
        return NULL;
    if (world->in_is_terminal && world->out_is_terminal) {
        auto_buf struct buf shown = {0};
        patch_add_diff(patch, change, &shown);
        put(world->out, &shown);
        if (ask(world, "Apply this all the same?"))
            return NULL;
    }
    return arena_printf(patch->arena, "risky, because: %s (--allow-risky applies it)", why);
}

/* The same for commits. Asked whatever was said of the files: a commit may have them with another content. */
static const char *commits_need_approval(void *context, const struct arrivals *arrivals,
                                         const decision_list *decisions)
{
    const struct approval *approval = context;
    const struct world *world = approval->world;
    const char *why = commits_reason(&approval->patch, arrivals, decisions);
    if (!why)
        return NULL;
    if (world->in_is_terminal && world->out_is_terminal) {
        auto_buf struct buf shown = {0};
        style_add(&approval->patch.style, &shown, COLOUR_YELLOW, "! the repository: ");
        style_add(&approval->patch.style, &shown, COLOUR_YELLOW, why);
        buf_add_char(&shown, '\n');
        put(world->out, &shown);
        if (ask(world, "Apply the commits all the same?"))
            return NULL;
    }
    return arena_printf(approval->patch.arena, "risky, because: %s (--allow-risky applies it)", why);
}

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
    struct approval approval = {
        .world = world,
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
            arena_printf(arena, "Apply what %s wrote, %s?", record->name, age_text(arena, record->ended)),
        .done = "applied",
        .needs_approval = (args->flags & FLAG(ALLOW_RISKY)) ? NULL : needs_approval,
        .commits_need_approval = (args->flags & FLAG(ALLOW_RISKY)) ? NULL : commits_need_approval,
        .context = &approval,
    };
    status = dialogue_run(world, choice, &dialogue);
    if (dialogue.is_complete)
        mark_state(choice, record->name, dialogue.is_void ? STATE_DISCARDED : STATE_DONE);
    dialogue_free(&dialogue);
    return status;
}

int cmd_apply(const struct world *world, const struct args *args)
{
    return choose_then(world, args, apply);
}
