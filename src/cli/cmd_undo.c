/*
 * `bawn undo`: takes back the changes of a session, or goes back to one of its checkpoints. `bawn redo` is the undo of
 * an undo.
 */
#include <string.h>

#include "base/fd.h"
#include "base/text.h"
#include "base/timespec.h"
#include "cli/approval.h"
#include "cli/choose.h"
#include "cli/commands.h"
#include "cli/dialogue.h"
#include "cli/say.h"
#include "cli/undo.h"
#include "kernel/beneath.h"
#include "session/upkeep.h"
#include "workspace/checkpoint.h"

const char undo_usage[] = "bawn undo [--yes] [--merge | --force] [--to TIME] [SESSION] [PATH...]\n"
                          "       bawn undo --list | --prune\n"
                          "\n"
                          "Bring the files that a run changed back to their earlier state. Without\n"
                          "SESSION: the latest run in this workspace. Files that you changed meanwhile stay\n"
                          "and are listed. `bawn redo` reverses an undo, and so does a second\n"
                          "`bawn undo`. Exit status 1 if a file stayed. Without a terminal, name SESSION\n"
                          "if several can be undone. A SESSION that was discarded waits again.\n"
                          "\n"
                          "  --to TIME  go back to the last checkpoint at or before TIME, such as 04:45,\n"
                          "             '2026-11-15 04:45', or 20m (20 minutes ago)\n"
                          "  --list     list what can be undone: sessions and checkpoints\n"
                          "  --prune    forget sessions older than 30 days, and the oldest while snapshots\n"
                          "             take more than 10 GiB (docs/WORKSPACE.md: other amounts)\n"
                          "  --yes      do not ask\n"
                          "  --merge    keep your changes in other lines of a file\n"
                          "  --force    overwrite your changes\n"
                          "\n"
                          "  bawn undo\n"
                          "  bawn undo my-app-3 src/main.c\n"
                          "  bawn undo --to 04:45\n";

/* --- --to: back to a checkpoint ----------------------------------------------------------------------------------- */

/* The trees to go from and to: from the end of a session to its start or one of its checkpoints. */
struct undo_target {
    struct way way;
    /* cppcheck-suppress unusedStructMember; vec_push uses it */
    VEC(struct tree) trees; /* the way points into these trees, and into those of the choice */
    bool is_checkpoint;
    struct timespec taken; /* the checkpoint's time */
};

static bool is_over(const struct record *record)
{
    return record->mode == RECORD_LIVE && (record->state == STATE_DONE || record->state == STATE_UNDONE);
}

static int undo_choose_run(const struct world *world, const struct choice *choice,
                           const struct record **ret_record)
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
    return say_bad_input(world,
                         !found ? arena_printf(arena, "no run in %s has checkpoints", choice->workspace)
                         : found->mode != RECORD_LIVE
                             ? arena_printf(arena,
                                            "%s has no checkpoints: it did not write the workspace directly",
                                            found->name)
                             : arena_printf(arena, "%s is still running", found->name),
                         "`bawn undo --list` lists what can be undone");
}

/* The target owns the trees from now on. */
static void own_trees(struct undo_target *target, struct tree before, struct tree after)
{
    vec_push(&target->trees, before);
    vec_push(&target->trees, after);
}

/* Continues the way with the undos of this session, oldest first. */
static void follow_undos(const struct choice *choice, const struct record *record, struct undo_target *target)
{
    auto_vec record_list records = {0};
    struct err ignored;
    if (record_list_all(choice->sessions_fd, choice->loaded.policy.arena, record->workspace, &records,
                        &ignored) < 0)
        return;
    vec_each (const struct record, undo, &records) {
        if (undo->mode != RECORD_UNDO || undo->state != STATE_DONE || strcmp(undo->of, record->name) != 0)
            continue;
        auto_fd int fd = session_open(choice->sessions_fd, undo->name);
        struct tree before = {0}, after = {0};
        bool is_whole = fd >= 0 && tree_load(fd, "before", &before, &ignored) > 0 &&
                        tree_load(fd, "after", &after, &ignored) > 0;
        own_trees(target, before, after);
        if (is_whole)
            way_continue(&target->way, &before, &after);
    }
}

/* The last checkpoint with a time at or before the moment; 0: there is none. */
static uint64_t find_checkpoint(int folder_fd, time_t moment, struct timespec *ret_taken)
{
    checkpoint_list checkpoints;
    uint64_t number = 0;
    checkpoint_list_all(folder_fd, &checkpoints);
    for (size_t i = 0; i < checkpoints.count; i++) {
        if (checkpoints.at[i].taken.tv_sec > moment)
            continue; /* and the next one may be earlier, if the clock was set back */
        number = checkpoints.at[i].number;
        *ret_taken = checkpoints.at[i].taken;
    }
    vec_free(&checkpoints);
    return number;
}

/* Compares a moment of a run with the one before it, and says if the clock was set back in between. Returns whether it was. */
static bool say_set_back(const struct world *world, struct arena *arena, const struct record *record,
                         struct timespec before, struct timespec after)
{
    if (timespec_order(after, before) >= 0)
        return false;
    say_problem(world,
                arena_printf(arena, "the clock was set back during %s, from %s to %s", record->name,
                             time_text(arena, before), time_text(arena, after)),
                "a time may occur twice: bawn takes the later one, and `bawn undo --list` shows the order");
    return true;
}

static void say_step(const struct world *world, struct arena *arena, int64_t seconds, const char *when)
{
    if (seconds)
        say_problem(world,
                    arena_printf(arena, "the clock was set %s by %s %s", seconds > 0 ? "forward" : "back",
                                 duration_text(arena, seconds > 0 ? seconds : -seconds), when),
                    "checkpoints have the times that the clock showed then; `bawn undo --list` lists them");
}

/* Fills in the earliest and the latest time that the clock showed during the run, and says where it was stepped. */
static void find_bounds(const struct world *world, const struct choice *choice, const struct record *record,
                        time_t *ret_first, time_t *ret_last)
{
    struct arena *arena = choice->loaded.policy.arena;
    checkpoint_list moments;
    checkpoint_list_all(choice->folder_fd, &moments);
    vec_push(&moments, (struct checkpoint){.taken = record->ended});
    struct timespec before = record->began;
    bool is_said = false;
    *ret_first = *ret_last = before.tv_sec;
    for (size_t i = 0; i < moments.count; i++) {
        struct timespec now = moments.at[i].taken;
        is_said |= say_set_back(world, arena, record, before, now);
        *ret_first = now.tv_sec < *ret_first ? now.tv_sec : *ret_first;
        *ret_last = now.tv_sec > *ret_last ? now.tv_sec : *ret_last;
        before = now;
    }
    if (!is_said)
        say_step(world, arena, clock_step_during(&record->clock, record->began, record->ended),
                 arena_printf(arena, "during %s", record->name));
    say_step(world, arena, clock_step_since(&record->clock, record->ended),
             arena_printf(arena, "since %s ended", record->name));
    vec_free(&moments);
}

static int check_moment(const struct world *world, const struct choice *choice, const struct record *record,
                        const char *to, time_t *ret_moment)
{
    struct arena *arena = choice->loaded.policy.arena;
    time_t first, last;
    if (!time_parse(to, time(NULL), ret_moment))
        return say_bad_input(world, arena_printf(arena, "'%s' is not a time", to),
                             "use 04:45, 2026-11-16 04:45, or 20m (20 minutes ago)");
    find_bounds(world, choice, record, &first, &last);
    if (*ret_moment >= first && *ret_moment <= last + 59)
        return 0;
    bool is_before = *ret_moment < first;
    return say_bad_input(world,
                         arena_printf(arena, "%s %s %s, and that is %s", record->name,
                                      is_before ? "began" : "ended",
                                      time_text(arena, is_before ? record->began : record->ended),
                                      is_before ? "later" : "earlier"),
                         is_before ? arena_printf(arena, "`bawn undo %s` takes all of it back", record->name)
                                   : "`bawn undo --list` lists the checkpoints");
}

static int undo_find_target(const struct world *world, const struct choice *choice,
                            const struct record *record, const char *to, struct undo_target *ret_target)
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
    own_trees(ret_target, before, after);
    if (found < 0)
        return say_refused(world, &err);
    ret_target->is_checkpoint = found > 0;
    way_to_checkpoint(&choice->before, &choice->after, &before, &after, &ret_target->way);
    if (record->mode == RECORD_LIVE)
        follow_undos(choice, record, ret_target);
    return 0;
}

static void undo_target_free(struct undo_target *target)
{
    way_free(&target->way);
    for (size_t i = 0; i < target->trees.count; i++)
        tree_free(&target->trees.at[i]);
    vec_free(&target->trees);
}

/* --- undo ----------------------------------------------------------------------------------------------------------------- */

static const struct record *latest(const struct choice *choice)
{
    for (size_t i = choice->records.count; i--;) {
        if (undo_is_possible(&choice->records.at[i]))
            return &choice->records.at[i];
    }
    return NULL;
}

/* A session that ran at the same time: bawn cannot tell which of the two changed a file. */
static const struct record *find_overlap(const struct choice *choice, const struct record *record)
{
    vec_each (const struct record, other, &choice->records) {
        if (strcmp(other->name, record->name) == 0 || other->mode != RECORD_LIVE ||
            record->mode != RECORD_LIVE)
            continue;
        bool runs = other->state == STATE_RUNNING && record_is_busy(choice->sessions_fd, other->name);
        if (runs || (other->state == STATE_DONE && timespec_order(other->began, record->ended) < 0 &&
                     timespec_order(record->began, other->ended) < 0))
            return other;
    }
    return NULL;
}

static int prune_now(const struct world *world, const struct choice *choice)
{
    struct arena *arena = choice->loaded.policy.arena;
    struct pruning_limits limits;
    struct pruned pruned = {0};
    struct err err = {0};
    int status = pruning_limits(&world->caller, &choice->loaded, &limits);
    if (status)
        return status;
    if (choice->sessions_fd >= 0 &&
        pruning_run(&world->caller, &choice->loaded, &limits, choice->sessions_fd, true, &pruned, &err) < 0)
        return say_refused(world, &err);
    size_t count = pruned.sessions.count;
    fprintf(world->out, "%zu session%s forgotten%s%s, %s freed.\n", count, count == 1 ? "" : "s",
            count ? ": " : "", pruned_names(arena, &pruned.sessions), size_text(arena, pruned.bytes));
    if (pruned.left > limits.bytes)
        fprintf(world->out, "%s is still in use, more than the limit: sessions that wait or run need it.\n",
                size_text(arena, pruned.left));
    pruned_free(&pruned);
    return EXIT_FINE;
}

/* Refuses while a run that began after this one is at work: it may need the files. Returns 0, or the exit status. */
static int refuse_later_run(const struct world *world, const struct choice *choice,
                            const struct record *record)
{
    const struct record *other = find_overlap(choice, record);
    if (!other || other->state != STATE_RUNNING || timespec_order(other->began, record->ended) < 0)
        return 0;
    say_problem(world,
                arena_printf(choice->loaded.policy.arena, "%s is still running in %s", other->name,
                             choice->workspace),
                "undo again when it has ended");
    return EXIT_REFUSED;
}

/* Refuses if another run overlaps. Returns 0, or the exit status. */
static int refuse_overlap(const struct world *world, const struct choice *choice, const struct record *record)
{
    const struct record *overlap = find_overlap(choice, record);
    if (!overlap)
        return 0;
    say_problem(
        world,
        arena_printf(choice->loaded.policy.arena,
                     "%s and %s ran at the same time in %s, so bawn cannot tell which of them changed a file",
                     record->name, overlap->name, choice->workspace),
        overlap->state == STATE_RUNNING ? "wait until it has ended"
                                        : "`bawn undo --force` takes back the changes of both");
    return EXIT_REFUSED;
}

/* Chooses the session to undo. Returns 0, or the exit status. */
static int choose_session(const struct world *world, const struct args *args, struct choice *choice,
                          const struct record **ret_record)
{
    struct arena *arena = choice->loaded.policy.arena;
    if (args->to)
        return undo_choose_run(world, choice, ret_record);
    const struct record *record = choice->named ? choice->named : latest(choice);
    if (record && undo_is_possible(record)) {
        int status = choice->named ? 0 : undo_check_latest(world, args, choice, &record);
        if (status == 0 && !(args->flags & FLAG(THEIRS)))
            status = refuse_later_run(world, choice, record);
        *ret_record = record;
        return status;
    }
    return say_bad_input(world,
                         record ? arena_printf(arena, "%s changed nothing that can be undone", record->name)
                                : arena_printf(arena, "there is nothing to undo in %s", choice->workspace),
                         "`bawn undo --list` lists what can be undone");
}

/* Does taking back this session bring back what a run changed? */
static bool brings_back(const struct choice *choice, const struct record *record)
{
    return record->mode == RECORD_UNDO && !undo_is_redo(choice, record);
}

static const char *question(struct arena *arena, const struct record *record,
                            const struct undo_target *target)
{
    const char *age = age_text(arena, record->ended);
    if (target->is_checkpoint)
        return "Go back to it?";
    return record->mode == RECORD_UNDO
               ? arena_printf(arena, "Reverse %s, the undo of %s, %s?", record->name, record->of, age)
               : arena_printf(arena, "Take back what %s changed, %s?", record->name, age);
}

/* A live run is undone in its workspace only. The repository of a linked worktree lies elsewhere. */
static void say_outside(const struct world *world, const struct choice *choice, const struct record *record)
{
    const struct policy *policy = &choice->loaded.policy;
    vec_each (const struct workspace, workspace, &policy->workspaces) {
        const char *outside = workspace->git.outside;
        if (record->mode != RECORD_LIVE || !outside || strcmp(workspace->path, record->workspace) != 0 ||
            path_is_beneath(outside, record->workspace))
            continue;
        auto_buf struct buf out = {0};
        buf_add_str(&out, "Branches and index stay as they are, because the repository is in ");
        text_add_printable(&out, outside, strlen(outside));
        buf_add_str(&out, ". `git reflog` shows the earlier commits of a branch.\n");
        put(world->out, &out);
    }
}

static int undo_to(const struct world *world, const struct args *args, struct choice *choice,
                   const struct record *record, const struct undo_target *target)
{
    struct arena *arena = choice->loaded.policy.arena;
    if (target->is_checkpoint)
        fprintf(world->out, "The last checkpoint of %s by then is that of %s, %s.\n", record->name,
                time_text(arena, target->taken), age_text(arena, target->taken));
    auto_store struct store store = STORE_NONE;
    struct err err = {0};
    if (target->is_checkpoint && store_open(choice->store, &store, &err) < 0)
        return say_refused(world, &err);
    /* A checkpoint is from the middle of the run: what was decided at its end must not come back unseen. */
    auto_approval struct approval approval = {.world = world,
                                              .override = "--force takes it back anyway",
                                              .known = &choice->before,
                                              .patch = {.policy = &choice->loaded.policy,
                                                        .style = style_for_out(world, NULL),
                                                        .store = &store,
                                                        .arena = arena}};
    bool needs_approval = target->is_checkpoint && !(args->flags & FLAG(THEIRS));
    struct dialogue dialogue = {
        .mode = RECORD_UNDO,
        .of = record,
        .needs_approval = needs_approval ? approval_of_change : NULL,
        .context = &approval,
        .transition = {.directory = choice->store,
                       .workspace = choice->workspace,
                       .from = &target->way.from,
                       .to = &target->way.to,
                       .keeps_objects = true,
                       .keeps_refs = record->mode == RECORD_LIVE,
                       .overwrites = args->flags & FLAG(THEIRS)},
        .conflicts = (args->flags & FLAG(MERGE)) ? CONFLICTS_MERGE : CONFLICTS_STAY,
        .asks = !(args->flags & FLAG(YES)),
        .question = question(arena, record, target),
        .done = brings_back(choice, record) ? "brought back" : "taken back",
    };
    int status = dialogue_run(world, choice, &dialogue);
    dialogue_free(&dialogue);
    say_outside(world, choice, record);
    if (dialogue.is_complete && !target->is_checkpoint)
        undo_mark_chain(choice, record);
    else if (dialogue.is_complete)
        mark_state(choice, record->name, STATE_DONE); /* the rest of its changes can still be undone */
    const struct record *origin =
        record->mode == RECORD_UNDO ? undo_find_record(choice, undo_origin(choice, record)) : record;
    if (origin && origin->mode == RECORD_APPLY && dialogue.has_run)
        waiting_turn(world, choice, origin->of);
    return status;
}

static int undo_record(const struct world *world, const struct args *args, struct choice *choice,
                       const struct record *record)
{
    int status = choose_alone(world, choice, args->verb->name, &record);
    if (status == 0 && !(args->flags & FLAG(THEIRS)))
        status = refuse_overlap(world, choice, record);
    if (status == 0)
        status = choose_open(world, choice, record);
    if (status)
        return status;
    struct undo_target target;
    status = undo_find_target(world, choice, record, args->to, &target);
    if (status == 0)
        status = undo_to(world, args, choice, record, &target);
    undo_target_free(&target);
    return status;
}

static int undo_session(const struct world *world, const struct args *args, struct choice *choice)
{
    const struct record *record = choice->named;
    if (record && undo_is_of_discard(choice, record))
        return undo_discard(world, choice, record);
    int status = choose_session(world, args, choice, &record);
    if (status == 0 && brings_back(choice, record))
        fprintf(world->out, "%s is the undo of %s. Reversing it brings back what %s changed.\n", record->name,
                record->of, undo_origin(choice, record));
    return status ? status : undo_record(world, args, choice, record);
}

static int redo_session(const struct world *world, const struct args *args, struct choice *choice)
{
    const struct record *record = NULL;
    int status = redo_choose(world, choice, latest(choice), &record);
    return status ? status : undo_record(world, args, choice, record);
}

static int list_or_prune(const struct world *world, const struct args *args, struct choice *choice)
{
    return (args->flags & FLAG(LIST)) ? undo_list(world, choice) : prune_now(world, choice);
}

int cmd_undo(const struct world *world, const struct args *args)
{
    return (args->flags & (FLAG(LIST) | FLAG(PRUNE))) ? choose_here_then(world, args, list_or_prune)
                                                      : choose_then(world, args, undo_session);
}

int cmd_redo(const struct world *world, const struct args *args)
{
    return choose_then(world, args, redo_session);
}
