/* `bawn diff`: shows the changes of a session. */
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/choose.h"
#include "cli/commands.h"
#include "cli/pager.h"
#include "cli/say.h"
#include "git/refs.h"
#include "report/patch.h"
#include "session/branch.h"
#include "workspace/undo_git.h"

/* The named session, or the latest one here with changes. */
static const struct record *choose_shown(const struct choice *choice)
{
    if (choice->named)
        return choice->named;
    for (size_t i = choice->records.count; i--;) {
        const struct record *record = &choice->records.at[i];
        bool is_run = record->mode == RECORD_LIVE || record->mode == RECORD_REVIEW;
        bool is_shown = (is_run && record->changes) || record->mode == RECORD_BRANCH;
        if (is_shown && record->state != STATE_RUNNING)
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

/* The user named none: others may be meant. With `--workspace DIR --review` a run has two, one of the directory and one of the repository. */
static void add_others_that_wait(const struct choice *choice, const struct record *shown, struct buf *out)
{
    if (choice->named || shown->state != STATE_WAITING)
        return;
    vec_each (const struct record, other, &choice->records) {
        if (other->state == STATE_WAITING && strcmp(other->name, shown->name) != 0)
            buf_printf(out, "# %s waits, too; `bawn diff %s` shows it\n", other->name, other->name);
    }
}

static void print(const struct world *world, const struct args *args, const struct choice *choice,
                  const struct record *record, const struct patch *patch, struct progress *progress,
                  const change_list *changes)
{
    bool as_json = args->flags & FLAG(JSON);
    auto_buf struct buf out = {0};
    if (record->state == STATE_UNDONE && !(args->flags & (FLAG(JSON) | FLAG(NAME_ONLY))))
        buf_printf(&out, "# %s was undone: the workspace does not have these changes\n", record->name);
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
            in_git += change_counts(changes, i);
            continue;
        }
        if (!as_json && objects_has_path(change->path)) {
            objects += change_counts(changes, i);
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
            /* No patch for git has what is git's own: who asks for it wants to read it. */
            struct patch readable = *patch;
            readable.is_raw =
                patch->is_raw && !(choice->paths.count && text_starts_with(change->path, ".git/"));
            patch_add_diff(&readable, change, &out);
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
    if (!(args->flags & (FLAG(JSON) | FLAG(NAME_ONLY))))
        add_others_that_wait(choice, record, &out);
    put(world->out, &out);
}

/* --- a session with --branch -------------------------------------------------------------------------------------- */

/* Where the branch stood, in one of the trees of the session; NULL: the tree does not say. */
static const char *position(struct arena *arena, struct store *store, const struct tree *tree,
                            const char *branch)
{
    enum { POSITION_LARGEST = 128 };
    const struct entry *entry = tree_find(tree, arena_printf(arena, ".git/refs/heads/%s", branch));
    auto_buf struct buf text = {0};
    struct err ignored;
    if (!entry || entry->content != CONTENT_STORED ||
        store_read(store, &entry->blob, POSITION_LARGEST, &text, &ignored) < 0)
        return NULL;
    size_t digits = strspn(buf_text(&text), "0123456789abcdef");
    return digits == SHA1_DIGITS || digits == SHA256_DIGITS ? arena_copy(arena, text.bytes, digits) : NULL;
}

/* Adds git's output; for a terminal line by line, with everything escaped that a terminal would obey. */
static void add_foreign(struct buf *out, const struct buf *text, bool is_for_terminal)
{
    const char *at = buf_text(text), *end = at + text->size;
    while (is_for_terminal && at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline ? newline : end;
        text_add_printable(out, at, (size_t)(stop - at));
        buf_add_char(out, '\n');
        at = stop + 1;
    }
    if (!is_for_terminal)
        buf_add(out, at, text->size);
}

/* Names what lies in the worktree alone, in lines that a patch may have. */
static void add_uncommitted(const struct world *world, const struct choice *choice,
                            const struct record *record, const char *folder, struct buf *out)
{
    struct arena *arena = choice->loaded.policy.arena;
    struct uncommitted found;
    if (!branch_is_there(arena, choice->state, record)) {
        if (branch_is_kept(choice->folder_fd))
            buf_printf(out, "# Its worktree was discarded; `bawn undo %s` brings it back.\n", record->name);
        return;
    }
    if (branch_uncommitted(&world->caller, folder,
                           arena_printf(arena, "%s/bawn/sessions/%s", choice->state, record->name),
                           choice->folder_fd, arena, &found) < 0) {
        buf_add_str(out, "# `git status` there shows what is not committed.\n");
        return;
    }
    for (size_t i = 0; i < found.files.count - found.ignored; i++)
        buf_printf(out, "# not committed: %s\n", found.files.at[i]);
    uncommitted_free(&found);
}

/* Its commits as git shows them, and where the branch is. What is not committed lies in the worktree, and is named. */
static int show_branch(const struct world *world, const struct args *args, const struct choice *choice,
                       struct store *store, const struct record *record)
{
    struct arena *arena = choice->loaded.policy.arena;
    const char *folder = branch_tree(arena, choice->state, record->workspace, record->of);
    auto_buf struct buf out = {0}, text = {0};
    buf_printf(&out, "# %s worked on the branch %s, in ", record->name, record->of);
    text_add_printable(&out, folder, strlen(folder));
    buf_add_str(&out, "\n");
    add_uncommitted(world, choice, record, folder, &out);
    struct commit_range range = {
        .work_tree = record->workspace,
        .from = position(arena, store, &choice->before, record->of),
        .to = position(arena, store, &choice->after, record->of),
        .form = (args->flags & FLAG(NAME_ONLY)) ? "--name-only"
                : (args->flags & FLAG(STAT))    ? "--stat"
                : world->out_is_terminal        ? "--patch"
                                                : "--binary",
        .session = arena_printf(arena, "%s/bawn/sessions/%s", choice->state, record->name),
        .session_fd = choice->folder_fd,
    };
    if (!range.from || !range.to)
        buf_add_str(&out, "# It committed nothing.\n");
    else if (commits_compare(&world->caller, &range, arena, &text) < 0)
        buf_printf(&out, "# git cannot compare its commits: try `git diff %s %s`\n", range.from, range.to);
    add_foreign(&out, &text, world->out_is_terminal);
    struct pager pager;
    pager_begin(world, &pager);
    put(pager.world.out, &out);
    pager_end(&pager);
    return EXIT_FINE;
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
    if (record->mode == RECORD_BRANCH && !choice->paths.count && !(args->flags & FLAG(JSON)))
        return show_branch(world, args, choice, &store, record);
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
    print(&pager.world, args, choice, record, &patch, world->out_is_terminal ? NULL : progress, &changes);
    progress_end(&line);
    pager_end(&pager);
    return EXIT_FINE;
}

int cmd_diff(const struct world *world, const struct args *args)
{
    return choose_then(world, args, show);
}
