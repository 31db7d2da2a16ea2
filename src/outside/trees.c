#include "outside/trees.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "journal/session.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"

/*
 * In $XDG_STATE_HOME/bawn, one path per line. bawn takes nothing out: what a command left in a tree stays
 * there. A person may delete a line. The first run that records adds the workspaces of sessions before it.
 */
#define RECORD "written"

enum { RECORD_LARGEST = 64 << 20 };

/* Inside, they are others. But other users and programs write there, too. */
static const char *const public_places[] = {"/tmp", "/var/tmp", "/dev/shm"};

void trees_add(struct trees *trees, struct arena *arena, const char *path, bool is_public)
{
    struct stat status;
    if (*path != '/' || strcmp(path, "/") == 0)
        return;
    struct written_tree tree = {.path = arena_str(arena, path), .is_public = is_public};
    if (lstat(path, &status) == 0) { /* a link that a command put there leads nowhere from here */
        tree.is_there = true;
        tree.device = status.st_dev;
        tree.inode = status.st_ino;
    }
    vec_push(&trees->list, tree);
}

void trees_free(struct trees *trees)
{
    vec_free(&trees->list);
}

const struct written_tree *trees_find(const struct trees *trees, const char *path, const struct stat *status)
{
    vec_each (const struct written_tree, tree, &trees->list) {
        if (path_is_beneath(path, tree->path) ||
            (status && tree->is_there && tree->device == status->st_dev && tree->inode == status->st_ino))
            return tree;
    }
    return NULL;
}

const struct written_tree *trees_inside(const struct trees *trees, const char *directory)
{
    vec_each (const struct written_tree, tree, &trees->list) {
        if (path_is_inside(tree->path, directory))
            return tree;
    }
    return NULL;
}

/* --- of a run ----------------------------------------------------------------------------------------------------- */

typedef VEC(const char *) path_list;

/* With full access the command writes what the user can write: no tree of that run is told apart, but for its workspaces. */
static void list_of_plan(const struct plan *plan, path_list *paths)
{
    vec_each (const struct workspace, workspace, &plan->policy->workspaces)
        vec_push(paths, workspace->path);
    vec_each (const struct operation, operation, &plan->operations) {
        if (operation->kind == OP_BIND_WRITE)
            vec_push(paths, operation->path);
    }
}

/* --- the record --------------------------------------------------------------------------------------------------- */

static bool has_path(struct bytes record, struct bytes path)
{
    struct bytes line;
    while (bytes_take_line(&record, &line)) {
        if (bytes_equal(line, path))
            return true;
    }
    return false;
}

/* The path; where it has a line break, the directory above that. */
static struct bytes one_line(const char *path)
{
    size_t size = strcspn(path, "\n");
    while (path[size] && size > 1 && path[size] != '/')
        size--;
    return bytes_of(path, size);
}

static int open_record(const char *state, struct err *err)
{
    auto_arena struct arena arena = {0};
    auto_fd int folder_fd = directories_open_made(arena_printf(&arena, "%s/bawn", state), err);
    if (folder_fd < 0)
        return -1;
    int fd = openat(folder_fd, RECORD, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0)
        return fd;
    err_sys(err, errno, "cannot record in %s/bawn/" RECORD " where the command can write", state);
    return err_hint(err, "without it, later runs do not know that programs there may be planted");
}

/* Is it an error that says no more than that there is nothing? */
static bool is_missing(int errnum)
{
    return errnum == ENOENT || errnum == ENOTDIR;
}

/* Sessions of an older bawn, which kept no record, say at least what their workspace was. */
static int list_of_sessions(const char *state, struct arena *arena, path_list *paths, struct err *err)
{
    const char *path = arena_printf(arena, "%s/bawn/sessions", state);
    auto_dir DIR *sessions = opendir(path);
    int trouble = 0;
    if (!sessions && is_missing(errno))
        return 0;
    if (!sessions)
        return err_sys(err, errno, "cannot read %s, which says where commands inside can write", path);
    for (const struct dirent *entry; (entry = directories_next(sessions, &trouble));) {
        auto_fd int fd = open_directory_at(dirfd(sessions), entry->d_name);
        const char *workspace = fd < 0 ? NULL : session_began_with(arena, fd, "workspace");
        if (workspace)
            vec_push(paths, workspace);
    }
    return trouble ? err_sys(err, trouble, "cannot read %s", path) : 0;
}

static int record(const char *state, path_list *paths, struct err *err)
{
    auto_arena struct arena arena = {0};
    auto_buf struct buf known = {0}, added = {0};
    auto_fd int fd = open_record(state, err);
    if (fd < 0)
        return -1;
    if (buf_read(&known, fd, RECORD_LARGEST) < 0)
        return err_sys(err, errno, "cannot read %s/bawn/" RECORD, state);
    if (!known.size && list_of_sessions(state, &arena, paths, err) < 0)
        return -1;
    if (known.size && known.bytes[known.size - 1] != '\n')
        buf_add_str(
            &added,
            "/.cut\n"); /* the disk was full in the middle of a path: this is not the directory above */
    /* The worktrees of branches, copies and homes would fill the record. That directory counts by itself (add_own). */
    const char *own = directories_resolve(&arena, arena_printf(&arena, "%s/bawn", state));
    for (size_t i = 0; i < paths->count; i++) {
        struct bytes path = one_line(paths->at[i]);
        if (path.size <= 1 || path_is_inside(paths->at[i], own) ||
            has_path(bytes_of(known.bytes, known.size), path) ||
            has_path(bytes_of(added.bytes, added.size), path))
            continue;
        buf_add(&added, path.at, path.size);
        buf_add_char(&added, '\n');
    }
    if (added.size && write_whole(fd, added.bytes, added.size) < 0)
        return err_sys(err, errno, "cannot record in %s/bawn/" RECORD " where the command can write", state);
    return 0;
}

int outside_record(const char *state, const struct plan *plan, struct err *err)
{
    auto_vec path_list paths = {0};
    list_of_plan(plan, &paths);
    return record(state, &paths, err);
}

int outside_record_tree(const char *state, const char *path, struct err *err)
{
    auto_vec path_list paths = {0};
    vec_push(&paths, path);
    return record(state, &paths, err);
}

static int add_of_sessions(struct trees *trees, struct arena *arena, const char *state, struct err *err)
{
    auto_vec path_list paths = {0};
    int result = list_of_sessions(state, arena, &paths, err);
    for (size_t i = 0; i < paths.count; i++)
        trees_add(trees, arena, paths.at[i], false);
    return result;
}

static int add_recorded(struct trees *trees, struct arena *arena, const char *state, struct err *err)
{
    auto_buf struct buf text = {0};
    const char *path = arena_printf(arena, "%s/bawn/" RECORD, state);
    auto_fd int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && is_missing(errno))
        return add_of_sessions(trees, arena, state, err);
    if (fd < 0 || buf_read(&text, fd, RECORD_LARGEST) < 0)
        return err_sys(err, errno, "cannot read %s, which says where commands inside can write", path);
    struct bytes rest = bytes_of(text.bytes, text.size), line;
    size_t known = trees->list.count;
    while (bytes_take_line(&rest, &line))
        trees_add(trees, arena, arena_copy(arena, line.at, line.size), false);
    for (size_t i = known; i < trees->list.count; i++)
        trees->list.at[i].record = path;
    return 0;
}

/* --- all of them -------------------------------------------------------------------------------------------------- */

static const char *folder_of(const struct outside *outside, struct arena *arena, const char *variable,
                             const char *usual)
{
    const char *value = text_variable(outside->environment, variable),
               *home = text_variable(outside->environment, "HOME");
    if (value && *value == '/')
        return value;
    home = home && *home == '/' ? home : outside->home;
    return home ? path_join(arena, home, usual) : NULL;
}

/* Private homes, layers, copies and branches lie there. */
static int add_own(const struct outside *outside, struct arena *arena, struct trees *trees, struct err *err)
{
    static const struct {
        const char *variable, *usual;
    } folders[] = {
        {"XDG_STATE_HOME", ".local/state"}, {"XDG_DATA_HOME", ".local/share"}, {"XDG_CACHE_HOME", ".cache"}};
    for (size_t i = 0; i < array_len(folders); i++) {
        const char *folder = folder_of(outside, arena, folders[i].variable, folders[i].usual);
        if (!folder)
            continue;
        trees_add(trees, arena, directories_resolve(arena, path_join(arena, folder, "bawn")), false);
        if (i == 0 && add_recorded(trees, arena, folder, err) < 0)
            return -1;
    }
    return 0;
}

int trees_gather(const struct outside *outside, struct arena *arena, struct trees *ret_trees, struct err *err)
{
    auto_vec path_list paths = {0};
    *ret_trees = (struct trees){0};
    if (outside->plan)
        list_of_plan(outside->plan, &paths);
    for (size_t i = 0; i < paths.count; i++)
        trees_add(ret_trees, arena, paths.at[i], false);
    if (add_own(outside, arena, ret_trees, err) < 0)
        return -1;
    /* Last: a tree of a run in /tmp is found as what it is. */
    for (size_t i = 0; i < array_len(public_places); i++)
        trees_add(ret_trees, arena, directories_resolve(arena, public_places[i]), true);
    return 0;
}
