#include "cli/keep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/style.h"
#include "hold/programs.h"
#include "policy/decide.h"
#include "workspace/record.h"
#include "workspace/snapshot.h"
#include "workspace/upper.h"

struct keeping {
    bool is_on;
    const char *store; /* where contents are kept, absolute */
    struct record record;
    struct tree start;
};

enum { MOST_MILLISECONDS = 30 * 1000, SKIP_LIST_LARGEST = 64 * 1024 };

const char *keep_store(const struct loaded *loaded, struct arena *arena)
{
    return arena_printf(arena, "%s/bawn/snapshots", loaded->request.starts[START_DATA]);
}

/* The user's own list of folders that are left out, or NULL. */
static const char *read_skip_list(const struct loaded *loaded)
{
    struct arena *arena = loaded->policy.arena;
    const struct fs_place *place = NULL;
    struct err ignored;
    char *text = NULL;
    size_t size;
    const char *path = arena_printf(arena, "%s/bawn/snapshot-skip", loaded->request.starts[START_CONFIG]);
    if (fs_resolve(loaded->request.fs, path, &place, &ignored) < 0 || place->kind != FILE_REGULAR ||
        fs_read(loaded->request.fs, place->real, SKIP_LIST_LARGEST, &text, &size, &ignored) <= 0)
        return NULL;
    return text;
}

static int take(const struct loaded *loaded, const struct keeping *keeping, int folder_fd, bool is_end,
                struct tree *ret_tree, struct err *err)
{
    struct skips skips;
    skips_parse(loaded->policy.arena, read_skip_list(loaded), &skips);
    const struct rule *limit = decide_limit(&loaded->policy, LIMIT_SNAPSHOT, NULL).decides;
    struct snapshot_request request = {
        .directory = keeping->store,
        .workspace = keeping->record.workspace,
        .skips = &skips,
        .most_bytes = limit ? limit->limit.most : UINT64_MAX,
        .most_milliseconds = MOST_MILLISECONDS,
        .same_session = is_end ? &keeping->start : NULL,
        .folder_fd = is_end ? -1 : folder_fd,
        .name = "start",
    };
    int result = snapshot_take(&request, ret_tree, err);
    skips_free(&skips);
    return result;
}

/* What the snapshot does not have, in one sentence: the run may go on, but not silently. */
static void say_left_out(const struct world *world, const struct loaded *loaded, const struct tree *tree)
{
    size_t count = 0;
    const char *example = "";
    for (size_t i = 0; i < tree->entries.count; i++) {
        const struct entry *entry = &tree->entries.at[i];
        if (entry->content == CONTENT_LEFT_OUT && !tree_is_skipped(entry) && count++ == 0)
            example = entry->path;
    }
    if (count)
        say_problem(
            world,
            arena_printf(loaded->policy.arena,
                         "`bawn undo` will not bring back the content of %zu file%s, which cannot be read "
                         "or are too large for `limit snapshot`: %s%s",
                         count, count == 1 ? "" : "s", example, count == 1 ? "" : " …"),
            NULL);
}

static void begin_live(const struct world *world, const struct loaded *loaded, const struct session *session,
                       struct keeping *keeping)
{
    struct err err = {0};
    if (take(loaded, keeping, session->folder_fd, false, &keeping->start, &err) < 0 ||
        record_save(session->folder_fd, &keeping->record, &err) < 0) {
        record_forget(session->folder_fd);
        say_problem(world,
                    arena_printf(loaded->policy.arena,
                                 "`bawn undo` will not work for this run, because there is no "
                                 "snapshot of %s: %s",
                                 keeping->record.workspace, err.message),
                    *err.hint ? err.hint : "`--review` keeps every change aside instead");
        return;
    }
    keeping->is_on = true;
    say_left_out(world, loaded, &keeping->start);
    if (loaded->policy.workspaces.count > 1)
        say_problem(world,
                    arena_printf(loaded->policy.arena, "`bawn undo` will only know %s, the first workspace",
                                 keeping->record.workspace),
                    NULL);
}

static int begin_aside(const struct loaded *loaded, const struct session *session, struct keeping *keeping,
                       struct err *err)
{
    if (loaded->policy.workspaces.count > 1)
        return err_set(err, "changes can be kept aside for one workspace at a time, and here are %zu",
                       loaded->policy.workspaces.count);
    if (upper_make(session->folder_fd, session->folder, keeping->record.workspace, err) < 0 ||
        record_save(session->folder_fd, &keeping->record, err) < 0)
        return -1;
    keeping->is_on = true;
    return 0;
}

int keep_begin(const struct world *world, const struct loaded *loaded, const struct session *session,
               flag_set flags, struct keeping **ret_keeping, struct err *err)
{
    enum record_mode mode = flags & FLAG_REVIEW    ? RECORD_REVIEW
                            : flags & FLAG_DISCARD ? RECORD_DISCARD
                                                   : RECORD_LIVE;
    struct keeping *keeping = *ret_keeping = arena_new(loaded->policy.arena, struct keeping);
    keeping->store = keep_store(loaded, loaded->policy.arena);
    if (session->folder_fd < 0 && mode != RECORD_LIVE)
        return err_set(err, "changes cannot be kept aside, because there is no folder for the session");
    if (session->folder_fd < 0 || loaded->policy.workspaces.count == 0 || loaded->request.read_only)
        return 0;
    keeping->record = (struct record){.name = session->name,
                                      .mode = mode,
                                      .state = STATE_RUNNING,
                                      .workspace = loaded->policy.workspaces.at[0].path};
    clock_gettime(CLOCK_REALTIME, &keeping->record.began);
    if (mode != RECORD_LIVE)
        return begin_aside(loaded, session, keeping, err);
    begin_live(world, loaded, session, keeping);
    return 0;
}

struct past keep_past(const struct keeping *keeping)
{
    bool has_start = keeping && keeping->is_on && keeping->record.mode == RECORD_LIVE;
    return (struct past){.workspace = has_start ? keeping->record.workspace : NULL,
                         .tree = has_start ? &keeping->start : NULL,
                         .directory = has_start ? keeping->store : NULL,
                         .store = STORE_NONE};
}

const char *keep_overlay(const struct keeping *keeping, const struct session *session)
{
    return keeping && keeping->is_on && keeping->record.mode != RECORD_LIVE ? session->folder : NULL;
}

/* Writes down what changed; a session that changed nothing leaves nothing but its journal. */
static int write_end(const struct loaded *loaded, struct keeping *keeping, int folder_fd, struct flags *flags,
                     struct err *err)
{
    auto_tree struct tree end = {0};
    int result = take(loaded, keeping, folder_fd, true, &end, err);
    if (result < 0)
        return -1;
    if (flags)
        programs_look(flags, &keeping->start, &end);
    clock_gettime(CLOCK_REALTIME, &keeping->record.ended);
    keeping->record.state = STATE_DONE;
    keeping->record.changes = record_count_changes(&keeping->start, &end);
    if (keeping->record.changes == 0) {
        record_forget(folder_fd);
        return 0;
    }
    if (record_keep_changes(folder_fd, &keeping->start, &end, err) < 0)
        return -1;
    if (record_save(folder_fd, &keeping->record, err) < 0)
        return -1;
    unlinkat(folder_fd, "start", 0);
    return 0;
}

/* Reads what was written aside, so that it waits for a person; or throws it away. */
static int write_aside_end(struct keeping *keeping, int folder_fd, struct err *err)
{
    struct record *record = &keeping->record;
    record->changes = 0;
    if (record->mode == RECORD_REVIEW) {
        struct upper_request request = {
            .directory = keeping->store,
            .workspace = record->workspace,
            .folder_fd = folder_fd,
            .began = record->began,
        };
        auto_tree struct tree before = {0}, after = {0};
        if (upper_read(&request, err) < 0 || tree_load(folder_fd, "before", &before, err) < 0 ||
            tree_load(folder_fd, "after", &after, err) < 0)
            return -1;
        record->changes = record_count_changes(&before, &after);
    }
    clock_gettime(CLOCK_REALTIME, &record->ended);
    record->state = STATE_WAITING;
    if (record->changes && record_save(folder_fd, record, err) < 0)
        return -1;
    if (upper_remove(folder_fd, err) < 0)
        return -1;
    if (!record->changes)
        record_forget(folder_fd);
    return 0;
}

static int finish(const struct loaded *loaded, struct keeping *keeping, int folder_fd, struct flags *flags,
                  struct err *err)
{
    return keeping->record.mode == RECORD_LIVE ? write_end(loaded, keeping, folder_fd, flags, err)
                                               : write_aside_end(keeping, folder_fd, err);
}

/* Now and then the oldest that can be undone are let go: most runs need not look. */
static void trim(const struct session *session)
{
    enum { UNDOABLE_KEPT = 50, SELDOM = 16 };
    const char *number = strrchr(session->name, '-');
    auto_fd int sessions_fd = -1;
    if (number && strtoul(number + 1, NULL, 10) % SELDOM == 0)
        sessions_fd = openat(session->folder_fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (sessions_fd >= 0)
        record_trim(sessions_fd, UNDOABLE_KEPT);
}

struct keep_result keep_end(const struct world *world, const struct loaded *loaded,
                            const struct session *session, struct keeping *keeping, struct flags *flags)
{
    struct keep_result kept = {RECORD_LIVE, 0};
    if (!keeping || !keeping->is_on)
        return kept;
    struct err err = {0};
    kept.mode = keeping->record.mode;
    if (finish(loaded, keeping, session->folder_fd, flags, &err) < 0)
        say_err(world, &err);
    else
        kept.changes = keeping->record.changes;
    tree_free(&keeping->start);
    trim(session);
    return kept;
}

int keep_take_up(const struct loaded *loaded, const struct session *session, const struct record *record,
                 struct keeping **ret_keeping, struct err *err)
{
    struct keeping *keeping = arena_new(loaded->policy.arena, struct keeping);
    keeping->store = keep_store(loaded, loaded->policy.arena);
    keeping->record = *record;
    int found =
        record->mode == RECORD_LIVE ? tree_load(session->folder_fd, "start", &keeping->start, err) : 1;
    keeping->is_on = found > 0;
    *ret_keeping = keeping;
    return found < 0 ? -1 : 0;
}

int keep_finish(const struct loaded *loaded, const struct session *session, struct keeping *keeping,
                struct flags *flags, uint64_t *ret_changes, struct err *err)
{
    int result = keeping->is_on ? finish(loaded, keeping, session->folder_fd, flags, err) : 0;
    *ret_changes = result == 0 && keeping->is_on ? keeping->record.changes : 0;
    tree_free(&keeping->start);
    return result;
}
