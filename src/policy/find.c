/*
 * Finds the workspaces: the named directories, else the git root around the current directory. A directory that the command
 * line names inside a repository is a part of that repository, and the workspace is the repository.
 */
#include <string.h>

#include "base/path.h"
#include "base/pattern.h"
#include "base/text.h"
#include "policy/compose.h"

static const struct source found_here = {
    .name = "current directory", .layer = LAYER_BASE, .asked_by = LAYER_BASE, .all_workspaces = true};
static const struct source found_around = {
    .name = "whole repository", .layer = LAYER_BASE, .asked_by = LAYER_BASE, .all_workspaces = true};
static const struct source rest_of_repository = {
    .name = "rest of the repository", .layer = LAYER_BASE, .asked_by = LAYER_BASE, .all_workspaces = true};

/* Programs and services of the whole machine write and trust these directories, so none can be a workspace. */
static const char *const system_directories[] = {
    "/bin",  "/boot", "/dev", "/etc",  "/home", "/lib", "/lib32", "/lib64", "/nix",
    "/proc", "/root", "/run", "/sbin", "/sys",  "/tmp", "/usr",   "/var",   "/var/tmp",
};

static const char *const kernel_directories[] = {"/dev", "/proc", "/sys"};

/* Is it one of the folders of PATH? Only those in the home are looked at closely: whoever may write others is root. */
static bool is_on_path(const struct policy_request *request, const char *path)
{
    struct arena *arena = request->fs->arena;
    const char *folders = text_variable(request->environment, "PATH");
    for (const char *folder; (folder = path_next_folder(arena, &folders));) {
        const struct fs_place *place = NULL;
        struct err ignored;
        if (*folder != '/')
            continue;
        const char *clean = path_clean(arena, "/", folder);
        if (strcmp(clean, path) == 0 ||
            (path_is_beneath(clean, request->home) && fs_resolve(request->fs, clean, &place, &ignored) == 0 &&
             strcmp(place->real, path) == 0))
            return true;
    }
    return false;
}

/* Does it hold the folder in which programs keep their settings, or their state and data? */
static const char *held_start(const struct policy_request *request, const char *path)
{
    static const enum path_start starts[] = {START_CONFIG, START_STATE, START_DATA};
    for (size_t i = 0; i < array_len(starts); i++) {
        const char *start = request->starts[starts[i]];
        if (start && path_is_beneath(start, path))
            return start;
    }
    return NULL;
}

/* The reason why this directory must not be a workspace, or NULL. */
static const char *objection(const struct policy_request *request, const char *path)
{
    if (strcmp(path, "/") == 0)
        return "it is the whole file system";
    if (strcmp(path, request->home) == 0)
        return "it is your home directory";
    if (path_is_beneath(request->home, path))
        return "it contains your home directory";
    if (text_is_among(path, system_directories, array_len(system_directories)))
        return "it is a system directory";
    for (size_t i = 0; i < array_len(kernel_directories); i++) {
        if (path_is_beneath(path, kernel_directories[i]))
            return "it belongs to the kernel";
    }
    if (held_start(request, path))
        return "your programs keep their settings and data there, and obey them";
    if (is_on_path(request, path))
        return "it is on your PATH: what is written there runs as a command of yours";
    return NULL;
}

const char *workspace_slug(struct arena *arena, const char *path)
{
    char *slug = arena_str(arena, path);
    for (char *at = slug; *at; at++) {
        bool plain = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9');
        *at = plain ? *at : '-';
    }
    return slug;
}

bool policy_is_workspace(const struct policy *policy, const char *path)
{
    for (size_t i = 0; i < policy->workspaces.count; i++) {
        if (strcmp(policy->workspaces.at[i].path, path) == 0)
            return true;
    }
    return false;
}

bool policy_in_workspace(const struct policy *policy, const char *path)
{
    for (size_t i = 0; i < policy->workspaces.count; i++) {
        if (path_is_beneath(path, policy->workspaces.at[i].path))
            return true;
    }
    return false;
}

bool policy_in_named(const struct policy *policy, const char *path)
{
    vec_each (const struct workspace, workspace, &policy->workspaces) {
        if (workspace->parts.count == 0 && path_is_beneath(path, workspace->path))
            return true;
        for (size_t i = 0; i < workspace->parts.count; i++) {
            if (path_is_beneath(path, workspace->parts.at[i]))
                return true;
        }
    }
    return false;
}

const char *policy_first_named(const struct policy *policy)
{
    const struct workspace *first = &policy->workspaces.at[0];
    return first->parts.count ? first->parts.at[0] : first->path;
}

const char *policy_start(const struct policy *policy)
{
    const char *directory = policy->request.directory;
    return policy_in_named(policy, directory) || policy->workspaces.count == 0 ? directory
                                                                               : policy_first_named(policy);
}

/* The nearest git root that may be a workspace. A repository in $HOME (dotfiles) does not count. */
static const char *git_root_around(struct policy *policy, const char *directory)
{
    for (size_t size = strlen(directory); size; size = path_parent_size(directory, size)) {
        const char *path = arena_copy(policy->arena, directory, size);
        if (!objection(&policy->request, path) && git_is_root(policy->request.fs, path))
            return path;
    }
    return NULL;
}

/* Where a named directory lies in a repository, that is the workspace and the directory is a part of it. */
struct found_workspace {
    const char *path, *part; /* part: NULL if all of it is meant */
    const char *chosen_by;
};

/* A repository of which only parts are writable: git works in them, and the rest can be read. */
static void open_rest(struct policy *policy, struct workspace *workspace)
{
    const char *dot_git = path_join(policy->arena, workspace->path, ".git");
    if (!workspace->git.outside && fs_kind(policy->request.fs, dot_git) == FILE_DIRECTORY)
        workspace->git.outside = dot_git;
    add_found_rule(policy, VERB_READ, &rest_of_repository, workspace->path);
}

static void keep_workspace(struct policy *policy, const struct found_workspace *found)
{
    vec_each (struct workspace, known, &policy->workspaces) {
        if (strcmp(known->path, found->path) != 0)
            continue;
        if (!found->part)
            known->parts.count = 0;
        else if (known->parts.count && !fs_has_name(&known->parts, found->part))
            vec_push(&known->parts, found->part);
        return;
    }
    struct workspace workspace = {
        .path = found->path,
        .slug = workspace_slug(policy->arena, found->part ? found->part : found->path),
        .chosen_by = found->chosen_by,
    };
    const struct git_user user = {policy->request.home, policy->request.starts[START_CONFIG]};
    git_find(policy->request.fs, found->path, &user, &workspace.git);
    if (found->part) {
        vec_push(&workspace.parts, found->part);
        open_rest(policy, &workspace);
    }
    vec_push(&policy->workspaces, workspace);
    if (workspace.git.outside)
        add_found_rule(policy, VERB_WRITE, &found_around, workspace.git.outside);
}

static void add_workspace(struct policy *policy, struct spot spot, const char *path, const char *chosen_by,
                          struct diags *diags)
{
    const char *remedy = policy->request.workspace_remedy;
    if (!remedy)
        remedy = "start in a project directory, or pass --workspace DIR";
    const struct fs_place *place = NULL;
    struct err err;
    if (fs_resolve(policy->request.fs, path, &place, &err) < 0) {
        diag_error(diags, spot, remedy, "cannot make %s the workspace: %s", path, err.message);
        return;
    }
    if (place->kind != FILE_DIRECTORY) {
        diag_error(diags, spot, remedy, "cannot make %s the workspace: %s", path,
                   place->kind == FILE_MISSING ? "there is no such directory" : "it is not a directory");
        return;
    }
    const char *unlinked = policy->request.unlinked;
    bool was_replaced = unlinked && strcmp(path, unlinked) == 0 && strcmp(path, place->real) != 0;
    const char *reason = was_replaced ? "a part of the path was replaced by a symbolic link"
                                      : objection(&policy->request, place->real);
    if (reason) {
        diag_error(diags, spot, remedy, "cannot make %s the workspace: %s", path, reason);
        return;
    }
    struct found_workspace found = {.path = place->real, .chosen_by = chosen_by};
    bool may_be_part = spot.source->layer == LAYER_COMMAND_LINE && !policy->request.is_exact;
    const char *root = may_be_part ? git_root_around(policy, place->real) : NULL;
    if (root && strcmp(root, place->real) != 0) {
        found.part = place->real;
        found.path = root;
    }
    keep_workspace(policy, &found);
}

/* The absolute path of a `workspace` rule, or NULL. A relative path is only valid on the command line. */
static const char *path_of_rule(const struct policy *policy, const struct rule *rule)
{
    const char *start = "/";
    if (rule->path.start == START_RELATIVE)
        start = policy->request.directory;
    else if (rule->path.start > START_RELATIVE)
        start = rule->path.start < START_GIT ? policy->request.starts[rule->path.start] : NULL;
    return start ? path_clean(policy->arena, start, pattern_literal(policy->arena, rule->path.pattern))
                 : NULL;
}

/* Adds the workspaces that rules of the command line, or of all other layers, name. */
static void add_named(struct policy *policy, bool of_command_line, struct diags *diags)
{
    size_t count = policy->rules.count; /* git directories may add rules, but no workspaces */
    for (size_t i = 0; i < count; i++) {
        if (policy->rules.at[i].verb != VERB_WORKSPACE)
            continue;
        struct rule rule = policy->rules.at[i];
        bool from_command_line = rule.source->layer == LAYER_COMMAND_LINE;
        if (from_command_line != of_command_line)
            continue;
        struct spot spot = spot_of_rule(&rule);
        bool is_ambiguous = rule.path.start == START_RELATIVE && !(from_command_line && rule.line == 0);
        const char *path = is_ambiguous ? NULL : path_of_rule(policy, &rule);
        if (path)
            add_workspace(policy, spot, path, from_command_line ? "--workspace" : rule.source->name, diags);
        else
            diag_error(diags, spot, "write an absolute path, or one that starts with ~",
                       "a workspace in a policy file needs an absolute path: '%s'", rule.written);
    }
}

void find_workspaces(struct policy *policy, struct diags *diags)
{
    size_t errors_before = diags->errors;
    add_named(policy, true, diags);
    if (policy->workspaces.count == 0 && diags->errors == errors_before) {
        const char *directory = policy->request.directory;
        const char *root = git_root_around(policy, directory);
        const struct source *source = root ? &found_around : &found_here;
        struct spot spot = {.source = source};
        add_workspace(policy, spot, root ? root : directory, root ? "git root" : "current directory", diags);
        if (policy->workspaces.count)
            add_found_rule(policy, VERB_WORKSPACE, source, policy->workspaces.at[0].path);
    }
    add_named(policy, false, diags);
}
