/*
 * A worktree of --branch that is discarded stays in the content store, as the snapshot of a live run does,
 * and `bawn undo` makes it again. The session's folder gets two trees: the worktree, and git's folder for it
 * in the repository, with the index. The link between them is written last, so that a worktree without its
 * link is one that was not made whole: it can be made again.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "hold/stub.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"
#include "session/branch.h"
#include "workspace/replace.h"
#include "workspace/snapshot.h"

static const char *admin_path(struct arena *arena, const struct record *record)
{
    return arena_printf(arena, "%s/.git/worktrees/%s", record->workspace,
                        branch_worktree_name(arena, record->of));
}

bool branch_is_there(struct arena *arena, const char *state, const struct record *record)
{
    struct stat status;
    const char *tree = branch_tree(arena, state, record->workspace, record->of);
    return lstat(arena_printf(arena, "%s/.git", tree), &status) == 0;
}

bool branch_is_kept(int folder_fd)
{
    return record_has_note(folder_fd, RECORD_KEPT_WORKTREE);
}

void branch_forget_kept(int folder_fd)
{
    unlinkat(folder_fd, RECORD_KEPT_WORKTREE, 0);
    unlinkat(folder_fd, RECORD_KEPT_ADMIN, 0);
}

/* --- keeping ------------------------------------------------------------------------------------------------------- */

/* What cannot be kept is not removed. A directory that a build makes again is left out, and named. */
static int find_left_out(struct arena *arena, const struct tree *tree, const char **left_out, struct err *err)
{
    enum { MOST_NAMED = 3 };
    size_t count = 0;
    vec_each (const struct entry, entry, &tree->entries) {
        if (S_ISREG(entry->mode) && entry->content != CONTENT_STORED) {
            err_set(err, "no copy of %s can be kept: it cannot be read, or is too large for `limit snapshot`",
                    entry->path);
            return err_hint(err, "move it away, or remove the worktree with `git worktree remove --force`");
        }
        if (tree_is_skipped(entry) && count++ < MOST_NAMED)
            *left_out = arena_printf(arena, "%s%s%s", *left_out, **left_out ? ", " : "", entry->path);
    }
    if (count > MOST_NAMED)
        *left_out = arena_printf(arena, "%s and %zu more", *left_out, count - MOST_NAMED);
    return 0;
}

/* Git's link to its folder is made anew. */
static void drop_link(struct tree *tree)
{
    const struct entry *link = tree_find(tree, ".git");
    size_t at = link ? (size_t)(link - tree->entries.at) : tree->entries.count;
    if (!link)
        return;
    memmove(&tree->entries.at[at], &tree->entries.at[at + 1],
            (tree->entries.count - at - 1) * sizeof(*tree->entries.at));
    tree->entries.count--;
}

static int keep_one(const struct branch_copy *copy, const char *path, const char *name, const char **left_out,
                    struct err *err)
{
    struct capture capture = {.loaded = copy->loaded, .store = copy->store};
    struct captured_tree captured = {.session = SESSION_NONE, .record = {.workspace = path}};
    auto_tree struct tree tree = {0};
    if (capture_snapshot(&capture, &captured, copy->progress, &tree, err) < 0)
        return -1;
    drop_link(&tree);
    return find_left_out(copy->arena, &tree, left_out, err) < 0
               ? -1
               : tree_save(&tree, copy->folder_fd, name, err);
}

/* The contents, and then the trees that name them, must be on the disk before a file is removed. */
static int wait_for_disk(struct store *store, int folder_fd, struct err *err)
{
    static const char *const names[] = {RECORD_KEPT_ADMIN, RECORD_KEPT_WORKTREE};
    if (store_wait_for_disk(store, err) < 0)
        return -1;
    for (size_t i = 0; i < array_len(names); i++) {
        auto_fd int fd = openat(folder_fd, names[i], O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 || fdatasync(fd) < 0)
            return err_sys(err, errno, "cannot record the copy of the worktree");
    }
    return fsync(folder_fd) < 0 ? err_sys(err, errno, "cannot record the copy of the worktree") : 0;
}

int branch_keep(const struct branch_copy *copy, const char **ret_left_out, struct err *err)
{
    const struct record *record = copy->record;
    auto_store struct store store = STORE_NONE;
    const char *left_out = "";
    if (store_open(copy->store, &store, err) < 0)
        return -1;
    auto_fd int trees_fd = snapshot_hold_trees(&store, err);
    if (trees_fd < 0)
        return -1;
    if (keep_one(copy, admin_path(copy->arena, record), RECORD_KEPT_ADMIN, &left_out, err) < 0 ||
        keep_one(copy, branch_tree(copy->arena, copy->state, record->workspace, record->of),
                 RECORD_KEPT_WORKTREE, &left_out, err) < 0 ||
        wait_for_disk(&store, copy->folder_fd, err) < 0) {
        branch_forget_kept(copy->folder_fd);
        return -1;
    }
    *ret_left_out = left_out;
    return 0;
}

/* --- making it again ----------------------------------------------------------------------------------------------- */

/* A file that is there already stays; it is no error if it is the same. */
static int fill(const struct branch_copy *copy, int top_fd, const char *name, struct err *err)
{
    auto_store struct store store = STORE_NONE;
    auto_tree struct tree tree = {0}, nothing = {0};
    struct replaced replaced = {0};
    if (store_open(copy->store, &store, err) < 0 || tree_load(copy->folder_fd, name, &tree, err) < 0)
        return -1;
    struct replacement replacement = {.top_fd = top_fd,
                                      .store = &store,
                                      .arena = copy->arena,
                                      .from = &nothing,
                                      .to = &tree,
                                      .mark = copy->record->name,
                                      .again = true,
                                      .progress = copy->progress};
    int result = replace_files(&replacement, &replaced, err);
    if (result == 0 && replaced.left_alone.count)
        result = err_set(err, "%s cannot be brought back: %s", replaced.left_alone.at[0].path,
                         replaced.left_alone.at[0].why);
    vec_free(&replaced.left_alone);
    return result;
}

int branch_bring_back(const struct branch_copy *copy, struct err *err)
{
    const struct record *record = copy->record;
    struct arena *arena = copy->arena;
    const char *tree = branch_tree(arena, copy->state, record->workspace, record->of);
    const char *admin = admin_path(arena, record), *link = arena_printf(arena, "gitdir: %s\n", admin);
    if (branch_is_there(arena, copy->state, record)) {
        err_set(err, "the worktree %s is there again", tree);
        return err_hint(err, "discard that one first, or move it away");
    }
    if (directories_make(tree, err) < 0)
        return -1;
    auto_fd int tree_fd = open_absolute(tree, O_RDONLY | O_DIRECTORY);
    if (tree_fd < 0)
        return err_sys(err, errno, "cannot open %s", tree);
    if (fill(copy, tree_fd, RECORD_KEPT_WORKTREE, err) < 0)
        return -1;
    auto_fd int lock = stubs_lock(arena, copy->state, err);
    auto_fd int top_fd = lock < 0 ? -1 : open_absolute(record->workspace, O_RDONLY | O_DIRECTORY);
    if (lock < 0)
        return -1;
    auto_fd int made =
        top_fd < 0 ? -1 : directories_make_beneath(top_fd, admin + strlen(record->workspace) + 1);
    auto_fd int admin_fd = made < 0 ? -1 : open_beneath(made, "", O_RDONLY | O_DIRECTORY, 0);
    if (admin_fd < 0)
        return err_sys(err, errno, "cannot make %s", admin);
    if (fill(copy, admin_fd, RECORD_KEPT_ADMIN, err) < 0)
        return -1;
    const struct new_file file = {
        .temporary = ".git.bawn-new", .bytes = link, .size = strlen(link), .mode = 0644};
    return replace_file(tree_fd, ".git", &file) < 0 ? err_sys(err, errno, "cannot write %s/.git", tree) : 0;
}
