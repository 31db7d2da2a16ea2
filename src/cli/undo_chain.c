#include "cli/undo.h"

#include <string.h>

#include "base/fd.h"
#include "base/text.h"
#include "cli/say.h"
#include "session/upkeep.h"

const struct record *undo_find_record(const struct choice *choice, const char *name)
{
    vec_each (const struct record, record, &choice->records) {
        if (strcmp(record->name, name) == 0)
            return record;
    }
    return NULL;
}

/* What an undo is of; NULL for other sessions, and if it has been forgotten. */
static const struct record *undone_by(const struct choice *choice, const struct record *record)
{
    return record->mode == RECORD_UNDO ? undo_find_record(choice, record->of) : NULL;
}

bool undo_is_redo(const struct choice *choice, const struct record *undo)
{
    const struct record *of = undone_by(choice, undo);
    return of && of->mode == RECORD_UNDO && !undo_is_redo(choice, of);
}

const char *undo_origin(const struct choice *choice, const struct record *undo)
{
    const struct record *of = undone_by(choice, undo);
    return of && of->mode == RECORD_UNDO ? undo_origin(choice, of) : undo->of;
}

static bool takes_back(const struct choice *choice, const struct record *record)
{
    return record->mode == RECORD_UNDO && record->state == STATE_DONE && record->changes &&
           !undo_is_redo(choice, record);
}

/* The latest undo that took back this session and is in force; NULL: none. */
static const struct record *undo_of(const struct choice *choice, const struct record *session)
{
    for (size_t i = choice->records.count; i--;) {
        const struct record *record = &choice->records.at[i];
        if (takes_back(choice, record) && strcmp(undo_origin(choice, record), session->name) == 0)
            return record;
    }
    return NULL;
}

static int refuse_named(const struct world *world, const struct choice *choice)
{
    const struct record *named = choice->named;
    bool is_reversed = named->mode == RECORD_UNDO && named->state == STATE_UNDONE;
    return say_bad_input(world,
                         arena_printf(choice->loaded.policy.arena,
                                      is_reversed ? "%s is reversed already" : "%s is not undone",
                                      named->name),
                         "`bawn sessions` lists the sessions and their states");
}

/* Without a terminal, where several undos are in force, the latest may not be the one that is meant. */
static int refuse_several(const struct world *world, const struct choice *choice, const struct record *latest)
{
    struct arena *arena = choice->loaded.policy.arena;
    auto_vec name_list names = {0};
    vec_each (const struct record, record, &choice->records) {
        const char *origin = undo_origin(choice, record);
        if (takes_back(choice, record) && !text_is_among(origin, names.at, names.count))
            vec_push(&names, origin);
    }
    if (world->in_is_terminal || names.count < 2)
        return 0;
    return say_bad_input(world,
                         arena_printf(arena, "undos of several sessions can be reversed in %s: %s",
                                      choice->workspace, pruned_names(arena, &names)),
                         arena_printf(arena, "name one: `bawn redo %s` reverses the latest", latest->name));
}

int redo_choose(const struct world *world, const struct choice *choice, const struct record *latest,
                const struct record **ret_record)
{
    const struct record *named = choice->named;
    const struct record *found = !named ? latest : takes_back(choice, named) ? named : undo_of(choice, named);
    if (found && takes_back(choice, found)) {
        *ret_record = found;
        return named ? 0 : refuse_several(world, choice, found);
    }
    if (named)
        return refuse_named(world, choice);
    return say_bad_input(world,
                         arena_printf(choice->loaded.policy.arena,
                                      "there is nothing to redo in %s: the latest change is not an undo",
                                      choice->workspace),
                         "`bawn redo SESSION` brings back what an earlier undo took from that session");
}

/* Was the session undone as a whole, when the undo was made? Noted when the undo is first reversed. */
static bool was_whole(const struct choice *choice, const struct record *undo, const struct record *of)
{
    auto_fd int fd = session_open(choice->sessions_fd, undo->name);
    if (fd >= 0 && of->state == STATE_UNDONE)
        record_note(fd, RECORD_WHOLE);
    return fd >= 0 && record_has_note(fd, RECORD_WHOLE);
}

void undo_mark_chain(const struct choice *choice, const struct record *record)
{
    bool is_in_force = false;
    while (record) {
        mark_state(choice, record->name, is_in_force ? STATE_DONE : STATE_UNDONE);
        if (record->mode == RECORD_APPLY && !is_in_force)
            mark_state(choice, record->of, STATE_WAITING);
        const struct record *of = undone_by(choice, record);
        /* An undo of some paths, or to a checkpoint, has left its session in force. */
        bool is_partial = of && of->mode != RECORD_UNDO && !was_whole(choice, record, of);
        record = is_partial ? NULL : of;
        is_in_force = !is_in_force;
    }
}
