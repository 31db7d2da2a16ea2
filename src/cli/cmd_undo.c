/* Takes back what a session changed. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/timespec.h"
#include "cli/carry.h"
#include "cli/commands.h"
#include "cli/say.h"
#include "cli/undo.h"
#include "session/pruning.h"

bool undo_is_possible(const struct record *record)
{
    bool has_changed =
        record->mode == RECORD_LIVE || record->mode == RECORD_APPLY || record->mode == RECORD_UNDO;
    return has_changed && record->state == STATE_DONE && record->changes;
}

static const struct record *latest(const struct choice *choice)
{
    for (size_t i = choice->records.count; i--;) {
        if (undo_is_possible(&choice->records.at[i]))
            return &choice->records.at[i];
    }
    return NULL;
}

/* A session that ran at the same time: which of the two changed a file cannot be told. */
static const struct record *find_overlap(const struct choice *choice, const struct record *record)
{
    for (size_t i = 0; i < choice->records.count; i++) {
        const struct record *other = &choice->records.at[i];
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
        pruning_run(&world->caller, &choice->loaded, &limits, choice->sessions_fd, true, &pruned, &err) < 0) {
        say_err(world, &err);
        return EXIT_REFUSED;
    }
    size_t count = pruned.sessions.count;
    fprintf(world->out, "%zu session%s forgotten%s%s, %s freed.\n", count, count == 1 ? "" : "s",
            count ? ": " : "", pruned_names(arena, &pruned), size_text(arena, pruned.bytes));
    if (pruned.left > limits.bytes)
        fprintf(world->out, "%s is still more than is to be kept: it belongs to what waits or runs.\n",
                size_text(arena, pruned.left));
    pruned_free(&pruned);
    return EXIT_FINE;
}

/* The session that was undone is marked so; where that was an undo itself, what it undid holds again. */
static void mark_undone(const struct choice *choice, const struct record *record)
{
    mark_state(choice, record->name, STATE_UNDONE);
    if (record->mode == RECORD_UNDO)
        mark_state(choice, record->of, STATE_DONE);
    if (record->mode == RECORD_APPLY)
        mark_state(choice, record->of, STATE_WAITING);
}

/*
 * Where an apply brought a part of a file, what the session began with became that part. With the apply undone it begins
 * with what was there before it, so that all of it waits again.
 */
static void give_back(const struct world *world, const struct choice *choice, const char *name)
{
    struct err err = {0};
    auto_tree struct tree before = {0};
    revision_list revisions = {0};
    auto_fd int fd = openat(choice->sessions_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return; /* it is long forgotten */
    int result = tree_load(fd, "before", &before, &err);
    for (size_t i = 0; result > 0 && i < before.entries.count; i++) {
        const struct entry *began = &before.entries.at[i];
        const struct entry *applied = tree_find(&choice->after, began->path);
        const struct entry *present = tree_find(&choice->before, began->path);
        if (choose_has_path(choice, began->path) && applied && present &&
            applied->content == CONTENT_STORED && began->content == CONTENT_STORED &&
            memcmp(applied->blob.bytes, began->blob.bytes, sizeof(began->blob.bytes)) == 0)
            vec_push(&revisions, (struct revision){began->path, present});
    }
    if (result < 0 || tree_revise(fd, "before", &revisions, &err) < 0)
        say_err(world, &err);
    vec_free(&revisions);
}

/* Of two runs at one time nobody can tell which changed a file. Returns 0, or the exit status. */
static int refuse_overlap(const struct world *world, const struct choice *choice, const struct record *record)
{
    const struct record *overlap = find_overlap(choice, record);
    if (!overlap)
        return 0;
    say_problem(world,
                arena_printf(choice->loaded.policy.arena,
                             "%s and %s ran at the same time in %s, so that nobody can tell which of them "
                             "changed a file",
                             record->name, overlap->name, choice->workspace),
                overlap->state == STATE_RUNNING ? "wait until it has ended"
                                                : "undo with --force takes back what either changed");
    return EXIT_REFUSED;
}

/* The session that is meant. Returns 0, or the exit status. */
static int choose_session(const struct world *world, const struct args *args, const struct choice *choice,
                          const struct record **ret_record)
{
    struct arena *arena = choice->loaded.policy.arena;
    if (args->to)
        return undo_choose_run(world, choice, ret_record);
    const struct record *record = choice->named ? choice->named : latest(choice);
    if (record && undo_is_possible(record)) {
        *ret_record = record;
        return 0;
    }
    say_problem(world,
                record ? arena_printf(arena, "%s has nothing that could be undone", record->name)
                       : arena_printf(arena, "there is nothing to undo in %s", choice->workspace),
                "`bawn undo --list` lists what can be");
    return EXIT_BAD_INPUT;
}

static int undo_to(const struct world *world, const struct args *args, struct choice *choice,
                   const struct record *record, const struct undo_target *target)
{
    struct arena *arena = choice->loaded.policy.arena;
    if (target->is_checkpoint)
        fprintf(world->out, "The last checkpoint of %s by then is that of %s, %s.\n", record->name,
                time_text(arena, target->taken), age_text(arena, target->taken));
    struct carry carry = {
        .mode = RECORD_UNDO,
        .of = record,
        .transition = {.directory = choice->store,
                       .workspace = choice->workspace,
                       .from = &target->way.from,
                       .to = &target->way.to,
                       .keeps_objects = true,
                       .keeps_refs = record->mode == RECORD_LIVE,
                       .overwrites = args->flags & FLAG_THEIRS},
        .conflicts = args->flags & FLAG_MERGE ? CONFLICTS_MERGE : CONFLICTS_STAY,
        .asks = !(args->flags & FLAG_YES),
        .question = target->is_checkpoint ? "Go back to it?"
                                          : arena_printf(arena, "Take back what %s changed, %s?",
                                                         record->name, age_text(arena, record->ended)),
        .done = "taken back",
    };
    int status = carry_out(world, choice, &carry);
    carry_free(&carry);
    if (carry.is_complete && !target->is_checkpoint)
        mark_undone(choice, record);
    else if (carry.is_complete)
        mark_state(choice, record->name, STATE_DONE); /* what is left of it can be taken back */
    if (record->mode == RECORD_APPLY && carry.has_run)
        give_back(world, choice, record->of);
    return status;
}

static int undo(const struct world *world, const struct args *args, struct choice *choice)
{
    const struct record *record = NULL;
    int status = choose_session(world, args, choice, &record);
    if (status == 0 && !(args->flags & FLAG_THEIRS))
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

int cmd_undo(const struct world *world, const struct args *args)
{
    struct choice choice;
    bool only_looks = args->flags & (FLAG_LIST | FLAG_PRUNE);
    int status = only_looks ? choose_here(world, args, &choice) : choose_begin(world, args, &choice);
    if (status == 0)
        status = args->flags & FLAG_LIST    ? undo_list(world, &choice)
                 : args->flags & FLAG_PRUNE ? prune_now(world, &choice)
                                            : undo(world, args, &choice);
    choose_end(&choice);
    return status;
}
