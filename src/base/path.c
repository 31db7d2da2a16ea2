#include "base/path.h"

#include <string.h>

bool path_is_beneath(const char *path, const char *ancestor)
{
    if (ancestor[1] == '\0')
        return true; /* everything is beneath "/" */
    if (path[1] != ancestor[1])
        return false; /* as most are not: this is asked of every pair of paths */
    size_t size = strlen(ancestor);
    return strncmp(path, ancestor, size) == 0 && (path[size] == '/' || path[size] == '\0');
}

bool path_is_inside(const char *path, const char *directory)
{
    size_t size = strlen(directory);
    return strncmp(path, directory, size) == 0 && path[size] == '/';
}

int path_compare(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    int left = *a == '/' ? 1 : (unsigned char)*a + (*a != '\0');
    int right = *b == '/' ? 1 : (unsigned char)*b + (*b != '\0');
    return left - right;
}

size_t path_depth(const char *path)
{
    size_t depth = 0;
    for (const char *at = path; *at; at++)
        depth += *at == '/' && at[1] != '\0';
    return depth;
}

size_t path_parent_size(const char *path, size_t size)
{
    if (size <= 1)
        return 0;
    const char *slash = memrchr(path, '/', size);
    return slash > path ? (size_t)(slash - path) : 1;
}

const char *path_next_folder(struct arena *arena, const char **list)
{
    if (!*list || !**list)
        return NULL;
    size_t size = strcspn(*list, ":");
    const char *folder = arena_copy(arena, *list, size);
    *list += size + ((*list)[size] == ':');
    return folder;
}

const char *path_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

char *path_join(struct arena *arena, const char *directory, const char *relative)
{
    /* By hand and not with printf: this is the most frequent call of a start. */
    size_t directory_size = directory[1] ? strlen(directory) : 0, size = strlen(relative);
    if (size == 0)
        return arena_str(arena, directory);
    char *joined = arena_room(arena, directory_size + 1 + size + 1);
    memcpy(joined, directory, directory_size);
    joined[directory_size] = '/';
    memcpy(joined + directory_size + 1, relative, size + 1);
    return joined;
}

char *path_beneath_top(struct arena *arena, const char *directory, const char *name)
{
    size_t directory_size = strlen(directory), name_size = strlen(name);
    char *path = arena_room(arena, directory_size + 1 + name_size + 1), *end = path + directory_size;
    memcpy(path, directory, directory_size);
    if (directory_size)
        *end++ = '/';
    memcpy(end, name, name_size + 1);
    return path;
}

char *path_parent(struct arena *arena, const char *path)
{
    return arena_copy(arena, path, path_parent_size(path, strlen(path)));
}

char *path_moved(struct arena *arena, const char *path, const char *from, const char *to)
{
    return path_is_beneath(path, from) ? arena_printf(arena, "%s%s", to, path + strlen(from)) : NULL;
}

char *path_clean(struct arena *arena, const char *base, const char *path)
{
    size_t base_size = *path == '/' ? 0 : strlen(base);
    char *clean = arena_room(arena, base_size + strlen(path) + 3);
    memcpy(clean, base, base_size);
    size_t size = base_size == 1 ? 0 : base_size; /* "/" as base is the empty prefix */

    while (*path) {
        size_t name_size = strcspn(path, "/");
        bool is_here = name_size == 0 || (name_size == 1 && path[0] == '.');
        if (name_size == 2 && path[0] == '.' && path[1] == '.') {
            while (size && clean[--size] != '/') {
            }
        } else if (!is_here) {
            clean[size++] = '/';
            memcpy(clean + size, path, name_size);
            size += name_size;
        }
        path += name_size + (path[name_size] == '/');
    }
    if (size == 0)
        clean[size++] = '/';
    clean[size] = '\0';
    return clean;
}
