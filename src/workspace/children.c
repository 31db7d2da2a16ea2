#include "workspace/children.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"

int children_list(int fd, char *listing, size_t most, struct children *children)
{
    while (children->list.count <= most) {
        ssize_t got = getdents64(fd, listing, CHILDREN_LISTING_SIZE);
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        for (ssize_t at = 0; at < got;) {
            const struct dirent64 *entry = (const struct dirent64 *)(const void *)(listing + at);
            at += entry->d_reclen;
            if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
                continue;
            vec_push(&children->list, (struct child){.name_at = children->names.size});
            buf_add(&children->names, entry->d_name, strlen(entry->d_name) + 1);
        }
    }
    vec_each (struct child, child, &children->list)
        child->name = children->names.bytes + child->name_at;
    return 0;
}

const char *children_target(int fd, const char *name, struct arena *arena)
{
    not_zeroed char target[PATH_LONGEST];
    ssize_t size = readlinkat(fd, name, target, sizeof(target) - 1);
    return size < 0 ? "" : arena_copy(arena, target, (size_t)size);
}

/* Errors such as ENOMEM, EMFILE and EIO must not be read as "file absent": the file would count as removed. */
int children_look(int fd, struct child *child, const char *path, struct arena *arena, struct err *err)
{
    errno = 0;
    child->is_gone = fstatat(fd, child->name, &child->status, AT_SYMLINK_NOFOLLOW) < 0;
    child->is_denied = child->is_gone && errno == EACCES;
    if (!child->is_gone && S_ISLNK(child->status.st_mode))
        child->target = children_target(fd, child->name, arena);
    return errno_is_of_machine(errno) ? err_sys(err, errno, "cannot look at %s in %s", child->name, path) : 0;
}

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct child *)a)->name, ((const struct child *)b)->name);
}

void children_sort(struct children *children)
{
    if (children->list.count)
        qsort(children->list.at, children->list.count, sizeof(*children->list.at), compare);
}

bool children_has(void *context, const char *name)
{
    const struct children *children = context;
    struct child key = {.name = name};
    return children->list.count &&
           bsearch(&key, children->list.at, children->list.count, sizeof(key), compare);
}

void children_free(struct children *children)
{
    vec_free(&children->list);
    buf_free(&children->names);
}
