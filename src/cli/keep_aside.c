#include <string.h>

#include "base/path.h"
#include "cli/keep_parts.h"
#include "cli/style.h"
#include "policy/decide.h"
#include "workspace/copy.h"
#include "workspace/layers.h"

/* The plan's operation that lets the tree be written. */
static struct operation *find_operation(struct loaded *loaded, const char *path)
{
    for (size_t i = 0; i < loaded->plan.operations.count; i++) {
        struct operation *operation = &loaded->plan.operations.at[i];
        if (operation->kind == OP_BIND_WRITE && strcmp(operation->path, path) == 0)
            return operation;
    }
    return NULL;
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
    struct copy_size copied;
    struct upper_request request = {.directory = store,
                                    .workspace = tree->record.workspace,
                                    .prefix = tree->record.prefix,
                                    .folder_fd = tree->session.folder_fd,
                                    .progress = progress_begin(&line, world, "copying the workspace")};
    int result = copy_make(&request, limit ? limit->limit.most : UINT64_MAX, &copied, err);
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

int keep_begin_aside(const struct world *world, struct loaded *loaded, const char *store,
                     struct kept_tree *tree, struct err *err)
{
    struct operation *operation = find_operation(loaded, tree->covered);
    if (!operation)
        return 0; /* nothing of it can be written */
    struct arena *arena = loaded->policy.arena;
    int folder_fd = tree->session.folder_fd;
    struct layers layers;
    if (layers_make(folder_fd, tree->session.folder, tree->covered, loaded->request.starts[START_RUNTIME],
                    arena, &layers, err) < 0 ||
        record_save(folder_fd, &tree->record, err) < 0)
        return -1;
    const char *why = tree->record.mode == RECORD_BRANCH ? layers.why_not : why_copy(arena, &layers);
    bool is_copied =
        why && tree->record.mode != RECORD_BRANCH && begin_copy(world, loaded, store, tree, why, err) == 0;
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
        operation->source = arena_printf(arena, "%s/copy", tree->session.folder);
        tree->is_copied = true;
    } else {
        operation->overlay = layers.folder;
        say_layers(world, arena, tree, &layers);
    }
    tree->is_on = true;
    return 0;
}

int keep_add_places(const struct loaded *loaded, const struct keeping *keeping, struct err *err)
{
    for (size_t i = 0; keeping && i < keeping->trees.count; i++) {
        const struct kept_tree *tree = &keeping->trees.at[i];
        size_t size = strlen(tree->covered);
        bool is_copied = tree->is_on && tree->is_copied;
        for (size_t j = 0; is_copied && j < loaded->plan.operations.count; j++) {
            const struct operation *operation = &loaded->plan.operations.at[j];
            if (operation->kind == OP_FREEZE && !operation->missing &&
                path_is_beneath(operation->path, tree->covered) && operation->path[size] == '/' &&
                copy_add_place(tree->session.folder_fd, operation->path + size + 1, operation->is_directory,
                               err) < 0)
                return -1;
        }
    }
    return 0;
}
