/* `bawn diff`: shows the changes of a session. */
#include "base/json.h"
#include "base/text.h"
#include "cli/choose.h"
#include "cli/commands.h"
#include "cli/say.h"
#include "cli/terminal.h"
#include "report/patch.h"
#include "session/caller.h"
#include "workspace/objects.h"

/* The named session, or the latest one here with changes. */
static const struct record *choose_shown(const struct choice *choice)
{
    if (choice->named)
        return choice->named;
    for (size_t i = choice->records.count; i--;) {
        const struct record *record = &choice->records.at[i];
        bool is_run = record->mode == RECORD_LIVE || record->mode == RECORD_REVIEW;
        if (is_run && record->changes && record->state != STATE_RUNNING)
            return record;
    }
    return NULL;
}

/* Objects, refs and the index mean nothing to a person, so only their risky changes are shown. */
static bool is_of_repository(const struct choice *choice, const struct patch *patch,
                             const struct change *change)
{
    if (choice->paths.count || !text_starts_with(change->path, ".git/"))
        return false;
    auto_vec gate_reasons reasons = patch_reasons(patch, change);
    return reasons.count == 0;
}

static void print(const struct world *world, const struct args *args, const struct choice *choice,
                  const struct patch *patch, struct progress *progress, const change_list *changes)
{
    bool as_json = args->flags & FLAG(JSON);
    auto_buf struct buf out = {0};
    size_t in_git = 0, objects = 0;
    struct json json = {.out = &out};
    if (as_json)
        json_open(&json, NULL, '[');
    for (size_t i = 0; i < changes->count; i++) {
        const struct change *change = &changes->at[i];
        progress_tell(progress, i, changes->count);
        if (!change_is_shown(change) || !choose_has_path(choice, change->path))
            continue;
        if (!as_json && is_of_repository(choice, patch, change)) {
            in_git++;
            continue;
        }
        if (!as_json && objects_has_path(change->path)) {
            objects++;
            continue;
        }
        if (as_json) {
            patch_add_json(patch, change, &json);
        } else if (args->flags & FLAG(NAME_ONLY)) {
            /* Escaped, because a name with a newline must not look like two. */
            style_add(&patch->style, &out, COLOUR_PLAIN, change->path);
            buf_add_char(&out, '\n');
        } else if (args->flags & FLAG(STAT)) {
            patch_add_stat(patch, change, &out);
        } else {
            patch_add_diff(patch, change, &out);
        }
        if (!as_json && out.size > 65536) {
            put(world->out, &out);
            out.size = 0;
        }
    }
    if (as_json) {
        json_close(&json, ']');
        buf_add_char(&out, '\n');
    }
    if (in_git && !as_json && !(args->flags & FLAG(NAME_ONLY)))
        buf_printf(&out, "# %zu file%s of the repository in .git; `bawn diff .git` shows them\n", in_git,
                   in_git == 1 ? "" : "s");
    if (objects && !as_json && !(args->flags & FLAG(NAME_ONLY)))
        buf_printf(&out, "# %zu file%s of git's objects\n", objects, objects == 1 ? "" : "s");
    put(world->out, &out);
}

static int show(const struct world *world, const struct args *args, struct choice *choice)
{
    const struct record *record = choose_shown(choice);
    if (!record)
        return say_bad_input(world,
                             arena_printf(choice->loaded.policy.arena,
                                          "no session has changed anything in %s", choice->workspace),
                             "`bawn sessions --all` lists those of other workspaces");
    int status = choose_open(world, choice, record);
    if (status)
        return status;
    struct err err = {0};
    auto_store struct store store = STORE_NONE;
    if (store_open(choice->store, &store, &err) < 0)
        return say_refused(world, &err);
    struct pager pager;
    pager_begin(world, &pager);
    struct patch patch = {
        .policy = &choice->loaded.policy,
        .style = style_for_out(world, NULL),
        .store = &store,
        .arena = choice->loaded.policy.arena,
        .is_raw = !world->out_is_terminal,
    };
    auto_vec change_list changes = {0};
    compare_trees(&choice->before, &choice->after, &changes);
    compare_find_renames(&changes);
    struct progress_line line;
    struct progress *progress = progress_begin(&line, &world->speaker, "comparing files");
    /* On a terminal the output itself shows the progress. */
    print(&pager.world, args, choice, &patch, world->out_is_terminal ? NULL : progress, &changes);
    progress_end(&line);
    pager_end(&pager);
    return EXIT_FINE;
}

int cmd_diff(const struct world *world, const struct args *args)
{
    return choose_then(world, args, show);
}
