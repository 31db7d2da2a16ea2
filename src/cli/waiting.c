#include "cli/dialogue.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static bool is_revised(const revision_list *revisions, const char *path)
{
    for (size_t i = 0; i < revisions->count; i++) {
        if (strcmp(revisions->at[i].path, path) == 0)
            return true;
    }
    return false;
}

static void sort(revision_list *revisions)
{
    if (revisions->count)
        qsort(revisions->at, revisions->count, sizeof(*revisions->at), in_walk_order);
}

int waiting_keep_dropped(const struct choice *choice, const struct dialogue *dialogue, struct err *err)
{
    auto_tree struct tree before = {0}, after = {0};
    auto_vec revision_list befores = {0}, afters = {0};
    if (dialogue->dropped.count == 0)
        return 0;
    if (tree_load(choice->folder_fd, RECORD_DROPPED_BEFORE, &before, err) < 0 ||
        tree_load(choice->folder_fd, RECORD_DROPPED_AFTER, &after, err) < 0)
        return -1;
    for (size_t i = 0; i < dialogue->dropped.count; i++) {
        const char *path = dialogue->dropped.at[i];
        /* Of a file of which a part was discarded earlier, all that it had then is kept already. */
        bool is_kept = tree_find(&before, path) || tree_find(&after, path);
        if (is_kept || !is_revised(&dialogue->afters, path))
            continue;
        vec_push(&befores, (struct revision){path, tree_find(&choice->before, path)});
        vec_push(&afters, (struct revision){path, tree_find(&choice->after, path)});
    }
    sort(&befores);
    sort(&afters);
    return tree_revise(choice->folder_fd, RECORD_DROPPED_BEFORE, &befores, err) < 0
               ? -1
               : tree_revise(choice->folder_fd, RECORD_DROPPED_AFTER, &afters, err);
}

bool waiting_has_dropped(int folder_fd, const struct record *review)
{
    bool is_whole = review->state == STATE_DISCARDED && review->changes;
    return is_whole || record_has_note(folder_fd, RECORD_DROPPED_AFTER);
}

/* The changes that were discarded one by one, and are named. */
static int find_dropped(const struct choice *choice, struct tree *before, struct tree *after,
                        change_list *ret_dropped, struct err *err)
{
    auto_vec change_list all = {0};
    if (tree_load(choice->folder_fd, RECORD_DROPPED_BEFORE, before, err) < 0 ||
        tree_load(choice->folder_fd, RECORD_DROPPED_AFTER, after, err) < 0)
        return -1;
    compare_trees(before, after, &all);
    vec_each (const struct change, change, &all) {
        if (choose_has_path(choice, change->path))
            vec_push(ret_dropped, *change);
    }
    return 0;
}

/* They wait from now on, and are not kept any more. */
static int forget_dropped(int folder_fd, const revision_list *gone, struct err *err)
{
    auto_tree struct tree before = {0}, after = {0};
    if (tree_revise(folder_fd, RECORD_DROPPED_BEFORE, gone, err) < 0 ||
        tree_revise(folder_fd, RECORD_DROPPED_AFTER, gone, err) < 0 ||
        tree_load(folder_fd, RECORD_DROPPED_BEFORE, &before, err) < 0 ||
        tree_load(folder_fd, RECORD_DROPPED_AFTER, &after, err) < 0)
        return -1;
    if (before.entries.count + after.entries.count == 0) {
        unlinkat(folder_fd, RECORD_DROPPED_BEFORE, 0);
        unlinkat(folder_fd, RECORD_DROPPED_AFTER, 0);
    }
    return 0;
}

/* All the rest was applied: it does not wait again. */
static int leave_applied(int folder_fd, const revision_list *dropped, struct tree *before,
                         const struct tree *after, struct err *err)
{
    auto_vec change_list changes = {0};
    auto_vec revision_list befores = {0};
    compare_trees(before, after, &changes);
    vec_each (const struct change, change, &changes) {
        if (!is_revised(dropped, change->path))
            vec_push(&befores, (struct revision){change->path, change->after});
    }
    if (tree_revise(folder_fd, "before", &befores, err) < 0)
        return -1;
    tree_free(before);
    return tree_load(folder_fd, "before", before, err) < 0 ? -1 : 0;
}

int waiting_bring_back(const struct choice *choice, const struct record *review, uint64_t *ret_files,
                       struct err *err)
{
    auto_tree struct tree before = {0}, after = {0}, dropped_before = {0}, dropped_after = {0};
    auto_vec change_list dropped = {0};
    auto_vec revision_list afters = {0}, gone = {0};
    struct record record = *review;
    int folder_fd = choice->folder_fd;
    if (find_dropped(choice, &dropped_before, &dropped_after, &dropped, err) < 0)
        return -1;
    vec_each (const struct change, change, &dropped) {
        vec_push(&afters, (struct revision){change->path, change->after});
        vec_push(&gone, (struct revision){change->path, NULL});
    }
    if (tree_revise(folder_fd, "after", &afters, err) < 0 ||
        tree_load(folder_fd, "before", &before, err) < 0 || tree_load(folder_fd, "after", &after, err) < 0)
        return -1;
    if (review->state == STATE_DONE && leave_applied(folder_fd, &afters, &before, &after, err) < 0)
        return -1;
    uint64_t waited = review->state == STATE_WAITING ? review->changes : 0;
    record.changes = record_count_changes(&before, &after);
    *ret_files = record.changes > waited ? record.changes - waited : changes_count(&dropped);
    if (record.changes)
        record.state = STATE_WAITING;
    return record_save(folder_fd, &record, err) < 0 ? -1 : forget_dropped(folder_fd, &gone, err);
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
