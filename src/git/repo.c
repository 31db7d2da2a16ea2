#include "git/repo.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/path.h"
#include "base/text.h"

enum { MOST_DEPTH = 12, LINK_LARGEST = 8192, CONFIG_LARGEST = 1024 * 1024 };

/* Any of these will do: a program that could remove one must not make the directory pass for something else. */
static bool is_git_dir(struct fsview *fs, const char *directory)
{
    static const char *const marks[] = {"HEAD", "config", "hooks", "objects"};
    for (size_t i = 0; i < array_len(marks); i++) {
        if (fs_kind(fs, path_join(fs->arena, directory, marks[i])) != FILE_MISSING)
            return true;
    }
    return false;
}

bool git_is_root(struct fsview *fs, const char *directory)
{
    return fs_kind(fs, path_join(fs->arena, directory, ".git")) != FILE_MISSING;
}

/* The one line that a small file holds, or NULL. */
static char *read_line(struct fsview *fs, const char *path)
{
    char *text = NULL;
    size_t size = 0;
    struct err ignored;
    if (fs_read(fs, path, LINK_LARGEST, &text, &size, &ignored) <= 0)
        return NULL;
    while (size && (text[size - 1] == '\n' || text[size - 1] == '\r'))
        text[--size] = '\0';
    return size && strlen(text) == size && !strchr(text, '\n') ? text : NULL;
}

/* Where a path of git's leads, taken from a directory; NULL where a link is on the way or nothing is there. */
static const struct fs_place *lead_to(struct fsview *fs, const char *from, const char *path)
{
    const struct fs_place *place = NULL;
    struct err ignored;
    if (fs_resolve(fs, path_clean(fs->arena, from, path), &place, &ignored) < 0)
        return NULL;
    return place->links || place->kind == FILE_MISSING ? NULL : place;
}

/* The value of core.worktree in a git directory's config, or NULL. Anything unusual counts as not there. */
static char *configured_worktree(struct fsview *fs, const char *git_dir)
{
    char *text = NULL, *value = NULL;
    size_t size = 0;
    struct err ignored;
    if (fs_read(fs, path_join(fs->arena, git_dir, "config"), CONFIG_LARGEST, &text, &size, &ignored) <= 0)
        return NULL;
    bool in_core = false;
    for (char *rest = text, *line; (line = strsep(&rest, "\n"));) {
        line += strspn(line, " \t");
        if (*line == '[')
            in_core = strncasecmp(line, "[core]", 6) == 0 && strspn(line + 6, " \t\r") == strlen(line + 6);
        size_t key = strlen("worktree");
        if (!in_core || strncasecmp(line, "worktree", key) != 0)
            continue;
        char *at = line + key;
        at += strspn(at, " \t");
        if (*at != '=' || strpbrk(at, "\\\"#;"))
            return NULL;
        at += 1 + strspn(at + 1, " \t");
        size_t length = strlen(at);
        while (length && isspace((unsigned char)at[length - 1]))
            at[--length] = '\0';
        value = at;
    }
    return value && *value ? value : NULL;
}

bool git_is_whole(struct fsview *fs, const char *directory)
{
    return fs_kind(fs, path_join(fs->arena, directory, "HEAD")) != FILE_MISSING &&
           fs_kind(fs, path_join(fs->arena, directory, "objects")) != FILE_MISSING &&
           fs_kind(fs, path_join(fs->arena, directory, "refs")) != FILE_MISSING;
}

static bool is_main_dir(struct fsview *fs, const char *directory)
{
    const char *name = path_name(directory);
    size_t size = strlen(name);
    return size >= 4 && strcmp(name + size - 4, ".git") == 0 && git_is_whole(fs, directory);
}

/* git_dir is MAIN/worktrees/NAME: does it belong to the worktree at root, both ways round? Returns MAIN. */
static const char *worktree_main(struct fsview *fs, const char *root, const char *git_dir)
{
    const char *worktrees = path_parent(fs->arena, git_dir);
    const char *main_dir = path_parent(fs->arena, worktrees);
    const char *common = read_line(fs, path_join(fs->arena, git_dir, "commondir"));
    const char *back = read_line(fs, path_join(fs->arena, git_dir, "gitdir"));
    if (strcmp(path_name(worktrees), "worktrees") != 0 || !is_main_dir(fs, main_dir) ||
        path_is_beneath(root, main_dir) || !common || !back)
        return NULL;
    const struct fs_place *common_place = lead_to(fs, git_dir, common);
    const struct fs_place *back_place = lead_to(fs, git_dir, back);
    bool holds = common_place && strcmp(common_place->real, main_dir) == 0 && back_place &&
                 strcmp(back_place->real, path_join(fs->arena, root, ".git")) == 0;
    return holds ? main_dir : NULL;
}

/* git_dir is SUPER/.git/modules/…: does its configuration name root as its work tree? */
static bool is_submodule_of(struct fsview *fs, const char *root, const char *git_dir)
{
    if (!strstr(git_dir, "/modules/") || !is_git_dir(fs, git_dir))
        return false;
    const char *worktree = configured_worktree(fs, git_dir);
    const struct fs_place *place = worktree ? lead_to(fs, git_dir, worktree) : NULL;
    return place && strcmp(place->real, root) == 0;
}

static const char astray[] = "the git directory that it names does not point back at it";

/* One that lies in the tree opens nothing that is not open already, whoever made it: it needs no proof, and is frozen. */
static bool is_inner(struct fsview *fs, const char *root, const char *git_dir)
{
    return path_is_beneath(git_dir, root) && strcmp(git_dir, root) != 0 && is_git_dir(fs, git_dir);
}

/* Follows a `.git` file to its git directory, or says in repo->problem why not. */
static const char *follow_link(struct fsview *fs, const char *root, const char *dot_git,
                               struct git_repo *repo)
{
    const char *line = read_line(fs, dot_git);
    if (!line || !text_starts_with(line, "gitdir: ")) {
        repo->problem = "it is not a file that git writes";
        return NULL;
    }
    const struct fs_place *place = lead_to(fs, root, line + strlen("gitdir: "));
    if (!place || place->kind != FILE_DIRECTORY) {
        repo->problem = "the directory that it names is missing or lies behind a symbolic link";
        return NULL;
    }
    const char *needed = worktree_main(fs, root, place->real);
    if (!needed && (is_submodule_of(fs, root, place->real) || is_inner(fs, root, place->real)))
        needed = place->real;
    if (!needed) {
        repo->problem = astray;
        return NULL;
    }
    if (!path_is_beneath(needed, root))
        repo->outside = needed;
    return needed;
}

static void add_git_dir(struct fsview *fs, const char *root, const char *git_dir, unsigned depth,
                        struct git_repo *repo);

/* What bawn does not look at could be obeyed, so the command can only read it. */
static void freeze_unsearched(const char *directory, struct git_repo *repo)
{
    vec_push(&repo->whole, (struct git_obeyed){directory});
    if (!repo->unsearched)
        repo->unsearched = directory;
}

/* The names in a directory, for the caller to look at. None, and all of it frozen, where they cannot be had. */
static void list_directory(struct fsview *fs, const char *directory, struct git_repo *repo,
                           fs_names *ret_names)
{
    enum file_kind kind = fs_kind(fs, directory);
    if (kind == FILE_MISSING)
        return;
    fs_list(fs, directory, GIT_MOST_PARTS + 1, ret_names);
    bool is_sure = kind == FILE_DIRECTORY && ret_names->count <= GIT_MOST_PARTS &&
                   (ret_names->count > 0 || fs_can_list(fs, directory));
    if (is_sure)
        return;
    ret_names->count = 0;
    freeze_unsearched(directory, repo);
}

/* The next directory among the names, or NULL. With too many, all that they lie in is frozen. */
static const char *next_part(struct fsview *fs, const char *directory, const fs_names *names, size_t *at,
                             struct git_repo *repo)
{
    while (*at < names->count) {
        const char *path = path_join(fs->arena, directory, names->at[(*at)++]);
        if (fs_kind(fs, path) != FILE_DIRECTORY)
            continue;
        if (repo->parts++ < GIT_MOST_PARTS)
            return path;
        freeze_unsearched(directory, repo);
        return NULL;
    }
    return NULL;
}

static void add_link(struct fsview *fs, const char *root, const char *link, struct git_repo *repo)
{
    if (!text_is_among(link, repo->links.at, repo->links.count) && path_is_beneath(link, root) &&
        fs_kind(fs, link) == FILE_REGULAR)
        vec_push(&repo->links, link);
}

/* Below modules/ a submodule's directory may lie several names deep, as its name may hold slashes. */
static void add_modules(struct fsview *fs, const char *root, const char *directory, unsigned depth,
                        struct git_repo *repo)
{
    fs_names names = {0};
    if (depth >= MOST_DEPTH)
        freeze_unsearched(directory, repo);
    else
        list_directory(fs, directory, repo, &names);
    size_t at = 0;
    for (const char *path; (path = next_part(fs, directory, &names, &at, repo));) {
        if (!is_git_dir(fs, path)) {
            add_modules(fs, root, path, depth + 1, repo);
            continue;
        }
        add_git_dir(fs, root, path, depth + 1, repo);
        const char *worktree = configured_worktree(fs, path);
        const struct fs_place *place = worktree ? lead_to(fs, path, worktree) : NULL;
        if (place)
            add_link(fs, root, path_join(fs->arena, place->real, ".git"), repo);
    }
    vec_free(&names);
}

static void add_git_dir(struct fsview *fs, const char *root, const char *git_dir, unsigned depth,
                        struct git_repo *repo)
{
    vec_push(&repo->dirs, git_dir);
    add_modules(fs, root, path_join(fs->arena, git_dir, "modules"), depth, repo);

    const char *worktrees = path_join(fs->arena, git_dir, "worktrees");
    fs_names names = {0};
    list_directory(fs, worktrees, repo, &names);
    size_t at = 0;
    for (const char *path; (path = next_part(fs, worktrees, &names, &at, repo));) {
        vec_push(&repo->dirs, path);
        const char *back = read_line(fs, path_join(fs->arena, path, "gitdir"));
        if (back)
            add_link(fs, root, path_clean(fs->arena, path, back), repo);
    }
    vec_free(&names);
}

/* Follows a link in the place of a `.git`. */
static const char *follow_symbolic_link(struct fsview *fs, const char *root, const char *dot_git,
                                        struct git_repo *repo)
{
    const struct fs_place *place = NULL;
    struct err ignored;
    if (fs_resolve(fs, dot_git, &place, &ignored) == 0 && is_inner(fs, root, place->real))
        return place->real;
    repo->problem = "it is a symbolic link";
    return NULL;
}

/* The directory whose configuration counts for this one, which must lie in the tree, too. */
static void add_common_dir(struct fsview *fs, const char *root, const char *git_dir, struct git_repo *repo)
{
    const char *commondir = path_join(fs->arena, git_dir, "commondir"), *line = read_line(fs, commondir);
    const struct fs_place *place = line ? lead_to(fs, git_dir, line) : NULL;
    if (fs_kind(fs, commondir) == FILE_MISSING || !path_is_beneath(git_dir, root))
        return;
    if (!place || !is_inner(fs, root, place->real)) {
        repo->problem = astray;
        return;
    }
    if (!text_is_among(place->real, repo->dirs.at, repo->dirs.count))
        add_git_dir(fs, root, place->real, 0, repo);
}

/* A submodule's is in the tree, if it is one. */
static const char *work_tree_of(struct fsview *fs, const char *root, const char *git_dir)
{
    const char *worktree = configured_worktree(fs, git_dir);
    const struct fs_place *place = worktree ? lead_to(fs, git_dir, worktree) : NULL;
    return place && path_is_beneath(place->real, root) ? place->real : root;
}

/*
 * A linked worktree obeys the configuration and the hooks of its repository, from a work tree of its own. Returns false where that is
 * not in the tree: then there is nothing to add.
 */
static bool worktree_owner(struct fsview *fs, const char *root, const char *git_dir,
                           struct git_owner *ret_owner)
{
    const char *worktrees = path_parent(fs->arena, git_dir);
    const char *back = read_line(fs, path_join(fs->arena, git_dir, "gitdir"));
    const struct fs_place *place = back ? lead_to(fs, git_dir, back) : NULL;
    if (!place || !path_is_inside(place->real, root))
        return false;
    ret_owner->git_dir = path_parent(fs->arena, worktrees);
    ret_owner->base = path_parent(fs->arena, place->real);
    return true;
}

typedef VEC(struct git_owner) owner_list;

/* Whose configuration counts for which work tree. Without a repository, the user's own still does. */
static void list_owners(struct fsview *fs, const char *root, const struct git_user *user,
                        const struct git_repo *repo, owner_list *owners)
{
    const char *home = user ? user->home : NULL;
    for (size_t i = 0; i < repo->dirs.count; i++) {
        struct git_owner owner = {repo->dirs.at[i], root, root, home};
        if (i)
            owner.base = work_tree_of(fs, root, owner.git_dir);
        vec_push(owners, owner);
        bool is_linked = strcmp(path_name(path_parent(fs->arena, owner.git_dir)), "worktrees") == 0;
        if (i && is_linked && worktree_owner(fs, root, repo->dirs.at[i], &owner))
            vec_push(owners, owner);
    }
    if (!owners->count)
        vec_push(owners, (struct git_owner){path_join(fs->arena, root, ".git"), root, root, home});
}

static void follow_all(struct fsview *fs, const char *root, const struct git_user *user,
                       struct git_repo *repo)
{
    owner_list owners = {0};
    list_owners(fs, root, user, repo, &owners);
    for (size_t i = 0; repo->dirs.count && i < owners.count; i++)
        git_follow_config(fs, &owners.at[i], repo);
    if (user)
        git_follow_user_config(fs, owners.at, owners.count, user, repo);
    vec_free(&owners);
}

void git_find(struct fsview *fs, const char *root, const struct git_user *user, struct git_repo *ret_repo)
{
    struct git_repo repo = {0};
    const char *dot_git = path_join(fs->arena, root, ".git"), *git_dir = NULL;
    switch (fs_kind(fs, dot_git)) {
    case FILE_DIRECTORY:
        git_dir = dot_git;
        break;
    case FILE_REGULAR:
        vec_push(&repo.links, dot_git);
        git_dir = follow_link(fs, root, dot_git, &repo);
        break;
    case FILE_LINK:
        vec_push(&repo.links, dot_git);
        git_dir = follow_symbolic_link(fs, root, dot_git, &repo);
        break;
    case FILE_UNKNOWN:
        vec_push(&repo.whole, (struct git_obeyed){dot_git}); /* whatever it is */
        break;
    default:
        git_dir = git_is_whole(fs, root) ? root : NULL; /* a bare one */
        break;
    }
    if (git_dir) {
        add_git_dir(fs, root, git_dir, 0, &repo);
        add_common_dir(fs, root, git_dir, &repo);
    }
    follow_all(fs, root, user, &repo);
    *ret_repo = repo;
}

const char *git_stub_content(const char *name)
{
    return strcmp(name, "commondir") == 0 ? "./\n" : ""; /* with "." alone, libgit2 finds no repository */
}

void git_repo_free(struct git_repo *repo)
{
    vec_free(&repo->dirs);
    vec_free(&repo->links);
    vec_free(&repo->whole);
    vec_free(&repo->flagged);
    vec_free(&repo->unfollowed);
    map_free(&repo->indexes);
    map_free(&repo->known);
}
