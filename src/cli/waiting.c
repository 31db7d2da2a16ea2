#include "cli/dialogue.h"

#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "cli/say.h"

void waiting_note_applied(struct dialogue *dialogue, const decision_list *decisions)
{
    if (dialogue->mode != RECORD_APPLY)
        return;
    vec_each (const struct decision, decision, decisions) {
        const struct change *change = &decision->judged.change;
        if (decision->course == COURSE_GO)
            vec_push(&dialogue->applied, (struct revision){change->path, change->after});
    }
}

static int in_walk_order(const void *a, const void *b)
{
    return tree_order(((const struct revision *)a)->path, ((const struct revision *)b)->path);
}

void waiting_drop_applied(struct dialogue *dialogue)
{
    size_t parts = dialogue->befores.count; /* of files of which some hunks were applied */
    vec_each (const struct revision, applied, &dialogue->applied) {
        bool is_part = false;
        for (size_t i = 0; i < parts; i++)
            is_part |= strcmp(dialogue->befores.at[i].path, applied->path) == 0;
        if (!is_part)
            vec_push(&dialogue->befores, *applied);
    }
    if (dialogue->befores.count)
        qsort(dialogue->befores.at, dialogue->befores.count, sizeof(*dialogue->befores.at), in_walk_order);
}

void waiting_end(const struct choice *choice, const struct dialogue *dialogue)
{
    if (dialogue->is_complete || dialogue->is_void)
        mark_state(choice, dialogue->of->name,
                   dialogue->is_void && !dialogue->has_run ? STATE_DISCARDED : STATE_DONE);
}

static bool is_same(const struct entry *a, const struct entry *b)
{
    return a && b ? entries_differ(a, b) == 0 : a == b;
}

static int turn(const struct choice *choice, int folder_fd, struct err *err)
{
    auto_tree struct tree before = {0}, revised = {0}, after = {0};
    auto_vec change_list changes = {0};
    auto_vec revision_list revisions = {0};
    if (tree_load(folder_fd, "before", &before, err) < 0)
        return -1;
    compare_trees(&choice->before, &choice->after, &changes);
    vec_each (const struct change, change, &changes) {
        if (choose_has_path(choice, change->path) && is_same(tree_find(&before, change->path), change->after))
            vec_push(&revisions, (struct revision){change->path, change->before});
    }
    struct record record;
    if (tree_revise(folder_fd, "before", &revisions, err) < 0 ||
        tree_load(folder_fd, "before", &revised, err) < 0 || tree_load(folder_fd, "after", &after, err) < 0 ||
        record_load(folder_fd, choice->loaded.policy.arena, &record, err) < 0)
        return -1;
    record.changes = record_count_changes(&revised, &after);
    if (record.state == STATE_WAITING && record.changes == 0)
        record.state = STATE_DONE;
    return record_save(folder_fd, &record, err);
}

void waiting_turn(const struct world *world, const struct choice *choice, const char *review)
{
    struct err err = {0};
    auto_fd int fd = session_open(choice->sessions_fd, review);
    if (fd >= 0 && turn(choice, fd, &err) < 0) /* else it has been pruned */
        say_err(world, &err);
}

bool waiting_is_part(const struct choice *choice, const struct record *review)
{
    vec_each (const struct record, record, &choice->records) {
        if (record->mode == RECORD_APPLY && record->state == STATE_DONE &&
            strcmp(record->of, review->name) == 0)
            return true;
    }
    return false;
}
