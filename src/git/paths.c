#include "git/repo.h"

#include <string.h>

#include "base/attr.h"
#include "base/text.h"

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
    static const char *const names[] = {"HEAD", "packed-refs", "refs",     "objects",
                                        "logs", "modules",     "worktrees"};
    size_t size = strcspn(path, "/");
    for (size_t i = 0; i < array_len(names); i++) {
        if (strlen(names[i]) == size && strncmp(path, names[i], size) == 0)
            return true;
    }
    return false;
}

size_t git_repository_size(const char *path)
{
    size_t size = git_directory_size(path);
    while (size && text_starts_with(path + size, "modules/")) {
        const char *at = strchr(path + size + strlen("modules/"), '/');
        while (at && !is_in_repository(at + 1))
            at = strchr(at + 1, '/');
        if (!at)
            break;
        size = (size_t)(at - path) + 1;
    }
    return size;
}

/* Is the path, after the repository, one of the names, or beneath a name that ends in a slash? */
static bool is_one_of(const char *path, const char *const *names, size_t count)
{
    const char *inner = path + git_repository_size(path);
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
