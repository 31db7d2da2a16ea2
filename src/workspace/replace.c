#include "workspace/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/map.h"
#include "kernel/beneath.h"
#include "workspace/scan.h"
#include "workspace/step.h"

/* A directory that is not itself in the list of changes, but whose time would change with a file in it. */
struct touched {
    const char *path;
    struct timespec modified;
};

/* cppcheck-suppress unusedStructMember; vec_push uses it */
typedef VEC(struct touched) touched_list;

struct execution {
    const struct replacement *replacement;
    struct replaced *replaced;
    change_list changes;
    touched_list touched;
    struct map known; /* the paths in `touched` */
    /* cppcheck-suppress unusedStructMember; vec_push uses it */
    VEC(size_t)
    made; /* changes whose new files have only their temporary name and may not be on the disk yet */
};

static struct step step_of(const struct execution *execution, size_t number)
{
    return (struct step){.replacement = execution->replacement,
                         .replaced = execution->replaced,
                         .change = &execution->changes.at[number],
                         .parent_fd = -1};
}

/* --- times of directories ----------------------------------------------------------------------------------------- */

static const char *parent_of(struct arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    return arena_copy(arena, path, slash ? (size_t)(slash - path) : 0);
}

static bool is_change(const change_list *changes, const char *path)
{
    return changes->count &&
           bsearch(path, changes->at, changes->count, sizeof(*changes->at), tree_by_path) != NULL;
}

static void note_touched(struct execution *execution, const struct step *step)
{
    const struct replacement *replacement = execution->replacement;
    const char *parent = parent_of(replacement->arena, step->change->path);
    struct stat status;
    if (is_change(&execution->changes, parent) || fstat(step->parent_fd, &status) < 0)
        return;
    void **place = map_at(&execution->known, parent, strlen(parent));
    if (*place)
        return;
    *place = execution;
    vec_push(&execution->touched, (struct touched){parent, status.st_mtim});
}

static void restore_touched(const struct execution *execution)
{
    for (size_t i = 0; i < execution->touched.count; i++) {
        const struct touched *touched = &execution->touched.at[i];
        struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, touched->modified};
        auto_fd int fd =
            open_beneath(execution->replacement->top_fd, touched->path, O_RDONLY | O_DIRECTORY, 0);
        if (fd >= 0 && futimens(fd, times) < 0)
            return; /* a wrong time is no reason to fail */
    }
}

/* --- what was made takes its name --------------------------------------------------------------------------------- */

/*
 * Finds the temporary file of a change. What it reports is dropped: step_begin reports it again when the file gets
 * its name.
 */
static int find_made(const struct execution *execution, size_t number, struct step *ret_step)
{
    struct err ignored;
    size_t said = execution->replaced->left_alone.count;
    *ret_step = step_of(execution, number);
    int begun = step_begin(ret_step, number, true, &ignored);
    execution->replaced->left_alone.count = said;
    return begun;
}

/* A name must never lead to a file whose content a power failure can lose. So the contents are written to the disk first. */
static int wait_for_disk(const struct execution *execution, struct err *err)
{
    enum { FEW = 8 };
    if (execution->made.count > FEW)
        return syncfs(execution->replacement->top_fd) < 0 ? err_sys(err, errno, "cannot write to the disk")
                                                          : 0;
    int result = 0;
    for (size_t i = 0; i < execution->made.count && result == 0; i++) {
        struct step step;
        bool has_content = find_made(execution, execution->made.at[i], &step) == 0 &&
                           S_ISREG(step.change->after->mode) && step.change->after->size;
        auto_fd int fd = has_content ? openat(step.parent_fd, step.temporary,
                                              O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC)
                                     : -1;
        if (fd >= 0 && fdatasync(fd) < 0)
            result = err_sys(err, errno, "cannot write %s to the disk", step.change->path);
        step_end(&step);
    }
    return result;
}

static int name_one(const struct execution *execution, size_t number, struct err *err)
{
    struct step step = step_of(execution, number);
    int begun = step_begin(&step, number, true, err), result = begun;
    if (begun == 0)
        result = step_take_name(&step, err);
    else if (step.parent_fd >= 0)
        step_remove_temporary(&step);
    execution->replaced->done += begun == 0 && result == 0;
    step_end(&step);
    return result < 0 ? -1 : 0;
}

/* Removes temporary files that will not get their name. */
static void drop_made(struct execution *execution)
{
    for (size_t i = 0; i < execution->made.count; i++) {
        struct step step;
        if (find_made(execution, execution->made.at[i], &step) >= 0 && step.parent_fd >= 0)
            step_remove_temporary(&step);
        step_end(&step);
    }
    execution->made.count = 0;
}

static int name_made(struct execution *execution, struct err *err)
{
    int result = wait_for_disk(execution, err);
    for (size_t i = 0; i < execution->made.count && result == 0; i++)
        result = name_one(execution, execution->made.at[i], err);
    if (result < 0)
        drop_made(execution);
    execution->made.count = 0;
    return result;
}

/* --- all of them -------------------------------------------------------------------------------------------------- */

enum phase { PHASE_REMOVE, PHASE_REPLACE, PHASE_DIRECTORIES, PHASES };

static int remove_one(struct execution *execution, struct step *step, size_t number, struct err *err)
{
    int begun = step_begin(step, number, false, err);
    if (begun != 0)
        return begun < 0 ? -1 : 0;
    note_touched(execution, step);
    int result = step_remove_old(step, err);
    execution->replaced->done += result == 0;
    return result;
}

/*
 * A directory gets its name at once, because files are made in it. Files wait for each other, so that one sync is
 * enough for many.
 */
static int replace_one(struct execution *execution, struct step *step, size_t number, struct err *err)
{
    enum { MOST_WAITING = 1000 };
    const struct change *change = step->change;
    bool needs_others = *change->after->linked_to || (change->before && S_ISDIR(change->before->mode));
    if (needs_others && name_made(execution, err) < 0)
        return -1;
    int begun = step_begin(step, number, false, err);
    if (begun != 0)
        return begun < 0 ? -1 : 0;
    note_touched(execution, step);
    int made = step_make(step, err);
    if (made != 0)
        return made < 0 ? -1 : 0;
    vec_push(&execution->made, number);
    bool waits =
        S_ISREG(change->after->mode) && !*change->after->linked_to && execution->made.count < MOST_WAITING;
    return waits ? 0 : name_made(execution, err);
}

/* Sets mode, attributes and time of a directory after all changes in it, because each of them changes its time. */
static int finish_directory(struct execution *execution, struct step *step, struct err *err)
{
    const struct replacement *replacement = execution->replacement;
    step->parent_fd = open_parent_beneath(replacement->top_fd, step->change->path, &step->name);
    if (step->parent_fd < 0)
        return 0;
    int found = scan_entry(replacement->top_fd, step->change->path, replacement->arena, &step->now, err);
    bool is_there = found > 0 && S_ISDIR(step->now.mode);
    return found < 0 ? -1 : is_there ? step_adjust(step, err) : 0;
}

static int execute_one(struct execution *execution, struct step *step, enum phase phase, size_t number,
                       struct err *err)
{
    const struct change *change = step->change;
    bool removes = !change->after, is_directory = change->after && S_ISDIR(change->after->mode);
    if (removes != (phase == PHASE_REMOVE) || (phase == PHASE_DIRECTORIES && !is_directory))
        return 0;
    return phase == PHASE_REMOVE    ? remove_one(execution, step, number, err)
           : phase == PHASE_REPLACE ? replace_one(execution, step, number, err)
                                    : finish_directory(execution, step, err);
}

static int execute_phase(struct execution *execution, enum phase phase, struct err *err)
{
    size_t count = execution->changes.count;
    for (size_t i = 0; i < count; i++) {
        /* A directory is removed, and gets its time, after its content. */
        size_t at = phase == PHASE_REPLACE ? i : count - 1 - i;
        progress_tell(execution->replacement->progress, phase * count + i, PHASES * count);
        struct step step = step_of(execution, at);
        int result = execute_one(execution, &step, phase, at, err);
        step_end(&step);
        if (result < 0) {
            drop_made(execution);
            return -1;
        }
    }
    return name_made(execution, err);
}

int replace_files(const struct replacement *replacement, struct replaced *ret_replaced, struct err *err)
{
    *ret_replaced = (struct replaced){0};
    struct execution execution = {.replacement = replacement, .replaced = ret_replaced};
    compare_trees(replacement->from, replacement->to, &execution.changes);
    int result = 0;
    for (enum phase phase = PHASE_REMOVE; result == 0 && phase < PHASES; phase++)
        result = execute_phase(&execution, phase, err);
    restore_touched(&execution);
    vec_free(&execution.changes);
    vec_free(&execution.touched);
    map_free(&execution.known);
    vec_free(&execution.made);
    return result;
}
