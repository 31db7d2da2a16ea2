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
#include "hold/stub.h"
#include "home/files.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"
#include "kernel/process.h"
#include "session/ask_git.h"

enum { INDEX_LARGEST = 256 * 1024 * 1024 };
#define MADE_INDEX      ".bawn-index" /* git writes the index here; move_index moves it */
#define COPY_IN_SESSION "/copy"

const char *branch_worktree_name(struct arena *arena, const char *name)
{
    char *slug = arena_printf(arena, "bawn-%s", name);
    for (char *byte = slug; *byte; byte++)
        *byte = *byte == '/' ? '-' : *byte;
    return slug;
}

/* It leads through no symlink, so that git inside and bawn outside mean the same folder. */
const char *branch_tree(struct arena *arena, const char *state, const char *workspace, const char *name)
{
    return arena_printf(arena, "%s/bawn/branches/%s/%s/%s", directories_resolve(arena, state),
                        workspace_slug(arena, workspace), branch_worktree_name(arena, name),
                        path_name(workspace));
}

/* The text of `.git` in the worktree. */
static const char *link_to(struct arena *arena, const char *workspace, const char *admin)
{
    return arena_printf(arena, "gitdir: %s/%s\n", workspace, admin);
}

/* The same while the command works in a copy of the repository. */
static const char *link_aside(struct arena *arena, const char *session, const char *name)
{
    return arena_printf(arena, "gitdir: %s" COPY_IN_SESSION "/worktrees/%s\n", session,
                        branch_worktree_name(arena, name));
}

enum { LINK_LARGEST = 2 * PATH_LONGEST };

/* Does `.git` in the worktree have this text, or, if not `is_whole`, does its text end so? */
static bool leads_to(int tree_fd, const char *link, bool is_whole)
{
    auto_fd int fd = open_beneath(tree_fd, ".git", O_RDONLY | O_NONBLOCK, 0);
    auto_buf struct buf text = {0};
    return fd >= 0 && buf_read(&text, fd, LINK_LARGEST) == 0 &&
           (is_whole ? strcmp(buf_text(&text), link) == 0 : text_ends_with(buf_text(&text), link));
}

/*
 * Does the folder contain another worktree? Two workspaces whose paths differ only in a dot share a folder, and a
 * repository may have forgotten its worktree. Its contents must not be removed.
 */
static bool is_another_worktree(const char *tree, const char *link)
{
    auto_fd int tree_fd = open_absolute(tree, O_RDONLY | O_DIRECTORY);
    struct stat status;
    if (tree_fd < 0 || fstatat(tree_fd, ".git", &status, AT_SYMLINK_NOFOLLOW) < 0)
        return false;
    return !leads_to(tree_fd, link, true);
}

/* Does a session without namespaces work in it? */
static bool is_led_aside(const struct branch *branch, struct arena *arena)
{
    auto_fd int tree_fd = open_absolute(branch->tree, O_RDONLY | O_DIRECTORY);
    const char *end = link_aside(arena, "", branch->name) + strlen("gitdir: ");
    return tree_fd >= 0 && leads_to(tree_fd, end, false);
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
        found = *entry->d_name != '.' &&
                strcmp(entry->d_name, branch_worktree_name(arena, branch->name)) != 0 &&
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

static void name_branch(struct branch *branch, struct arena *arena, const char *name)
{
    branch->name = name;
    branch->tree = branch_tree(arena, branch->state, branch->workspace, name);
    branch->admin = arena_printf(arena, ".git/worktrees/%s", branch_worktree_name(arena, name));
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
            .workspace = arena_str(arena, workspace->path),
            .state = arena_str(arena, loaded.request.starts[START_STATE]),
        };
        name_branch(ret_branch, arena, request->branch);
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
    static const char script[] = "git init -q --bare --template= --object-format=\"$2\" \"$TMPDIR/g\" && "
                                 "git --git-dir=\"$TMPDIR/g\" --work-tree=. read-tree --reset -u \"$1\"";
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
    struct git_asker asker = {.caller = caller, .launch = launch};
    int result = run_errand(&asker, &errand);
    auto_fd int parent_fd = open_directory_at(AT_FDCWD, path_parent(arena, home));
    if (parent_fd >= 0 && remove_tree(parent_fd, path_name(home), err) < 0)
        return -1;
    if (result == 0)
        return 0;
    err_set(err, "git could not fill the worktree %s", branch->tree);
    return err_hint(err, "--branch does not work with alternates or partial clones");
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

/*
 * Makes git's folder for the worktree. The lock keeps other sessions from making stubs: one that found half
 * of the folder would put a stub in the place of a file that is still to come.
 */
static int make_admin(struct arena *arena, const struct branch *branch, int top_fd, int tree_fd,
                      struct err *err)
{
    const struct {
        const char *name, *text;
    } files[] = {{"HEAD", arena_printf(arena, "ref: refs/heads/%s\n", branch->name)},
                 {"commondir", "../..\n"},
                 {"gitdir", arena_printf(arena, "%s/.git\n", branch->tree)}};
    auto_fd int lock = stubs_lock(arena, branch->state, err);
    if (lock < 0)
        return -1;
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

/* Where a new branch begins: a commit, as its whole hash, or where another branch stands. */
static bool find_start(int git_fd, const char *from, struct git_position *ret_at)
{
    struct bytes text = bytes_of(from, strlen(from));
    if (git_position_take(&text, ret_at) && text.size == 0)
        return true;
    return git_branch_is_sound(from) && git_branch_position(git_fd, from, ret_at);
}

static bool has_link(const struct branch *branch, struct arena *arena)
{
    struct stat status;
    return lstat(arena_printf(arena, "%s/.git", branch->tree), &status) == 0;
}

/*
 * A branch that is to begin somewhere must not be there yet: its commits may be the user's own, or those of
 * another task. No id of a task has a '@' in it.
 */
static bool take_free_name(struct branch *branch, int git_fd, struct arena *arena)
{
    enum { MOST = 1000 };
    const char *wanted = branch->name;
    struct git_position ignored;
    for (unsigned number = 2; number <= MOST; number++) {
        if (!git_branch_position(git_fd, branch->name, &ignored) && !has_link(branch, arena))
            return true;
        name_branch(branch, arena, arena_printf(arena, "%s@%u", wanted, number));
    }
    return false;
}

/* A branch "a" leaves no room for "a/b". git finds that out only when it packs or moves one of them. */
static const char *find_in_the_way(const struct branch *branch, int git_fd, struct arena *arena)
{
    struct git_position ignored;
    for (const char *at = branch->name; (at = strchr(at, '/')); at++) {
        const char *above = arena_copy(arena, branch->name, (size_t)(at - branch->name));
        if (git_branch_position(git_fd, above, &ignored))
            return above;
    }
    return NULL;
}

int branch_open(const struct caller *caller, const struct run_request *request, struct launch *launch,
                struct arena *arena, struct branch *ret_branch)
{
    if (!git_branch_is_sound(request->branch))
        return refuse(caller, arena_printf(arena, "'%s' is not a valid branch name", request->branch), NULL);
    int status = locate(caller, request, arena, ret_branch);
    if (status)
        return status;
    const struct branch *branch = ret_branch;
    auto_fd int top_fd = open_absolute(branch->workspace, O_RDONLY | O_DIRECTORY);
    auto_fd int git_fd = top_fd < 0 ? -1 : open_beneath(top_fd, ".git", O_RDONLY | O_DIRECTORY, 0);
    if (git_fd < 0)
        return refuse(caller,
                      arena_printf(arena, "%s is not the main checkout of a repository", branch->workspace),
                      "start in the main checkout, or use --review");
    const char *in_the_way = find_in_the_way(branch, git_fd, arena);
    if (in_the_way)
        return refuse(caller,
                      arena_printf(arena, "the branch %s leaves no room for one of the name %s", in_the_way,
                                   branch->name),
                      "rename it, or use another name");
    if (request->branch_from && !take_free_name(ret_branch, git_fd, arena))
        return refuse(caller, arena_printf(arena, "there are too many branches %s@N", request->branch),
                      "remove those that you do not need");
    if (is_checked_out(branch, git_fd, arena))
        return refuse(caller, arena_printf(arena, "the branch %s is checked out already", branch->name),
                      "use another name; bawn makes the branch");
    ret_branch->is_new = !git_branch_position(git_fd, branch->name, &ret_branch->at);
    if (branch->is_new && request->branch_from && !find_start(git_fd, request->branch_from, &ret_branch->at))
        return refuse(
            caller,
            arena_printf(arena, "'%s' is neither a branch nor a whole commit hash", request->branch_from),
            NULL);
    if (branch->is_new && !request->branch_from && !git_head_position(git_fd, "HEAD", &ret_branch->at))
        return refuse(caller, "the repository has no commit to start a branch from",
                      "commit something first, or use --review");
    char head[GIT_NAME_MOST + 1];
    bool is_linked = has_link(branch, arena);
    bool is_made = is_linked && git_head_branch(top_fd, arena_printf(arena, "%s/HEAD", branch->admin), head);
    if (is_linked && is_led_aside(branch, arena))
        return refuse(caller,
                      arena_printf(arena, "the worktree %s is in use by another session", branch->tree),
                      "wait until it has ended, or use another branch name");
    if (is_linked &&
        (!is_made || is_another_worktree(branch->tree, link_to(arena, branch->workspace, branch->admin))))
        return refuse(
            caller,
            arena_printf(arena, "%s contains another worktree, or one that git has forgotten", branch->tree),
            "move it away, or use another branch name");
    if (is_made && strcmp(head, branch->name) != 0)
        return refuse(caller, arena_printf(arena, "the worktree %s is on the branch %s", branch->tree, head),
                      "use another name");
    struct err err = {0};
    if (!is_made && make(caller, launch, arena, branch, top_fd, &err) < 0) {
        caller_say_err(caller, &err);
        return EXIT_REFUSED;
    }
    ret_branch->is_made = !is_made && branch->is_new;
    return 0;
}

/* --- without namespaces -------------------------------------------------------------------------------------------- */

/* Replaces the link. Another session may have done so since this one looked. */
static int lead(const char *tree, const char *from, const char *to, struct err *err)
{
    auto_fd int tree_fd = open_absolute(tree, O_RDONLY | O_DIRECTORY);
    if (tree_fd < 0 || !leads_to(tree_fd, from, true))
        return err_set(err, "the worktree %s is in use by another session", tree);
    return files_replace(tree_fd, ".git", to, strlen(to), err);
}

int branch_lead_aside(const struct branch *branch, struct arena *arena, const char *session, struct err *err)
{
    return lead(branch->tree, link_to(arena, branch->workspace, branch->admin),
                link_aside(arena, directories_resolve(arena, session), branch->name), err);
}

int branch_lead_back(struct arena *arena, const char *state, const struct record *record, const char *session,
                     struct err *err)
{
    const char *tree = branch_tree(arena, state, record->workspace, record->of);
    const char *admin = arena_printf(arena, ".git/worktrees/%s", branch_worktree_name(arena, record->of));
    const char *aside = link_aside(arena, directories_resolve(arena, session), record->of);
    auto_fd int tree_fd = open_absolute(tree, O_RDONLY | O_DIRECTORY);
    return tree_fd >= 0 && leads_to(tree_fd, aside, true)
               ? lead(tree, aside, link_to(arena, record->workspace, admin), err)
               : 0;
}

/* --- removing it -------------------------------------------------------------------------------------------------- */

/* The worktree on its way out: it is whole, or it is gone. */
#define REMOVED ".bawn-removed"

static int remove_inside(void *context, struct err *err)
{
    const int *parent_fd = context;
    return remove_tree(*parent_fd, REMOVED, err);
}

int branch_remove(struct arena *arena, const char *state, const struct record *record, struct err *err)
{
    const char *admin = arena_printf(arena, ".git/worktrees/%s", branch_worktree_name(arena, record->of));
    const char *tree = branch_tree(arena, state, record->workspace, record->of);
    auto_fd int top_fd = open_absolute(record->workspace, O_RDONLY | O_DIRECTORY);
    if (top_fd < 0)
        return err_sys(err, errno, "cannot find the repository of the branch %s", record->of);
    if (is_another_worktree(tree, link_to(arena, record->workspace, admin)))
        return err_set(err, "%s contains another worktree", tree);
    auto_fd int parent_fd = open_absolute(path_parent(arena, tree), O_RDONLY | O_DIRECTORY);
    if (parent_fd < 0)
        return err_sys(err, errno, "cannot remove %s", tree);
    if (process_as_owner(remove_inside, &parent_fd, err) < 0)
        return -1;
    if (renameat(parent_fd, path_name(tree), parent_fd, REMOVED) < 0 && errno != ENOENT)
        return err_sys(err, errno, "cannot remove %s", tree);
    if (process_as_owner(remove_inside, &parent_fd, err) < 0)
        return -1;
    const char *name;
    auto_fd int worktrees = open_parent_beneath(top_fd, admin, &name);
    return worktrees < 0 ? err_sys(err, errno, "cannot remove %s", admin) : remove_tree(worktrees, name, err);
}

void branch_abandon(const struct branch *branch, struct arena *arena)
{
    const struct record record = {.workspace = branch->workspace, .of = branch->name};
    struct err ignored = {0}; /* what is left is an empty branch */
    struct git_position now;
    const char *name;
    if (!branch->is_made || branch_remove(arena, branch->state, &record, &ignored) < 0)
        return;
    auto_fd int git_fd = open_absolute(path_join(arena, branch->workspace, ".git"), O_RDONLY | O_DIRECTORY);
    auto_fd int parent =
        git_fd < 0 ? -1
                   : open_parent_beneath(git_fd, arena_printf(arena, "refs/heads/%s", branch->name), &name);
    const char *lock = parent < 0 ? NULL : arena_printf(arena, "%s.lock", name);
    auto_fd int fd =
        lock ? openat(parent, lock, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644) : -1;
    if (fd < 0)
        return;
    if (git_branch_position(git_fd, branch->name, &now) && strcmp(now.digits, branch->at.digits) == 0)
        unlinkat(parent, name, 0);
    unlinkat(parent, lock, 0);
}
