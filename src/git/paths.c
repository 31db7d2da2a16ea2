#include "git/repo.h"

#include <string.h>

#include "base/attr.h"
#include "base/text.h"
#include "git/judge.h"

size_t git_directory_size(const char *path)
{
    for (const char *at = path; at; at = strchr(at, '/')) {
        at += *at == '/';
        if (text_starts_with(at, ".git/"))
            return (size_t)(at - path) + 5;
    }
    return 0;
}

/*
 * Does the name of a submodule end here? The name may contain slashes. A name that every git directory contains
 * follows it.
 */
static bool is_in_repository(const char *path)
{
    static const char *const folders[] = {"refs",      "objects", "logs",  "modules",
                                          "worktrees", "info",    "hooks", "lfs"};
    static const char *const files[] = {
        "HEAD",      "packed-refs", "index",     "config",     "config.worktree",
        "commondir", "description", "ORIG_HEAD", "FETCH_HEAD", "MERGE_HEAD",
        "MERGE_MSG", "shallow",     "gc.log",    "gc.pid",     "COMMIT_EDITMSG"};
    size_t size = strcspn(path, "/");
    for (size_t i = 0; i < array_len(folders); i++) {
        if (strlen(folders[i]) == size && strncmp(path, folders[i], size) == 0)
            return true;
    }
    for (size_t i = 0; i < array_len(files) && !path[size]; i++) {
        if (strcmp(files[i], path) == 0)
            return true;
    }
    return false;
}

size_t git_module_size(const char *path)
{
    size_t size = 0;
    while (text_starts_with(path + size, "modules/")) {
        const char *at = strchr(path + size + strlen("modules/"), '/');
        while (at && !is_in_repository(at + 1))
            at = strchr(at + 1, '/');
        if (!at)
            break;
        size = (size_t)(at - path) + 1;
    }
    return size;
}

size_t git_repository_size(const char *path)
{
    size_t size = git_directory_size(path);
    return size ? size + git_module_size(path + size) : 0;
}

struct git_inner git_inner_of(const char *path)
{
    static const char worktrees[] = "worktrees/";
    struct git_inner inner = {.size = git_repository_size(path)};
    inner.path = path + inner.size;
    const char *slash =
        text_starts_with(inner.path, worktrees) ? strchr(inner.path + strlen(worktrees), '/') : NULL;
    inner.is_linked = inner.size && slash;
    if (inner.is_linked)
        inner.path = slash + 1;
    return inner;
}

/* Is the path, after the git directory, one of the names, or beneath a name that ends in a slash? */
static bool is_one_of(const char *path, const char *const *names, size_t count)
{
    const char *inner = path + git_directory_size(path);
    for (size_t i = 0; inner != path && i < count; i++) {
        size_t size = strlen(names[i]);
        if (strncmp(inner, names[i], size) == 0 && (names[i][size - 1] == '/' || !inner[size]))
            return true;
    }
    return false;
}

bool git_is_position(const char *path)
{
    static const char *const names[] = {"HEAD", "packed-refs", "refs/", "logs/"};
    return is_one_of(path, names, array_len(names));
}

bool git_has_lock(const char *path)
{
    static const char *const names[] = {"HEAD",   "ORIG_HEAD", "packed-refs", "index",
                                        "config", "shallow",   "refs/"};
    return is_one_of(path, names, array_len(names));
}
