#include "cli/undo.h"

#include <string.h>

#include "base/fd.h"
#include "base/text.h"
#include "cli/say.h"
#include "session/upkeep.h"

/* If the record is an undo that left something of its session: that session. Otherwise NULL. */
static const struct record *unfinished_by(const struct choice *choice, const struct record *record)
{
    const struct record *of = record->mode == RECORD_UNDO ? undo_find_record(choice, record->of) : NULL;
    auto_fd int fd = of && of->state == STATE_DONE ? session_open(choice->sessions_fd, record->name) : -1;
    return fd >= 0 && record_has_note(fd, RECORD_UNFINISHED) ? of : NULL;
}

/*
 * If the latest session is an undo that left something, --force and --merge are about what it left. Without them nobody
 * can tell whether it is to be finished or reversed.
 */
static int check_unfinished(const struct world *world, const struct args *args, const struct choice *choice,
                            const struct record **record)
{
    const struct record *undo = *record, *of = unfinished_by(choice, undo);
    struct arena *arena = choice->loaded.policy.arena;
    if (!of)
        return 0;
    *record = of;
    if (args->flags & (FLAG(THEIRS) | FLAG(MERGE)))
        return 0;
    return say_bad_input(
        world,
        arena_printf(arena, "%s took back a part of %s: name the session that you mean", undo->name,
                     of->name),
        arena_printf(arena,
                     "`bawn undo %s` takes back the rest, with --force also your changes; `bawn undo %s` "
                     "reverses the undo",
                     of->name, undo->name));
}

/* The latest session, and why an undo does not take it back, as in "my-app-3 worked on a branch"; NULL if it does. */
static const char *passed_over(const struct choice *choice)
{
    struct arena *arena = choice->loaded.policy.arena;
    const char *idle = choose_idle_run(choice);
    if (idle)
        return arena_printf(arena, "%s changed nothing", idle);
    const struct record *record = &choice->records.at[choice->records.count - 1];
    if (choice->paths.count)
        return NULL; /* the paths say what is meant */
    return record->mode == RECORD_BRANCH   ? arena_printf(arena, "%s worked on a branch", record->name)
           : record->mode == RECORD_REVIEW ? arena_printf(arena, "%s was a run with --review", record->name)
                                           : NULL;
}

/*
 * Without a person who sees what the question names, the latest session may be that of another run. What
 * counts are the runs whose changes are in the workspace, each with its undos: an older one that was taken
 * back is not meant.
 */
static int check_several(const struct world *world, const struct choice *choice, const struct record *record)
{
    struct arena *arena = choice->loaded.policy.arena;
    auto_vec name_list names = {0};
    vec_each (const struct record, other, &choice->records) {
        const char *origin = other->mode == RECORD_UNDO ? undo_origin(choice, other) : other->name;
        bool fits = undo_is_possible(other) && (other->mode != RECORD_UNDO || undo_is_redo(choice, other) ||
                                                strcmp(other->name, record->name) == 0);
        if (fits && !text_is_among(origin, names.at, names.count))
            vec_push(&names, origin);
    }
    if (world->in_is_terminal || names.count < 2)
        return 0;
    return say_bad_input(world,
                         arena_printf(arena, "several sessions can be undone in %s: %s", choice->workspace,
                                      pruned_names(arena, &names)),
                         arena_printf(arena, "name one: `bawn undo %s` takes back the latest", record->name));
}

int undo_check_latest(const struct world *world, const struct args *args, struct choice *choice,
                      const struct record **record)
{
    struct arena *arena = choice->loaded.policy.arena;
    int status = check_unfinished(world, args, choice, record);
    if (status == 0 && choice->paths.count) /* a mistyped session is reported first */
        status = choose_open(world, choice, *record);
    const char *what = status ? NULL : passed_over(choice);
    if (!what)
        return status ? status : check_several(world, choice, *record);
    bool is_undo = (*record)->mode == RECORD_UNDO;
    const char *text = arena_printf(arena, "%s; the session before it is %s%s%s", what, (*record)->name,
                                    is_undo ? ", the undo of " : "", is_undo ? (*record)->of : "");
    if (world->in_is_terminal && !(args->flags & FLAG(YES))) {
        fprintf(world->out, "%s.\n", text);
        return 0; /* the question follows */
    }
    return say_bad_input(world, text,
                         arena_printf(arena, "`bawn undo %s` %s", (*record)->name,
                                      is_undo ? "reverses that undo" : "takes back what that changed"));
}
