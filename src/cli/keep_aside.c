#include <string.h>

#include "base/path.h"
#include "cli/keep_parts.h"
#include "cli/style.h"
#include "policy/decide.h"
#include "workspace/copied.h"
#include "workspace/layers.h"

/* The number of the operation that lets the tree be written; that of no operation where nothing does. */
static size_t find_operation(const struct operations *operations, const char *path)
{
    size_t i = 0;
    while (i < operations->count &&
           !(operations->at[i].kind == OP_BIND_WRITE && strcmp(operations->at[i].path, path) == 0))
        i++;
    return i;
}

static void say_layers(const struct world *world, struct arena *arena, const struct kept_tree *tree,
                       const struct layers *layers)
{
    if (layers->folder != tree->session.folder)
        say_problem(
            world,
            arena_printf(arena,
                         "what is written waits in %s until the command ends, because the file system "
                         "of %s takes no overlay%s",
                         layers->folder, tree->session.folder,
                         layers->is_memory ? "; it is memory, and lost if the machine goes down" : ""),
            NULL);
    if (layers->foreign)
        say_problem(
            world,
            arena_printf(arena,
                         "%s belongs to another user or group, so that nothing can change it under an "
                         "overlay (EOVERFLOW)",
                         layers->foreign),
            "`chown` it, or run without --review, where `bawn undo` takes changes back");
}

/* The next best to an overlay: the command works in a copy of the tree. */
static int begin_copy(const struct world *world, const struct loaded *loaded, const char *store,
                      const struct kept_tree *tree, const char *why, struct err *err)
{
    struct arena *arena = loaded->policy.arena;
    const struct rule *limit = decide_limit(&loaded->policy, LIMIT_SNAPSHOT, NULL).decides;
    struct progress_line line;
    struct copied copied;
    struct upper_request request = {.directory = store,
                                    .workspace = tree->record.workspace,
                                    .prefix = tree->record.prefix,
                                    .folder_fd = tree->session.folder_fd,
                                    .progress = progress_begin(&line, world, "copying the workspace")};
    int result = copied_make(&request, limit ? limit->limit.most : UINT64_MAX, &copied, err);
    progress_end(&line);
    if (result == 0)
        say_problem(world,
                    arena_printf(arena, "the command works in a copy of %s (%llu files, %s), because %s",
                                 tree->covered, (unsigned long long)copied.files,
                                 size_text(arena, copied.bytes), why),
                    NULL);
    return result;
}

/* Why an overlay will not do, or NULL. */
static const char *why_copy(struct arena *arena, const struct layers *layers)
{
    if (layers->why_not)
        return layers->why_not;
    return layers->foreign ? arena_printf(arena,
                                          "%s belongs to another user or group, so that nothing could change "
                                          "it under an overlay",
                                          layers->foreign)
                           : NULL;
}

int keep_begin_aside(const struct world *world, const struct loaded *loaded, const struct keeping *keeping,
                     struct kept_tree *tree, struct err *err)
{
    size_t operation = find_operation(&loaded->plan.operations, tree->covered);
    if (operation == loaded->plan.operations.count)
        return 0; /* nothing of it can be written */
    struct arena *arena = loaded->policy.arena;
    int folder_fd = tree->session.folder_fd;
    struct layers layers;
    if (layers_make(folder_fd, tree->session.folder, tree->covered, loaded->request.starts[START_RUNTIME],
                    arena, &layers, err) < 0 ||
        record_save(folder_fd, &tree->record, err) < 0)
        return -1;
    const char *why = tree->record.mode == RECORD_BRANCH ? layers.why_not : why_copy(arena, &layers);
    bool is_copied = why && tree->record.mode != RECORD_BRANCH &&
                     begin_copy(world, loaded, keeping->store, tree, why, err) == 0;
    if (layers.why_not && !is_copied) {
        struct err copying = *err;
        record_forget(folder_fd);
        err_set(err, "what is written to %s cannot be kept aside: %s%s%s", tree->covered, layers.why_not,
                *copying.message ? "; and " : "", copying.message);
        return err_hint(err,
                        "set XDG_STATE_HOME to a folder on another file system, or run without --review");
    }
    if (is_copied && upper_remove(folder_fd, NULL, err) < 0)
        return -1;
    if (is_copied) {
        amend_copy(keeping->amendments, operation, arena_printf(arena, "%s/copy", tree->session.folder));
        tree->is_copied = true;
    } else {
        amend_layer(keeping->amendments, operation, layers.folder);
        say_layers(world, arena, tree, &layers);
    }
    tree->is_on = true;
    return 0;
}

int keep_add_places(const struct hold *hold, const struct keeping *keeping, struct err *err)
{
    for (size_t i = 0; keeping && i < keeping->trees.count; i++) {
        const struct kept_tree *tree = &keeping->trees.at[i];
        size_t size = strlen(tree->covered);
        bool is_copied = tree->is_on && tree->is_copied;
        for (size_t j = 0; is_copied && j < hold->plan->operations.count; j++) {
            struct operation operation = hold_operation(hold, j);
            if (operation.kind == OP_FREEZE && !operation.missing &&
                path_is_beneath(operation.path, tree->covered) && operation.path[size] == '/' &&
                copied_add_place(tree->session.folder_fd, operation.path + size + 1, operation.is_directory,
                                 err) < 0)
                return -1;
        }
    }
    return 0;
}
