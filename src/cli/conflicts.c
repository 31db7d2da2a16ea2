#include "cli/dialogue.h"

#include "cli/say.h"
#include "report/patch.h"

struct resolution {
    const struct choice *choice;
    struct dialogue *dialogue;
    struct store *store;
    rewrite_list rewrites;
};

static void merge_sides(struct resolution *resolution, struct decision *decision,
                        const struct conflict *conflict)
{
    const struct dialogue *dialogue = resolution->dialogue;
    struct arena *arena = resolution->choice->loaded.policy.arena;
    struct merge merge = {&conflict->base, &conflict->ours, &conflict->theirs, "yours", dialogue->of->name};
    auto_buf struct buf joined = {0}, clashing = {0};
    size_t clashes = merge_texts(&merge, &joined);
    bool merges = dialogue->conflicts == CONFLICTS_MERGE || dialogue->conflicts == CONFLICTS_MARK;
    if (merges && (clashes == 0 || dialogue->conflicts == CONFLICTS_MARK)) {
        decision->course = COURSE_GO;
        vec_push(&resolution->rewrites, (struct rewrite){.of = decision, .text = joined});
        joined = (struct buf){0};
        return;
    }
    merge_clashes(&merge, &clashing);
    decision->details = arena_copy(arena, clashing.bytes, clashing.size);
    const char *help =
        dialogue->mode == RECORD_APPLY ? "--markers writes both into the file" : "--force overwrites it";
    decision->why = clashes ? arena_printf(arena, "it was changed since, in the same lines (%s)", help)
                            : "it was changed since, in other lines (--merge merges both)";
}

static int resolve_one(struct resolution *resolution, struct decision *decision, struct err *err)
{
    struct dialogue *dialogue = resolution->dialogue;
    if (dialogue->conflicts == CONFLICTS_OURS) {
        decision->course = COURSE_DROPPED;
        vec_push(&dialogue->dropped, decision->judged.change.path);
        vec_push(&dialogue->afters,
                 (struct revision){decision->judged.change.path, decision->judged.change.before});
        return 0;
    }
    auto_conflict struct conflict conflict = {0};
    int read = conflict_read(&dialogue->transition, resolution->store, decision, &conflict, err);
    if (read > 0)
        merge_sides(resolution, decision, &conflict);
    return read < 0 ? -1 : 0;
}

/* Makes the merged texts the new content of the decisions and of the session's record. */
static int use_merged(struct resolution *resolution, struct err *err)
{
    struct dialogue *dialogue = resolution->dialogue;
    if (rewrite_all(resolution->choice->store, resolution->choice->folder_fd,
                    resolution->choice->loaded.policy.arena, &resolution->rewrites, err) < 0)
        return -1;
    for (size_t i = 0; i < resolution->rewrites.count; i++) {
        struct decision *decision = (struct decision *)resolution->rewrites.at[i].of;
        decision->judged.change.after = resolution->rewrites.at[i].entry;
        vec_push(&dialogue->afters,
                 (struct revision){decision->judged.change.path, resolution->rewrites.at[i].entry});
    }
    return 0;
}

int conflicts_resolve(const struct world *world, const struct choice *choice, struct dialogue *dialogue,
                      decision_list *decisions)
{
    struct err err = {0};
    auto_store struct store store = STORE_NONE;
    struct resolution resolution = {.choice = choice, .dialogue = dialogue, .store = &store};
    int result = store_open(choice->store, &store, &err);
    for (size_t i = 0; i < decisions->count && result == 0; i++) {
        struct decision *decision = &decisions->at[i];
        if (decision->course == COURSE_CONFLICT && change_is_shown(&decision->judged.change) &&
            choose_has_path(choice, decision->judged.change.path))
            result = resolve_one(&resolution, decision, &err);
    }
    if (result == 0)
        result = use_merged(&resolution, &err);
    rewrites_free(&resolution.rewrites);
    if (result < 0)
        say_err(world, &err);
    return result < 0 ? EXIT_REFUSED : 0;
}
