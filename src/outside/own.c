#include "outside/own.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "base/vec.h"
#include "kernel/process.h"
#include "outside/trees.h"

static const char *const programs[] = {
#define X(name) name,
    OWN_PROGRAMS(X)
#undef X
};

struct look {
    struct arena *arena;
    struct fsview *fs;
    const struct operations *operations;
    struct trees trees; /* those that the operations name as written */
};

/* A tree can be reached by another path, where the host has mounted it twice. Then the directory at that path is the same. */
static const struct operation *same_tree(const struct look *look, const char *path, const char *above)
{
    struct stat status;
    if (stat(above, &status) < 0)
        return NULL;
    vec_each (const struct written_tree, tree, &look->trees.list) {
        if (!tree->is_there || tree->device != status.st_dev || tree->inode != status.st_ino)
            continue;
        const char *moved = path_moved(look->arena, path, above, tree->path);
        const struct operation *written = operations_written(look->operations, moved);
        if (written)
            return written;
    }
    return NULL;
}

/* The tree by which the command can write a path that has no links. */
static const struct operation *tree_of(const struct look *look, const char *path)
{
    const struct operation *tree = operations_written(look->operations, path);
    for (size_t size = strlen(path); !tree && size > 1; size = path_parent_size(path, size))
        tree = same_tree(look, path, arena_copy(look->arena, path, size));
    return tree;
}

/* The same for any path. `*ret_real`: where it leads, or the link that can be replaced. */
static int find_tree(const struct look *look, const char *path, const struct operation **ret_tree,
                     const char **ret_real, struct err *err)
{
    const struct fs_place *place;
    *ret_tree = NULL;
    if (fs_resolve(look->fs, path, &place, err) < 0)
        return -1;
    for (const struct fs_link *link = place->links; link && !*ret_tree; link = link->next)
        *ret_tree = tree_of(look, *ret_real = link->path);
    if (!*ret_tree)
        *ret_tree = tree_of(look, *ret_real = place->real);
    return 0;
}

/* "--freeze /x/bin --freeze /x/libexec": what keeps the programs as they are. A directory that is missing cannot be frozen. */
static void add_hint(const struct look *look, const char *const *folders, struct err *err)
{
    struct err ignored;
    const char *flags = "", *missing = NULL, *real;
    for (; *folders; folders++) {
        const struct fs_place *place;
        const struct operation *tree;
        if (find_tree(look, *folders, &tree, &real, &ignored) < 0 || !tree ||
            fs_resolve(look->fs, *folders, &place, &ignored) < 0)
            continue;
        flags = arena_printf(look->arena, "%s --freeze %s", flags, *folders);
        missing = place->kind == FILE_MISSING ? *folders : missing;
    }
    if (!*flags)
        err_hint(err, "install bawn where the command cannot write, such as /usr/local");
    else if (missing)
        err_hint(err, "start a bawn that is installed elsewhere, or make %s and add%s", missing, flags);
    else
        err_hint(err, "start a bawn that is installed elsewhere, or add%s", flags);
}

/* The path is that of a program, or of a directory in which they are looked for. */
static int refuse(const struct look *look, const char *path, const char *real, const struct operation *tree,
                  struct err *err)
{
    const char *leads = strcmp(path, real) == 0 ? "" : arena_printf(look->arena, " leads to %s, which", real);
    return err_set(
        err,
        "the command could replace bawn itself, or a program that bawn starts outside: %s%s lies in %s, where it can write",
        path, leads, tree->path);
}

/*
 * One program in a directory without links. Most are no links themselves: then the directory has been judged,
 * and only a rule for this file is left.
 */
static int check_program(const struct look *look, const char *folder, const char *name, struct err *err)
{
    char target[2];
    const char *path = path_join(look->arena, folder, name), *real = path;
    const struct operation *tree = operations_written(look->operations, path);
    if (!tree && readlink(path, target, sizeof(target)) >= 0 && find_tree(look, path, &tree, &real, err) < 0)
        return -1;
    return tree ? refuse(look, path, real, tree, err) : 0;
}

static int check_folder(const struct look *look, const char *folder, struct err *err)
{
    const struct operation *tree;
    const char *real;
    if (find_tree(look, folder, &tree, &real, err) < 0)
        return -1;
    if (tree)
        return refuse(look, folder, real, tree, err);
    int result = 0;
    for (size_t i = 0; i < array_len(programs) && result == 0; i++)
        result = check_program(look, real, programs[i], err);
    return result;
}

int own_programs_check(const char *own, struct fsview *fs, const struct operations *operations,
                       struct err *err)
{
    auto_arena struct arena arena = {0};
    struct look look = {.arena = &arena, .fs = fs, .operations = operations};
    const char *folders[LIBEXEC_FOLDERS_MOST + 1];
    vec_each (const struct operation, operation, operations) {
        if (operation->kind == OP_BIND_WRITE)
            trees_add(&look.trees, &arena, operation->path, false);
    }
    libexec_folders(&arena, own, folders);
    int result = 0;
    for (const char **folder = folders; *folder && result == 0; folder++)
        result = check_folder(&look, *folder, err);
    if (result < 0)
        add_hint(&look, folders, err);
    trees_free(&look.trees);
    return result;
}
