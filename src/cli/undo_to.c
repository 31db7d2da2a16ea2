#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "cli/say.h"
#include "cli/undo.h"

/* --- which run ---------------------------------------------------------------------------------------------------- */

static bool is_over(const struct record *record)
{
    return record->mode == RECORD_LIVE && (record->state == STATE_DONE || record->state == STATE_UNDONE);
}

int undo_choose_run(const struct world *world, const struct choice *choice, const struct record **ret_record)
{
    struct arena *arena = choice->loaded.policy.arena;
    const struct record *found = choice->named;
    for (size_t i = choice->records.count; !found && i--;) {
        if (choice->records.at[i].mode == RECORD_LIVE)
            found = &choice->records.at[i];
    }
    if (found && is_over(found)) {
        *ret_record = found;
        return 0;
    }
    say_problem(world,
                !found ? arena_printf(arena, "there is no run to go back in, in %s", choice->workspace)
                : found->mode != RECORD_LIVE
                    ? arena_printf(arena,
                                   "%s has no checkpoints: it is no run that wrote the workspace itself",
                                   found->name)
                    : arena_printf(arena, "%s has not ended yet", found->name),
                "`bawn undo --list` lists what can be undone");
    return EXIT_BAD_INPUT;
}

/* --- the way there ------------------------------------------------------------------------------------------------ */

/* The trees under two names, for as long as the target is. */
static void keep_trees(struct undo_target *target, struct tree before, struct tree after)
{
    vec_push(&target->trees, before);
    vec_push(&target->trees, after);
}

/* What undos have taken back of this session since, the oldest first. */
static void follow_undos(const struct choice *choice, const struct record *record, struct undo_target *target)
{
    record_list records;
    struct err ignored;
    if (record_list_all(choice->sessions_fd, choice->loaded.policy.arena, record->workspace, &records,
                        &ignored) < 0)
        return;
    for (size_t i = 0; i < records.count; i++) {
        const struct record *undo = &records.at[i];
        if (undo->mode != RECORD_UNDO || undo->state != STATE_DONE || strcmp(undo->of, record->name) != 0)
            continue;
        auto_fd int fd =
            openat(choice->sessions_fd, undo->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        struct tree before = {0}, after = {0};
        bool is_whole = fd >= 0 && tree_load(fd, "before", &before, &ignored) > 0 &&
                        tree_load(fd, "after", &after, &ignored) > 0;
        keep_trees(target, before, after);
        if (is_whole)
            way_continue(&target->way, &before, &after);
    }
    vec_free(&records);
}

/* The last checkpoint at or before a moment; 0: none is as old. */
static uint64_t find_checkpoint(int folder_fd, time_t moment, struct timespec *ret_taken)
{
    checkpoint_list checkpoints;
    uint64_t number = 0;
    checkpoint_list_all(folder_fd, &checkpoints);
    for (size_t i = 0; i < checkpoints.count && checkpoints.at[i].taken.tv_sec <= moment; i++) {
        number = checkpoints.at[i].number;
        *ret_taken = checkpoints.at[i].taken;
    }
    vec_free(&checkpoints);
    return number;
}

static int check_moment(const struct world *world, const struct choice *choice, const struct record *record,
                        const char *to, time_t *ret_moment)
{
    struct arena *arena = choice->loaded.policy.arena;
    if (!time_parse(to, time(NULL), ret_moment)) {
        say_problem(world, arena_printf(arena, "'%s' is no time", to),
                    "write 04:45, 2026-11-15T04:45:30 or 20m, which is so long ago");
        return EXIT_BAD_INPUT;
    }
    if (*ret_moment >= record->began.tv_sec && *ret_moment <= record->ended.tv_sec + 59)
        return 0;
    bool is_before = *ret_moment < record->began.tv_sec;
    say_problem(world,
                arena_printf(arena, "%s %s %s, and that is %s", record->name, is_before ? "began" : "ended",
                             time_text(arena, is_before ? record->began : record->ended),
                             is_before ? "later" : "earlier"),
                is_before ? arena_printf(arena, "`bawn undo %s` takes all of it back", record->name)
                          : "`bawn undo --list` lists what it can go back to");
    return EXIT_BAD_INPUT;
}

int undo_find_target(const struct world *world, const struct choice *choice, const struct record *record,
                     const char *to, struct undo_target *ret_target)
{
    *ret_target = (struct undo_target){0};
    struct tree before = {0}, after = {0};
    struct err err = {0};
    time_t moment = 0;
    int status = to ? check_moment(world, choice, record, to, &moment) : 0;
    if (status)
        return status;
    uint64_t number = to ? find_checkpoint(choice->folder_fd, moment, &ret_target->taken) : 0;
    int found = number ? checkpoint_load(choice->folder_fd, number, &before, &after, &err) : 0;
    keep_trees(ret_target, before, after);
    if (found < 0) {
        say_err(world, &err);
        return EXIT_REFUSED;
    }
    ret_target->is_checkpoint = found > 0;
    way_to_checkpoint(&choice->before, &choice->after, &before, &after, &ret_target->way);
    if (record->mode == RECORD_LIVE)
        follow_undos(choice, record, ret_target);
    return 0;
}

void undo_target_free(struct undo_target *target)
{
    way_free(&target->way);
    for (size_t i = 0; i < target->trees.count; i++)
        tree_free(&target->trees.at[i]);
    vec_free(&target->trees);
}
