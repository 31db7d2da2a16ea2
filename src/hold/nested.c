#include "hold/flags.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "git/config.h"
#include "git/repo.h"
#include "git/within.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"

static const char obeyed[] = "git on your machine obeys its configuration as soon as you work beside it";

/* The new settings that make git run a program, by name; NULL if there are none. */
static const char *running_settings(struct arena *arena, const struct file_content *before,
                                    const struct file_content *config)
{
    git_setting_list settings = {0}, old = {0};
    const char *names = NULL;
    if (!bytes_known(config->bytes) ||
        git_setting_list_read(arena, config->bytes.at, config->bytes.size, &settings) < 0)
        return "something that bawn cannot read";
    if (before && bytes_known(before->bytes) &&
        git_setting_list_read(arena, before->bytes.at, before->bytes.size, &old) < 0)
        old = (git_setting_list){0};
    for (size_t i = 0; i < settings.count; i++) {
        if (git_setting_runs(&settings.at[i]) && !git_setting_list_has(&old, &settings.at[i]))
            names = arena_printf(arena, "%s%s%s = %s", names ? names : "", names ? ", " : "",
                                 git_setting_name(arena, &settings.at[i]), settings.at[i].value);
    }
    vec_free(&settings);
    vec_free(&old);
    return names;
}

/* The `commondir` of a linked worktree that leads to its own repository is accepted. */
static const char *common_directory(const struct flags *flags, const char *git_dir,
                                    const struct file_content *file)
{
    struct arena *arena = flags->hold->arena;
    const char *written = bytes_known(file->bytes) ? gitdir_written_path(arena, file->bytes) : "";
    const char *path = path_clean(arena, git_dir, written);
    return *written && S_ISREG(file->mode) && gitdir_is_known(flags, path)
               ? NULL
               : arena_printf(arena, "what the configuration in %s says", path);
}

static bool lies_in(struct arena *arena, const char *path, const char *git_dir, const char *folder)
{
    return path_is_beneath(path, path_join(arena, git_dir, folder));
}

/* The program or setting that git would obey because of this file; NULL if there is none. */
static const char *what_runs(const struct flags *flags, const char *git_dir,
                             const struct file_content *before, const struct file_content *file)
{
    const char *name = path_name(file->path);
    if (lies_in(flags->hold->arena, file->path, git_dir, "remotes") ||
        lies_in(flags->hold->arena, file->path, git_dir, "branches"))
        return "a push or a fetch with the address in it";
    if (strcmp(name, "commondir") == 0)
        return common_directory(flags, git_dir, file);
    if (strcmp(name, "alternates") == 0)
        return "a command with objects of another repository";
    if (strcmp(name, "attributes") == 0)
        return "filters and drivers for the files that it names";
    if (strcmp(name, "git-rebase-todo") == 0)
        return !bytes_known(file->bytes) || git_todo_runs(file->bytes.at)
                   ? "lines of it when the rebase goes on"
                   : NULL;
    if (text_starts_with(name, "config") && strcmp(path_parent(flags->hold->arena, file->path), git_dir) == 0)
        return running_settings(flags->hold->arena, before, file);
    return file->mode & 0111 && !strstr(name, ".sample") ? "a hook" : NULL;
}

/* Adds new files that make git run something. Each can be held aside without harm to the repository. */
static void look_at_files(struct flags *flags, const char *git_dir, const char *const *names, size_t count,
                          bool all_are_new)
{
    struct arena *arena = flags->hold->arena;
    file_contents found = {0};
    for (size_t i = 0; i < count; i++)
        content_add_all(arena, path_join(arena, git_dir, names[i]), &found);
    if (found.trouble)
        flags_add_unsearched(flags, git_dir);
    for (size_t i = 0; i < found.count; i++) {
        const struct file_content *before = NULL;
        bool is_new = flags_is_new(flags, &found.at[i], &before) || all_are_new;
        const char *runs = is_new ? what_runs(flags, git_dir, before, &found.at[i]) : NULL;
        if (runs)
            flags_add_change(flags, (struct new_content){&found.at[i], before, .runs = runs});
    }
    vec_free(&found);
}

/* Looks at a target (a configuration file or a program), or at the hooks in it. */
static void look_at_target(struct flags *flags, const char *git_dir, const struct git_obeyed *lead)
{
    struct arena *arena = flags->hold->arena;
    const char *target = lead->path;
    file_contents found = {0};
    struct stat status;
    if (lstat(target, &status) == 0 && !S_ISDIR(status.st_mode) && !gitdir_is_writable(flags, target))
        return; /* a program of the system may be large */
    content_add_all(arena, target, &found);
    if (found.trouble)
        flags_add_unsearched(flags, target);
    const char *runs = lead->because ? arena_printf(arena, "it: %s leads here", lead->because)
                                     : arena_printf(arena, "what the configuration in %s leads to", git_dir);
    for (size_t i = 0; i < found.count; i++) {
        const struct file_content *before = NULL, *file = &found.at[i];
        bool is_hook = file->mode & 0111 && !strstr(path_name(file->path), ".sample");
        if ((is_hook || strcmp(file->path, target) == 0) && gitdir_is_writable(flags, file->path) &&
            flags_is_new(flags, file, &before))
            flags_add_change(flags, (struct new_content){file, before, .may_be_old = true, .runs = runs});
    }
    vec_free(&found);
}

/*
 * The configuration, as it is and as it was, may name paths in the workspace, and hooks may be links to them. New content there is
 * held aside; the configuration is then restored.
 */
static void look_where_it_leads(struct flags *flags, const char *git_dir, const char *base)
{
    static const char *const names[] = {"config", "config.worktree"};
    struct arena *arena = flags->hold->arena;
    struct fsview now = {.root_fd = flags->hold->plan->policy->request.fs->root_fd, .arena = arena};
    const struct policy_request *request = &flags->hold->plan->policy->request;
    const struct git_user user = {request->home, request->starts[START_CONFIG]};
    struct git_owner owner = {git_dir, base, "/", request->home};
    struct git_repo leads = {0};
    file_contents found = {0};
    for (size_t i = 0; i < array_len(names); i++)
        content_add(arena, path_join(arena, git_dir, names[i]), &found);
    for (size_t i = 0; i < found.count; i++) {
        const struct file_content *before = NULL, *config = &found.at[i];
        flags_is_new(flags, config, &before);
        if (bytes_known(config->bytes))
            git_follow_text(&now, &owner, config->path, config->bytes.at, config->bytes.size, &leads);
        if (before && bytes_known(before->bytes))
            git_follow_text(&now, &owner, config->path, before->bytes.at, before->bytes.size, &leads);
    }
    git_follow_own_hooks(&now, &owner, &leads);
    git_follow_user_config(&now, &owner, 1, &user, &leads);
    vec_each (const struct git_obeyed, lead, &leads.whole)
        look_at_target(flags, git_dir, lead);
    vec_each (const struct git_obeyed, lead, &leads.flagged)
        look_at_target(flags, git_dir, lead);
    for (size_t i = 0; i < leads.unfollowed.count; i++)
        flags_add_sighting(flags,
                           (struct sighting){"a repository with a path that bawn cannot follow",
                                             arena_printf(arena, "%s (%s)", git_dir, leads.unfollowed.at[i]),
                                             "check what git runs or obeys there"});
    vec_free(&found);
    git_repo_free(&leads);
    fs_free(&now);
}

/* The git directory whose configuration counts for this one: of a linked worktree, that of its repository. */
static const char *main_directory(const struct flags *flags, const char *git_dir)
{
    const char *parent = path_parent(flags->hold->arena, git_dir);
    return strcmp(path_name(parent), "worktrees") == 0 ? path_parent(flags->hold->arena, parent) : git_dir;
}

static void look_for_new_parts(struct flags *flags, const char *directory, unsigned depth);

/* What a git directory is to the files around it. */
enum role {
    ROLE_OWN,   /* a `.git`, a submodule's or a linked worktree's: everything in it is git's */
    ROLE_NAMED, /* a directory that a `.git` file or link names: not all in it need be git's */
    ROLE_BARE,  /* a bare repository among other files: what is git's in it cannot be told from what is not */
};

/*
 * `base` is the work tree, or the git directory itself. A bare repository is not judged, but what git would run because of it is
 * found all the same.
 */
static void look_inside(struct flags *flags, const char *git_dir, const char *base, enum role role,
                        bool is_new)
{
    static const char *const running[] = {"config",
                                          "config.worktree",
                                          "commondir",
                                          "hooks",
                                          "remotes",
                                          "branches",
                                          "objects/info/alternates",
                                          "info/attributes",
                                          "rebase-merge/git-rebase-todo"};
    look_at_files(flags, git_dir, running, array_len(running), is_new);
    look_where_it_leads(flags, git_dir, base);
    if (role == ROLE_BARE)
        return;
    judged_look(flags, git_dir,
                &(struct judged_as){main_directory(flags, git_dir), .all_are_new = is_new,
                                    .is_bare = role == ROLE_NAMED});
    look_for_new_parts(flags, path_join(flags->hold->arena, git_dir, "modules"), 0);
    look_for_new_parts(flags, path_join(flags->hold->arena, git_dir, "worktrees"), 0);
}

/* Was the repository made during the run? */
static bool is_new_repository(struct flags *flags, const char *git_dir)
{
    const struct file_content *before;
    file_contents head = {0};
    content_add(flags->hold->arena, path_join(flags->hold->arena, git_dir, "HEAD"), &head);
    bool is_new = head.count && flags_is_new(flags, &head.at[0], &before) && !before;
    vec_free(&head);
    return is_new;
}

/* Finds submodules and linked worktrees of a known repository that were made during the run. */
static void look_for_new_parts(struct flags *flags, const char *directory, unsigned depth)
{
    enum { DEEPEST = 12 };
    auto_fd int fd = depth > DEEPEST ? -1 : open_absolute(directory, O_RDONLY | O_DIRECTORY);
    auto_dir DIR *list = fd < 0 ? NULL : directories_list(fd);
    int trouble = list || depth > DEEPEST ? 0 : errno;
    for (const struct dirent *entry; list && (entry = directories_next(list, &trouble));) {
        if (entry->d_type == DT_REG)
            continue;
        const char *path = path_join(flags->hold->arena, directory, entry->d_name);
        auto_fd int part_fd = open_absolute(path, O_RDONLY | O_DIRECTORY);
        if (part_fd < 0 || gitdir_is_known(flags, path))
            continue;
        if (git_is_repository(part_fd))
            look_inside(flags, path, path, ROLE_OWN, is_new_repository(flags, path));
        else
            look_for_new_parts(flags, path, depth + 1);
    }
    if (errno_is_of_machine(trouble))
        flags_add_unsearched(flags, directory);
}

/* Is it a bare repository that is a workspace by itself? */
static bool is_work_tree(const struct flags *flags, const char *git_dir)
{
    vec_each (const struct workspace, workspace, &flags->hold->plan->policy->workspaces) {
        if (strcmp(workspace->path, git_dir) == 0)
            return true;
    }
    return false;
}

/* The workspace's own: configuration and hooks are frozen; git's old ways to name a remote are not. */
static void look_at_known(struct flags *flags, const char *git_dir)
{
    static const char *const running[] = {"remotes", "branches"};
    struct arena *arena = flags->hold->arena;
    judged_bring_head_back(flags, git_dir);
    look_at_files(flags, git_dir, running, array_len(running), false);
    judged_look(flags, git_dir,
                &(struct judged_as){main_directory(flags, git_dir), .is_bare = is_work_tree(flags, git_dir)});
    look_for_new_parts(flags, path_join(arena, git_dir, "modules"), 0);
    look_for_new_parts(flags, path_join(arena, git_dir, "worktrees"), 0);
}

/* The git directory that a `.git` file or link names; NULL if it names none. */
static const char *named_directory(struct arena *arena, const struct file_content *link)
{
    static const char start[] = "gitdir: ";
    const char *text = bytes_known(link->bytes) ? link->bytes.at : "";
    if (!S_ISLNK(link->mode))
        text =
            text_starts_with(text, start)
                ? gitdir_written_path(arena, bytes_of(text + strlen(start), link->bytes.size - strlen(start)))
                : "";
    return *text ? path_clean(arena, path_parent(arena, link->path), text) : NULL;
}

/* Finds the first new one among the `.git` and the links that it leads through. */
static bool find_new_link(struct flags *flags, const char *dot_git, const struct fs_link *links,
                          struct new_content *ret_link)
{
    struct arena *arena = flags->hold->arena;
    const struct fs_link first = {.path = dot_git, .next = links};
    for (const struct fs_link *link = &first; link; link = link->next) {
        file_contents found = {0};
        const struct file_content *before;
        content_add(arena, link->path, &found);
        bool is_new = found.count && gitdir_is_writable(flags, link->path) &&
                      flags_is_new(flags, &found.at[0], &before);
        if (is_new) {
            struct file_content *kept = arena_new(arena, struct file_content);
            *kept = found.at[0];
            *ret_link = (struct new_content){kept, before};
        }
        vec_free(&found);
        if (is_new)
            return true;
    }
    return false;
}

/*
 * A `.git` that is a file or a link. If it leads to a repository in the workspace, that repository is judged; a path
 * outside is never touched. Then the `.git` itself is held aside.
 */
static void look_at_repository_link(struct flags *flags, const struct file_content *dot_git)
{
    struct arena *arena = flags->hold->arena;
    const struct policy *policy = flags->hold->plan->policy;
    struct fsview now = {.root_fd = policy->request.fs->root_fd, .arena = arena};
    const char *git_dir = named_directory(arena, dot_git);
    const struct fs_place *place = NULL;
    struct err ignored;
    bool leads = git_dir && fs_resolve(&now, git_dir, &place, &ignored) == 0,
         is_unknown = git_dir && !(leads && gitdir_is_known(flags, place->real)),
         leads_inside = is_unknown && leads && gitdir_is_writable(flags, place->real);
    struct new_content link;
    bool is_new = find_new_link(flags, dot_git->path, leads ? place->links : NULL, &link);
    if (is_new && is_unknown && !leads_inside) {
        link.runs = arena_printf(arena, "what the configuration in %s says", git_dir);
        flags_add_change(flags, link);
    } else if (is_new) {
        flags_add_sighting(flags,
                           (struct sighting){"a new link to a git repository", link.now->path, obeyed});
    }
    if (leads_inside)
        look_inside(flags, place->real, path_parent(arena, dot_git->path), ROLE_NAMED, is_new);
    fs_free(&now);
}

void nested_look(struct flags *flags, const char *git_dir)
{
    if (gitdir_is_known(flags, git_dir))
        return;
    directories_reopen(git_dir); /* closed, it would be none until somebody opens it */
    auto_fd int fd = open_absolute(git_dir, O_RDONLY | O_DIRECTORY);
    if (fd < 0) {
        file_contents found = {0};
        if (errno_is_of_machine(errno))
            flags_add_unsearched(flags, git_dir);
        content_add(flags->hold->arena, git_dir, &found);
        if (found.count)
            look_at_repository_link(flags, &found.at[0]);
        vec_free(&found);
        return;
    }
    bool has_work_tree = strcmp(path_name(git_dir), ".git") == 0;
    const char *base = has_work_tree ? path_parent(flags->hold->arena, git_dir) : git_dir;
    if (!git_is_repository(fd) && !has_work_tree)
        return;
    if (hold_was_kept(flags->hold, git_dir)) {
        look_where_it_leads(flags, git_dir, base);
        return;
    }
    bool is_new = is_new_repository(flags, git_dir);
    if (is_new)
        flags_add_sighting(flags, (struct sighting){"a new git repository", git_dir, obeyed});
    look_inside(flags, git_dir, base, has_work_tree ? ROLE_OWN : ROLE_BARE, is_new);
}

void nested_look_at_own(struct flags *flags)
{
    const struct policy *policy = flags->hold->plan->policy;
    for (size_t i = 0; i < policy->workspaces.count; i++) {
        const struct git_repo *repo = &policy->workspaces.at[i].git;
        for (size_t j = 0; j < repo->dirs.count; j++) {
            if (!hold_keeps_aside(flags->hold, repo->dirs.at[j]))
                look_at_known(flags, repo->dirs.at[j]);
        }
    }
}
