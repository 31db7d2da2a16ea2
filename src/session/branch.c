#include "session/branch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "git/objects.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"
#include "kernel/process.h"
#include "session/ask_git.h"
#include "workspace/copy.h"
#include "workspace/transition.h"

enum { INDEX_LARGEST = 256 * 1024 * 1024 };
#define MADE_INDEX ".bawn-index" /* git writes the index here; move_index moves it */

/* "bawn-NAME", git's name for the worktree. */
static const char *worktree_name(struct arena *arena, const char *name)
{
    char *slug = arena_printf(arena, "bawn-%s", name);
    for (char *byte = slug; *byte; byte++)
        *byte = *byte == '/' ? '-' : *byte;
    return slug;
}

/*
 * The path of the worktree. It is computed and not read from the repository, which a command may have written. It leads through no
 * symlink, so that git inside and bawn outside mean the same folder.
 */
static const char *tree_of(struct arena *arena, const char *state, const char *workspace, const char *name)
{
    return arena_printf(arena, "%s/bawn/branches/%s/%s/%s", directories_resolve(arena, state),
                        workspace_slug(arena, workspace), worktree_name(arena, name),
                        path_name(workspace));
}

/* The text of `.git` in the worktree. */
static const char *link_to(struct arena *arena, const char *workspace, const char *admin)
{
    return arena_printf(arena, "gitdir: %s/%s\n", workspace, admin);
}

/*
 * Does the folder contain another worktree? Two workspaces whose paths differ only in a dot share a folder, and a
 * repository may have forgotten its worktree. Its contents must not be removed.
 */
static bool is_another_worktree(const char *tree, const char *link)
{
    enum { LINK_LARGEST = 2 * PATH_LONGEST };
    auto_fd int tree_fd = open_absolute(tree, O_RDONLY | O_DIRECTORY);
    auto_fd int fd = tree_fd < 0 ? -1 : open_beneath(tree_fd, ".git", O_RDONLY | O_NONBLOCK, 0);
    auto_buf struct buf text = {0};
    struct stat status;
    if (tree_fd < 0 || fstatat(tree_fd, ".git", &status, AT_SYMLINK_NOFOLLOW) < 0)
        return false;
    return fd < 0 || buf_read(&text, fd, LINK_LARGEST) < 0 || strcmp(buf_text(&text), link) != 0;
}

/* --- checks before anything is made ------------------------------------------------------------------------------- */

/* Is the branch checked out elsewhere? Two worktrees on one branch would undo each other's commits. */
static bool is_checked_out(const struct branch *branch, int git_fd, struct arena *arena)
{
    char name[GIT_NAME_MOST + 1];
    if (git_head_branch(git_fd, "HEAD", name) && strcmp(name, branch->name) == 0)
        return true;
    auto_fd int worktrees = open_beneath(git_fd, "worktrees", O_RDONLY | O_DIRECTORY, 0);
    DIR *list = worktrees < 0 ? NULL : directories_list(worktrees);
    bool found = false;
    for (const struct dirent *entry; list && !found && (entry = readdir(list));) {
        const char *head = arena_printf(arena, "worktrees/%s/HEAD", entry->d_name);
        found = *entry->d_name != '.' && strcmp(entry->d_name, worktree_name(arena, branch->name)) != 0 &&
                git_head_branch(git_fd, head, name) && strcmp(name, branch->name) == 0;
    }
    if (list)
        closedir(list);
    return found;
}

static int refuse(const struct caller *caller, const char *message, const char *hint)
{
    caller_say(caller, message, hint);
    return EXIT_BAD_INPUT;
}

/* Finds the main checkout and the path of the worktree. */
static int locate(const struct caller *caller, const struct run_request *request, struct arena *arena,
                  struct branch *ret_branch)
{
    const struct run_request plain = {.command = request->command,
                                      .workspace_remedy = request->workspace_remedy};
    struct loaded loaded = {0};
    int status = load_plan(caller, &plain, &loaded);
    if (status == 0 && loaded.policy.workspaces.count == 0)
        status = refuse(caller, "--branch needs a git repository, and there is none here", NULL);
    if (status == 0) {
        const struct workspace *workspace = &loaded.policy.workspaces.at[0];
        *ret_branch = (struct branch){
            .name = request->branch,
            .workspace = arena_str(arena, workspace->path),
            .tree = tree_of(arena, loaded.request.starts[START_STATE], workspace->path, request->branch),
            .admin = arena_printf(arena, ".git/worktrees/%s", worktree_name(arena, request->branch)),
        };
    }
    loaded_free(&loaded);
    return status;
}

/* --- making it ---------------------------------------------------------------------------------------------------- */

static int write_new(int top_fd, const char *path, const char *text, struct err *err)
{
    const char *name;
    auto_fd int parent = open_parent_beneath(top_fd, path, &name);
    auto_fd int fd =
        parent < 0 ? -1 : openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0 && errno == EEXIST)
        return 0;
    if (fd < 0 || write_whole(fd, text, strlen(text)) < 0)
        return err_sys(err, errno, "cannot write %s", path);
    return 0;
}

/* Makes the branch under git's own lock, so that no other process makes it at the same time. */
static int make_ref(int top_fd, struct arena *arena, const struct branch *branch, struct err *err)
{
    const char *ref = arena_printf(arena, ".git/refs/heads/%s", branch->name), *name;
    auto_fd int made = directories_make_beneath(top_fd, path_parent(arena, ref));
    auto_fd int parent = open_parent_beneath(top_fd, ref, &name);
    const char *lock = arena_printf(arena, "%s.lock", name);
    if (made < 0 || parent < 0)
        return err_sys(err, errno, "cannot make the branch %s", branch->name);
    const char *text = arena_printf(arena, "%s\n", branch->at.digits);
    auto_fd int fd = openat(parent, lock, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0)
        return err_sys(err, errno, "cannot make the branch %s", branch->name);
    if (write_whole(fd, text, strlen(text)) == 0 &&
        renameat2(parent, lock, parent, name, RENAME_NOREPLACE) == 0)
        return 0;
    err_sys(err, errno, "cannot make the branch %s", branch->name);
    unlinkat(parent, lock, 0);
    return -1;
}

/*
 * git checks the commit out into the worktree, in a sandbox. The sandbox can write nothing else, and reads only the
 * objects of the repository. It has no configuration, attributes or hooks, and only git's own filters.
 */
static int fill(const struct caller *caller, struct launch *launch, struct arena *arena,
                const struct branch *branch, struct err *err)
{
    const char *objects = arena_printf(arena, "%s/.git/objects", branch->workspace);
    static const char script[] = "git init -q --bare --template= --object-format=\"$2\" /tmp/g && "
                                 "git --git-dir=/tmp/g --work-tree=. read-tree --reset -u \"$1\"";
    const char *format = strlen(branch->at.digits) == 64 ? "sha256" : "sha1";
    const char *const command[] = {"sh", "-c", script, "sh", branch->at.digits, format, NULL};
    const char *const environment[] = {"PATH=/usr/local/bin:/usr/bin:/bin",
                                       "GIT_CONFIG_NOSYSTEM=1",
                                       "GIT_CONFIG_GLOBAL=/dev/null",
                                       "GIT_ATTR_NOSYSTEM=1",
                                       "GIT_NO_LAZY_FETCH=1",
                                       arena_printf(arena, "GIT_INDEX_FILE=%s", MADE_INDEX),
                                       arena_printf(arena, "GIT_OBJECT_DIRECTORY=%s", objects),
                                       NULL};
    const struct argument rules[] = {{VERB_WORKSPACE, branch->tree}, {VERB_READ, objects}, {VERB_NET, "off"}};
    const char *home = arena_printf(arena, "%s/home", path_parent(arena, branch->tree));
    if (directories_make(home, err) < 0)
        return -1;
    struct git_errand errand = {.work_tree = branch->tree,
                                .home = home,
                                .command = command,
                                .environment = environment,
                                .rules = rules,
                                .rule_count = array_len(rules),
                                .seconds = 600};
    struct git_asker asker = {caller, launch};
    int result = run_errand(&asker, &errand);
    auto_fd int parent_fd = open_directory_at(AT_FDCWD, path_parent(arena, home));
    if (parent_fd >= 0 && remove_tree(parent_fd, path_name(home), err) < 0)
        return -1;
    if (result == 0)
        return 0;
    err_set(err, "git could not fill the worktree %s", branch->tree);
    return err_hint(
        err, "a repository whose objects lie elsewhere (alternates, partial clones) cannot be used so");
}

/* Moves the index into git's folder for the worktree, byte by byte. */
static int move_index(const struct branch *branch, int top_fd, int tree_fd, struct arena *arena,
                      struct err *err)
{
    auto_fd int from = open_beneath(tree_fd, MADE_INDEX, O_RDONLY | O_NONBLOCK, 0);
    auto_buf struct buf bytes = {0};
    struct stat status;
    if (from < 0 || fstat(from, &status) < 0 || !S_ISREG(status.st_mode) || status.st_size > INDEX_LARGEST ||
        buf_read(&bytes, from, INDEX_LARGEST) < 0)
        return err_sys(err, errno, "cannot read the index of the worktree");
    const char *path = arena_printf(arena, "%s/index", branch->admin);
    auto_fd int to = open_beneath(top_fd, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (to < 0 || write_whole(to, bytes.bytes, bytes.size) < 0 || unlinkat(tree_fd, MADE_INDEX, 0) < 0)
        return err_sys(err, errno, "cannot write %s", path);
    return 0;
}

/* Makes git's folder for the worktree. */
static int make_admin(struct arena *arena, const struct branch *branch, int top_fd, int tree_fd,
                      struct err *err)
{
    const struct {
        const char *name, *text;
    } files[] = {{"HEAD", arena_printf(arena, "ref: refs/heads/%s\n", branch->name)},
                 {"commondir", "../..\n"},
                 {"gitdir", arena_printf(arena, "%s/.git\n", branch->tree)}};
    auto_fd int admin = directories_make_beneath(top_fd, branch->admin);
    if (admin < 0)
        return err_sys(err, errno, "cannot make %s", branch->admin);
    for (size_t i = 0; i < array_len(files); i++) {
        if (write_new(top_fd, arena_printf(arena, "%s/%s", branch->admin, files[i].name), files[i].text,
                      err) < 0)
            return -1;
    }
    return move_index(branch, top_fd, tree_fd, arena, err);
}

/* Makes an empty directory for the worktree, and removes what an earlier attempt left. */
static int make_tree(struct arena *arena, const struct branch *branch, struct err *err)
{
    const char *parent = path_parent(arena, branch->tree), *name = path_name(branch->tree);
    if (directories_make(parent, err) < 0)
        return -1;
    auto_fd int parent_fd = open_directory_at(AT_FDCWD, parent);
    if (parent_fd >= 0 && remove_tree(parent_fd, name, err) < 0)
        return -1;
    if (parent_fd < 0 || mkdirat(parent_fd, name, 0700) < 0)
        return err_sys(err, errno, "cannot make %s", branch->tree);
    int fd = open_directory_at(parent_fd, name);
    return fd < 0 ? err_sys(err, errno, "cannot open %s", branch->tree) : fd;
}

/* `.git` in the worktree is written last: it exists only if all the rest does. */
static int make(const struct caller *caller, struct launch *launch, struct arena *arena,
                const struct branch *branch, int top_fd, struct err *err)
{
    auto_fd int tree_fd = make_tree(arena, branch, err);
    if (tree_fd < 0 || fill(caller, launch, arena, branch, err) < 0 ||
        (branch->is_new && make_ref(top_fd, arena, branch, err) < 0) ||
        make_admin(arena, branch, top_fd, tree_fd, err) < 0)
        return -1;
    return write_new(tree_fd, ".git", link_to(arena, branch->workspace, branch->admin), err);
}

int branch_open(const struct caller *caller, const struct run_request *request, struct launch *launch,
                struct arena *arena, struct branch *ret_branch)
{
    if (!git_branch_is_sound(request->branch))
        return refuse(caller, arena_printf(arena, "'%s' is no name for a branch", request->branch), NULL);
    int status = locate(caller, request, arena, ret_branch);
    if (status)
        return status;
    const struct branch *branch = ret_branch;
    auto_fd int top_fd = open_absolute(branch->workspace, O_RDONLY | O_DIRECTORY);
    auto_fd int git_fd = top_fd < 0 ? -1 : open_beneath(top_fd, ".git", O_RDONLY | O_DIRECTORY, 0);
    if (git_fd < 0)
        return refuse(caller,
                      arena_printf(arena, "%s is not the main checkout of a repository", branch->workspace),
                      "--branch makes a worktree beside that: start there, or use --review");
    if (is_checked_out(branch, git_fd, arena))
        return refuse(caller, arena_printf(arena, "the branch %s is checked out already", branch->name),
                      "take another name: bawn makes the branch");
    ret_branch->is_new = !git_branch_position(git_fd, branch->name, &ret_branch->at);
    if (branch->is_new && !git_head_position(git_fd, &ret_branch->at))
        return refuse(caller, "the repository has no commit that a branch could begin at",
                      "commit something first, or use --review");
    char head[GIT_NAME_MOST + 1];
    struct stat status_of_link;
    bool has_link = lstat(arena_printf(arena, "%s/.git", branch->tree), &status_of_link) == 0;
    bool is_made = has_link && git_head_branch(top_fd, arena_printf(arena, "%s/HEAD", branch->admin), head);
    if (has_link &&
        (!is_made || is_another_worktree(branch->tree, link_to(arena, branch->workspace, branch->admin))))
        return refuse(
            caller,
            arena_printf(arena, "%s holds another worktree, or one that git has forgotten", branch->tree),
            "move it away, or take another name for the branch");
    if (is_made && strcmp(head, branch->name) != 0)
        return refuse(caller, arena_printf(arena, "the worktree %s is on the branch %s", branch->tree, head),
                      "take another name");
    struct err err = {0};
    if (!is_made && make(caller, launch, arena, branch, top_fd, &err) < 0) {
        caller_say_err(caller, &err);
        return EXIT_REFUSED;
    }
    return 0;
}

/* --- after the run: which changes reach the repository ------------------------------------------------------------ */

/* The parameters of `passes`. */
struct passing {
    struct arena *arena;
    struct store *store;
    const char *name, *worktree; /* the branch, and git's name for its worktree */
};

/* Is `path` the wanted file, or a directory above it? */
static bool is_on_way(const char *path, const char *wanted)
{
    size_t size = strlen(path);
    return strncmp(path, wanted, size) == 0 && (!wanted[size] || wanted[size] == '/');
}

static bool has_content(const struct passing *passing, const struct entry *entry, const char *wanted)
{
    enum { LARGEST = 4096 };
    auto_buf struct buf text = {0};
    struct err ignored;
    struct git_position position;
    if (store_read(passing->store, &entry->blob, LARGEST, &text, &ignored) <= 0)
        return false;
    return wanted ? strcmp(buf_text(&text), wanted) == 0 : git_position_parse(buf_text(&text), &position);
}

static bool passes(const struct passing *passing, const struct entry *before, const struct entry *after)
{
    static const char *const own[] = {"index", "ORIG_HEAD", "COMMIT_EDITMSG", "logs", "logs/HEAD"};
    const char *path = after->path + strlen(".git/");
    bool is_file = S_ISREG(after->mode) && after->content == CONTENT_STORED && !*after->linked_to;
    if (!text_starts_with(after->path, ".git/") || !(is_file || S_ISDIR(after->mode)) ||
        (before && (before->mode & S_IFMT) != (after->mode & S_IFMT)))
        return false;
    if (text_starts_with(path, "objects/"))
        return !before && git_is_object_path(path + strlen("objects/"));
    const char *ref = arena_printf(passing->arena, "refs/heads/%s", passing->name);
    const char *log = arena_printf(passing->arena, "logs/%s", ref);
    if (strcmp(path, ref) == 0)
        return is_file && has_content(passing, after, NULL);
    if (is_on_way(path, ref) || is_on_way(path, log))
        return is_file == (strcmp(path, log) == 0);
    const char *worktree = arena_printf(passing->arena, "worktrees/%s/", passing->worktree);
    if (!text_starts_with(path, worktree))
        return false;
    path += strlen(worktree);
    if (strcmp(path, "HEAD") == 0)
        return is_file && has_content(passing, after,
                                      arena_printf(passing->arena, "ref: refs/heads/%s\n", passing->name));
    for (size_t i = 0; i < array_len(own); i++) {
        if (strcmp(path, own[i]) == 0)
            return is_file == (strcmp(path, "logs") != 0);
    }
    return false;
}

/*
 * Copies the entries that may pass. Removed files are left out: no file of a repository is deleted because a
 * sandbox deleted it.
 */
static void filter(const struct passing *passing, const struct tree *before, const struct tree *after,
                   struct tree *ret_before, struct tree *ret_after)
{
    ret_before->taken = before->taken;
    ret_after->taken = after->taken;
    for (size_t i = 0; i < after->entries.count; i++) {
        struct entry entry = after->entries.at[i];
        const struct entry *was = tree_find(before, entry.path);
        if (!passes(passing, was, &entry))
            continue;
        entry.mode = S_ISREG(entry.mode) ? entry.mode & ~(uint32_t)0111 : entry.mode;
        entry.attributes = was ? was->attributes : "";
        entry.attributes_size = was ? was->attributes_size : 0;
        if (was)
            vec_push(&ret_before->entries, *was);
        vec_push(&ret_after->entries, entry);
    }
}

/* Replaces the files if nobody has changed them since; otherwise the changes wait as a review. */
static int bring_in(struct arena *arena, const char *store, struct captured_tree *captured,
                    const struct tree *before, const struct tree *after, struct err *err)
{
    struct record *record = &captured->record;
    int folder_fd = captured->session.folder_fd;
    struct transition transition = {.directory = store,
                                    .workspace = record->workspace,
                                    .from = before,
                                    .to = after,
                                    .keeps_objects = true};
    decision_list decisions;
    if (transition_decide(&transition, arena, &decisions, err) < 0 ||
        repo_check_hold_broken(&transition, arena, &decisions, err) < 0)
        return -1;
    bool is_free = true;
    for (size_t i = 0; i < decisions.count; i++) {
        is_free &= decisions.at[i].course == COURSE_GO || decisions.at[i].course == COURSE_DONE;
        if (decisions.at[i].breaks && !captured->breaks)
            captured->breaks =
                arena_printf(arena, "%s: %s", decisions.at[i].judged.change.path, decisions.at[i].why);
    }
    int result;
    if (is_free) {
        struct replaced replaced = {0};
        result = transition_run(&transition, arena, &decisions, folder_fd, record, &replaced, err);
        vec_free(&replaced.left_alone);
    } else {
        record->mode = RECORD_REVIEW;
        record->state = STATE_WAITING;
        result =
            record_save_changes(folder_fd, before, after, err) < 0 ? -1 : record_save(folder_fd, record, err);
    }
    vec_free(&decisions);
    return result;
}

int branch_end(struct arena *arena, const char *store_directory, struct captured_tree *captured,
               struct err *err)
{
    struct record *record = &captured->record;
    int folder_fd = captured->session.folder_fd;
    struct upper_request request = {.directory = store_directory,
                                    .workspace = record->workspace,
                                    .prefix = record->prefix,
                                    .folder_fd = folder_fd,
                                    .began = record->began};
    auto_tree struct tree before = {0}, after = {0}, from = {0}, to = {0};
    if (upper_read(&request, err) < 0 || tree_load(folder_fd, "before", &before, err) < 0 ||
        tree_load(folder_fd, "after", &after, err) < 0)
        return -1;
    {
        auto_store struct store store = STORE_NONE;
        if (store_open(store_directory, &store, err) < 0)
            return -1;
        struct passing passing = {arena, &store, record->of, worktree_name(arena, record->of)};
        filter(&passing, &before, &after, &from, &to);
    }
    clock_gettime(CLOCK_REALTIME, &record->ended);
    record->changes = record_count_changes(&from, &to);
    if (record->changes && bring_in(arena, store_directory, captured, &from, &to, err) < 0)
        return -1;
    if (record->changes == 0) {
        record->state = STATE_DONE; /* the worktree stays */
        if (record_save(folder_fd, record, err) < 0)
            return -1;
    }
    captured->is_recorded = true;
    return kept_aside_remove(folder_fd, NULL, err);
}

/* --- removing it -------------------------------------------------------------------------------------------------- */

struct removal {
    int parent_fd;
    const char *name;
};

static int remove_inside(void *context, struct err *err)
{
    const struct removal *removal = context;
    return remove_tree(removal->parent_fd, removal->name, err);
}

int branch_remove(struct arena *arena, const char *state, const struct record *record, struct err *err)
{
    const char *admin = arena_printf(arena, ".git/worktrees/%s", worktree_name(arena, record->of));
    const char *tree = tree_of(arena, state, record->workspace, record->of);
    auto_fd int top_fd = open_absolute(record->workspace, O_RDONLY | O_DIRECTORY);
    if (top_fd < 0)
        return err_sys(err, errno, "cannot find the repository of the branch %s", record->of);
    if (is_another_worktree(tree, link_to(arena, record->workspace, admin)))
        return err_set(err, "%s holds another worktree", tree);
    auto_fd int parent_fd = open_absolute(path_parent(arena, tree), O_RDONLY | O_DIRECTORY);
    struct removal removal = {parent_fd, path_name(tree)};
    if (parent_fd < 0 || process_as_owner(remove_inside, &removal, err) < 0)
        return *err->message ? -1 : err_sys(err, errno, "cannot remove %s", tree);
    const char *name;
    auto_fd int worktrees = open_parent_beneath(top_fd, admin, &name);
    return worktrees < 0 ? err_sys(err, errno, "cannot remove %s", admin) : remove_tree(worktrees, name, err);
}
