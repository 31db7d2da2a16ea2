#include "session/arrivals.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "git/judge.h"
#include "git/objects.h"
#include "git/refs.h"
#include "git/repo.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"
#include "session/ask_git.h"

/* In the session's folder: what came, and git's home, which must not be seen under its own path inside. */
#define PLACE   "arrivals"
#define CAME    PLACE "/came"
#define GIT_DIR ".git/"

enum { MOST_LOGGED = 100000 };

/* One repository: the workspace's own, or that of a submodule. */
struct looking {
    const struct arrivals_request *request;
    struct arena *arena;
    const decision_list *decisions;
    struct store *store;
    const char *git_dir; /* relative, with its slash: ".git/", ".git/modules/lib/" */
    struct git_refs before, after, logged;
    bool has_loose; /* an object in a file of its own would come */
    /* cppcheck-suppress unusedStructMember; vec_push uses it */
    VEC(const char *) packs;
};

bool arrivals_concern(const char *path)
{
    return text_starts_with(path, GIT_DIR);
}

/* A file of this repository that would come; NULL: it is none. */
static const struct entry *file_of(const struct looking *looking, const struct decision *decision)
{
    const struct entry *after = decision->judged.change.after;
    const char *path = decision->judged.change.path;
    bool is_file = decision->course == COURSE_GO && after && S_ISREG(after->mode) &&
                   after->content == CONTENT_STORED && text_starts_with(path, looking->git_dir) &&
                   git_repository_size(path) == strlen(looking->git_dir);
    return is_file ? after : NULL;
}

/* --- where refs will stand ---------------------------------------------------------------------------------------- */

static void read_packed(struct looking *looking, struct bytes text)
{
    for (struct git_packed_line line; git_packed_next(&text, &line);) {
        if (line.kind != GIT_PACKED_REF || !git_packed_is_sound(&line))
            continue; /* repo_check.c holds a file with a line that is junk */
        const char *name = arena_copy(looking->arena, line.name.at, line.name.size);
        vec_push(&looking->after.list, (struct git_ref){.name = name, .at = line.at, .is_packed = true});
    }
}

/* A file, relative to the directory of a work tree in a repository, that names positions without being a ref. */
static bool is_mention(const char *inner)
{
    return text_starts_with(inner, "logs/") || strcmp(inner, "ORIG_HEAD") == 0;
}

static void add_logged(struct looking *looking, const char *name, const struct git_position *at)
{
    struct git_refs *logged = &looking->logged;
    if (git_position_is_null(at))
        return;
    if (logged->list.count >= MOST_LOGGED)
        logged->unread = name;
    else
        vec_push(&logged->list, ((struct git_ref){.name = name, .at = *at}));
}

/* The lines that are new. repo_check.c holds a log with a line that is junk. */
static int read_log(struct looking *looking, const char *name, const struct entry *was, const char *text,
                    struct err *err)
{
    auto_buf struct buf old = {0};
    if (was && S_ISREG(was->mode) && was->content == CONTENT_STORED &&
        store_read(looking->store, &was->blob, GIT_PACKED_REFS_MOST, &old, err) < 0)
        return -1;
    size_t known = text_starts_with(text, buf_text(&old)) ? old.size : 0;
    struct bytes rest = bytes_of(text + known, strlen(text + known)), line;
    while (bytes_take_line(&rest, &line)) {
        struct git_position from, to;
        if (!git_logged_parse(line, &from, &to))
            continue;
        add_logged(looking, name, &from);
        add_logged(looking, name, &to);
    }
    return 0;
}

static int read_position(struct looking *looking, const struct decision *decision, const struct entry *file,
                         struct err *err)
{
    const char *path = decision->judged.change.path, *name = git_inner_of(path).path;
    bool is_packed = strcmp(path + strlen(looking->git_dir), "packed-refs") == 0;
    auto_buf struct buf text = {0};
    struct git_ref ref = {.name = name};
    if (!is_packed && !is_mention(name) && strcmp(name, "HEAD") != 0 && !text_starts_with(name, "refs/"))
        return 0;
    if (store_read(looking->store, &file->blob, GIT_PACKED_REFS_MOST, &text, err) < 0)
        return -1;
    if (text_starts_with(name, "logs/"))
        return read_log(looking, name, decision->judged.change.before, buf_text(&text), err);
    if (is_packed)
        read_packed(looking, bytes_of(buf_text(&text), text.size));
    else if (git_position_parse(buf_text(&text), &ref.at) && is_mention(name))
        add_logged(looking, name, &ref.at);
    else if (git_position_parse(buf_text(&text), &ref.at))
        vec_push(&looking->after.list, ref);
    return 0;
}

static int read_positions(struct looking *looking, struct err *err)
{
    for (size_t i = 0; i < looking->decisions->count; i++) {
        const struct decision *decision = &looking->decisions->at[i];
        const struct entry *file = file_of(looking, decision);
        if (file && read_position(looking, decision, file, err) < 0)
            return -1;
    }
    return 0;
}

/* --- the objects -------------------------------------------------------------------------------------------------- */

static bool is_object(const char *path)
{
    const char *inner = path + git_repository_size(path);
    return text_starts_with(inner, "objects/") && git_is_object_path(inner + strlen("objects/"));
}

/* The file by which git finds what is in a pack. */
static bool is_pack_index(const char *path)
{
    return text_starts_with(path + git_repository_size(path), "objects/pack/") &&
           text_ends_with(path, ".idx");
}

static int write_object(struct looking *looking, int came_fd, const char *path, const struct entry *file,
                        struct err *err)
{
    const char *name;
    auto_fd int made = directories_make_beneath(came_fd, path_parent(looking->arena, path));
    auto_fd int parent = made < 0 ? -1 : open_parent_beneath(came_fd, path, &name);
    auto_fd int fd =
        parent < 0 ? -1 : openat(parent, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_sys(err, errno, "cannot make room for the new objects");
    return store_write_out(looking->store, &file->blob, fd, err);
}

/* Writes the objects, and the list of commits where history was cut off, if that is new. */
static int write_objects(struct looking *looking, int came_fd, struct err *err)
{
    for (size_t i = 0; i < looking->decisions->count; i++) {
        const struct entry *file = file_of(looking, &looking->decisions->at[i]);
        if (!file)
            continue;
        const char *path = looking->decisions->at[i].judged.change.path + strlen(looking->git_dir);
        bool comes = is_object(looking->decisions->at[i].judged.change.path);
        if (!comes && strcmp(path, "shallow") != 0)
            continue;
        if (write_object(looking, came_fd, path, file, err) < 0)
            return -1;
        if (is_pack_index(looking->decisions->at[i].judged.change.path))
            vec_push(&looking->packs, path + strlen("objects/pack/"));
        looking->has_loose |= comes && !text_starts_with(path, "objects/pack/");
    }
    return 0;
}

static bool has_object(const struct looking *looking)
{
    for (size_t i = 0; i < looking->decisions->count; i++) {
        const struct decision *decision = &looking->decisions->at[i];
        if (file_of(looking, decision) && is_object(decision->judged.change.path))
            return true;
    }
    return false;
}

/* --- the look ----------------------------------------------------------------------------------------------------- */

/* The repository's own directory; a submodule that is new has none yet. */
static const char *own_directory(const struct looking *looking)
{
    const char *workspace = looking->request->transition->workspace;
    return arena_printf(looking->arena, "%s/%.*s", workspace, (int)strlen(looking->git_dir) - 1,
                        looking->git_dir);
}

/*
 * Asks git whether each new object has the hash that names it, whatever leads to it. What git does not find
 * sound does not come. Where that is a pack, no ref does either: what it leads to may lie in such a pack.
 */
static void verify_objects(const struct looking *looking, const struct new_commits_question *question,
                           struct new_commits *found)
{
    static const char script[] =
        "test $# -eq 0 || export GIT_DIR=\"$1\"\n"
        "t=${TMPDIR:-/tmp} objects=$GIT_OBJECT_DIRECTORY\n" NEW_COMMITS_READ_LOOSE "read_loose || exit\n"
        "while read -r pack; do\n"
        "    git verify-pack \"$GIT_OBJECT_DIRECTORY/pack/$pack\" >/dev/null 2>&1 || echo \"damaged pack/$pack\"\n"
        "done\n"
        "echo end\n";
    const char *const command[] = {"sh", "-c", script, "sh", question->git_dir, NULL};
    struct arena *arena = looking->arena;
    auto_buf struct buf input = {0}, output = {0};
    bool has_damaged_pack = false;
    struct bytes line = {0};
    for (size_t i = 0; i < looking->packs.count; i++)
        buf_printf(&input, "%s\n", looking->packs.at[i]);
    bool has_ended = false;
    int result = question->ask(question->context, question->work_tree, command, &input, &output);
    struct bytes text = bytes_of(buf_text(&output), output.size);
    while (bytes_take_line(&text, &line)) {
        const char *name = arena_copy(arena, line.at, line.size);
        has_ended |= strcmp(name, "end") == 0;
        if (text_starts_with(name, "damaged "))
            new_commits_add_damaged(arena, name + strlen("damaged "), found);
        has_damaged_pack |= text_starts_with(name, "damaged pack/");
    }
    if ((result < 0 || !has_ended) && !found->unchecked)
        found->unchecked = "git could not read the new objects, or needed too long";
    const struct git_refs *all[] = {&looking->after, &looking->logged};
    for (size_t i = 0; has_damaged_pack && i < array_len(all); i++) {
        vec_each (const struct git_ref, ref, &all[i]->list)
            vec_push(&found->broken, arena_str(arena, ref->at.digits));
    }
}

static int ask(struct looking *looking, struct new_commits *ret_found, struct err *err)
{
    struct arena *arena = looking->arena;
    const char *own = own_directory(looking);
    bool is_there = access(own, F_OK) == 0;
    const char *came = arena_printf(arena, "%s/" CAME, looking->request->folder);
    struct launch launch = {.home = arena_printf(arena, "%s/" PLACE "/home", looking->request->folder)};
    struct git_asker asker = {looking->request->caller, &launch, came, is_there ? own : NULL};
    const char *const folders[] = {PLACE "/home", CAME "/objects"};
    if (remove_tree(looking->request->folder_fd, PLACE, err) < 0)
        return -1;
    for (size_t i = 0; i < array_len(folders); i++) {
        auto_fd int made = directories_make_beneath(looking->request->folder_fd, folders[i]);
        if (made < 0)
            return err_sys(err, errno, "cannot make %s", folders[i]);
    }
    auto_fd int came_fd = open_beneath(looking->request->folder_fd, CAME, O_RDONLY | O_DIRECTORY, 0);
    if (came_fd < 0)
        return err_sys(err, errno, "cannot open %s", came);
    if (write_objects(looking, came_fd, err) < 0)
        return -1;
    struct new_commits_question question = {
        .arena = arena,
        .ask = ask_git,
        .context = &asker,
        .work_tree = looking->request->transition->workspace,
        .git_dir = is_there && strcmp(looking->git_dir, GIT_DIR) != 0 ? own : NULL,
        .before = &looking->before,
        .after = &looking->after,
        .logged = &looking->logged,
        .packs = looking->packs.at,
        .pack_count = looking->packs.count};
    new_commits_find(&question, ret_found);
    if (is_there && (looking->packs.count || looking->has_loose))
        verify_objects(looking, &question, ret_found);
    return 0;
}

/* Adds what was found in one repository. A submodule lies as a rule where its name says, and its files with it. */
static void add_found(const struct looking *looking, struct new_commits *found, struct new_commits *all)
{
    const char *module =
        git_module_name(".git", arena_copy(looking->arena, looking->git_dir, strlen(looking->git_dir) - 1));
    for (size_t i = 0; i < found->broken.count; i++)
        vec_push(&all->broken, found->broken.at[i]);
    for (size_t i = 0; i < found->damaged.count; i++)
        vec_push(&all->damaged, found->damaged.at[i]);
    vec_each (struct new_commit, commit, &found->commits) {
        for (size_t i = 0; module && i < commit->files.count; i++)
            commit->files.at[i] = path_join(looking->arena, module, commit->files.at[i]);
        vec_push(&all->commits, *commit);
    }
    found->commits.count = 0; /* their lists of files have gone over */
    all->unchecked = all->unchecked ? all->unchecked : found->unchecked;
}

static int look(struct looking *looking, struct arrivals *ret_arrivals, struct err *err)
{
    const struct timespec always = {.tv_sec = INT64_MAX};
    if (read_positions(looking, err) < 0)
        return -1;
    if (looking->after.list.count || looking->logged.list.count)
        git_refs_read(own_directory(looking), always, looking->arena, &looking->before);
    bool has_new = new_commits_has_new(&looking->before, &looking->after);
    if (!has_new && !new_commits_has_new(&looking->before, &looking->logged) && !has_object(looking))
        return 0;
    struct new_commits found = {0};
    int result = ask(looking, &found, err);
    ret_arrivals->are_asked_for |= has_new || found.unchecked;
    add_found(looking, &found, &ret_arrivals->found);
    new_commits_free(&found);
    struct err ignored;
    if (remove_tree(looking->request->folder_fd, PLACE, result < 0 ? &ignored : err) < 0)
        result = -1;
    return result;
}

typedef VEC(const char *) git_dirs;

/* The repositories to which a ref, a line of a log or an object would come. */
static void find_repositories(struct arena *arena, const decision_list *decisions, git_dirs *ret_repositories)
{
    vec_each (const struct decision, decision, decisions) {
        const char *path = decision->judged.change.path;
        if (decision->course != COURSE_GO || !arrivals_concern(path) ||
            !(git_is_position(path) || is_mention(git_inner_of(path).path) || is_object(path)))
            continue;
        const char *git_dir = arena_copy(arena, path, git_repository_size(path));
        if (!text_is_among(git_dir, ret_repositories->at, ret_repositories->count))
            vec_push(ret_repositories, git_dir);
    }
}

int arrivals_find(const struct arrivals_request *request, struct arena *arena, const decision_list *decisions,
                  struct arrivals *ret_arrivals, struct err *err)
{
    *ret_arrivals = (struct arrivals){0};
    auto_store struct store store = STORE_NONE;
    auto_vec git_dirs repositories = {0};
    find_repositories(arena, decisions, &repositories);
    int result = store_open(request->transition->directory, &store, err);
    for (size_t i = 0; result == 0 && i < repositories.count; i++) {
        struct looking looking = {.request = request,
                                  .arena = arena,
                                  .decisions = decisions,
                                  .store = &store,
                                  .git_dir = repositories.at[i]};
        result = look(&looking, ret_arrivals, err);
        git_refs_free(&looking.before);
        git_refs_free(&looking.after);
        git_refs_free(&looking.logged);
        vec_free(&looking.packs);
    }
    return result;
}

void arrivals_free(struct arrivals *arrivals)
{
    new_commits_free(&arrivals->found);
}

struct repo_findings arrivals_findings(const struct arrivals *arrivals)
{
    const struct new_commits *found = &arrivals->found;
    return (struct repo_findings){found->broken.at, found->broken.count, found->damaged.at,
                                  found->damaged.count};
}
