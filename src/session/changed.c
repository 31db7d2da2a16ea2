#include "session/capture.h"

#include "base/text.h"

enum { MOST_LOOKED_AT = 2000, MOST_KEPT = 200 };

/* A directory that is not counted is passed over, unless something on the host would run or obey it. */
static void look_at(const struct patch *patch, const struct change *change, bool counts,
                    struct changed *changed)
{
    auto_vec gate_reasons reasons = patch_reasons(patch, change);
    struct changed_file file = {patch_letter(change), arena_str(patch->arena, change->path),
                                reasons.count ? arena_str(patch->arena, reasons.at[0]) : NULL};
    if (!counts && !file.reason)
        return;
    changed->count += !counts;
    changed->risky += file.reason != NULL;
    if (!file.reason && text_starts_with(change->path, ".git/")) {
        changed->in_repository++;
        return;
    }
    if (changed->files.count >= MOST_KEPT)
        return;
    vec_push(&changed->files, file);
    /* Risky files come first. */
    if (file.reason) {
        struct changed_file *first = &changed->files.at[changed->risky - 1];
        changed->files.at[changed->files.count - 1] = *first;
        *first = file;
    }
}

void changed_find(const struct loaded *loaded, int session_fd, struct changed *changed)
{
    auto_tree struct tree before = {0}, after = {0};
    auto_store struct store store = STORE_NONE;
    struct err ignored; /* the record itself is safe: only this summary is missing */
    struct arena *arena = loaded->policy.arena;
    if (!changed->count || tree_load(session_fd, "before", &before, &ignored) <= 0 ||
        tree_load(session_fd, "after", &after, &ignored) <= 0 ||
        store_open(load_store(loaded, arena), &store, &ignored) < 0)
        return;
    struct patch patch = {.policy = &loaded->policy, .store = &store, .arena = arena};
    change_list changes;
    compare_trees(&before, &after, &changes);
    compare_find_renames(&changes);
    for (size_t i = 0, shown = 0; i < changes.count && shown < MOST_LOOKED_AT; i++) {
        if (!change_is_shown(&changes.at[i]))
            continue;
        shown++;
        look_at(&patch, &changes.at[i], change_counts(&changes, i), changed);
    }
    vec_free(&changes);
}

void changed_free(struct changed *changed)
{
    vec_free(&changed->files);
}
