#include "workspace/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/map.h"
#include "base/path.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"
#include "workspace/attributes.h"
#include "workspace/snapshot.h"

enum { KEPT_FILES = 256 }; /* the strings of so many entries are freed at once */

struct stream {
    const struct stream_request *request;
    struct buf path;    /* of the current file */
    struct arena arena; /* of the latest entries */
    struct map inodes;  /* device and inode → the first path of a file with several hard links */
    struct arena links; /* of the keys and paths in `inodes` */
    size_t visited;
};

/* The sorted names of a directory. */
struct names {
    struct arena arena;
    /* cppcheck-suppress unusedStructMember; vec_push uses it */
    VEC(const char *) sorted;
};

static void names_free(struct names *names)
{
    vec_free(&names->sorted);
    arena_free(&names->arena);
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Returns -1 with errno. */
static int list_names(int fd, struct names *names)
{
    auto_dir DIR *directory = directories_list(fd);
    int trouble = 0;
    if (!directory)
        return -1;
    for (const struct dirent *entry; (entry = directories_next(directory, &trouble));)
        vec_push(&names->sorted, arena_str(&names->arena, entry->d_name));
    if (names->sorted.count)
        qsort(names->sorted.at, names->sorted.count, sizeof(*names->sorted.at), by_bytes);
    errno = trouble;
    return trouble ? -1 : 0;
}

static void note_hard_link(struct stream *stream, struct entry *entry)
{
    const uint64_t number[] = {entry->device, entry->inode};
    const char *key = arena_copy(&stream->links, (const char *)number, sizeof(number));
    void **first = map_at(&stream->inodes, key, sizeof(number));
    if (*first)
        entry->linked_to = *first;
    else
        *first = arena_str(&stream->links, entry->path);
}

static int visit(const struct stream *stream, const struct entry *entry, struct err *err)
{
    return stream->request->visit(stream->request->context, entry, err);
}

static int look_at(struct stream *stream, struct err *err);

static int visit_names(struct stream *stream, const struct names *names, struct err *err)
{
    size_t size = stream->path.size;
    int result = 0;
    for (size_t i = 0; i < names->sorted.count && result == 0; i++) {
        buf_printf(&stream->path, "%s%s", size ? "/" : "", names->sorted.at[i]);
        if (stream->path.size < PATH_LONGEST)
            result = look_at(stream, err);
        stream->path.size = size;
        stream->path.bytes[size] = '\0';
    }
    return result;
}

/* `own` is the entry of the directory, which is visited before its content; NULL for the start. */
static int enter(struct stream *stream, struct entry *own, struct err *err)
{
    __attribute__((cleanup(names_free))) struct names names = {0};
    auto_fd int fd =
        open_beneath(stream->request->top_fd, buf_text(&stream->path), O_RDONLY | O_DIRECTORY, 0);
    bool is_open = fd >= 0 && list_names(fd, &names) == 0;
    if (!is_open && (!own || errno_is_of_machine(errno)))
        return err_sys(err, errno, "cannot look into %s", stream->path.size ? stream->path.bytes : ".");
    if (own && is_open)
        attributes_read(fd, &stream->arena, own);
    if (own && !is_open)
        own->content = CONTENT_LEFT_OUT;
    if (own && visit(stream, own, err) < 0)
        return -1;
    close(fd_take(&fd)); /* a deep tree would need a descriptor for each level */
    return is_open ? visit_names(stream, &names, err) : 0;
}

static int look_at(struct stream *stream, struct err *err)
{
    const struct stream_request *request = stream->request;
    struct entry entry;
    bool was_denied = false;
    if (++stream->visited % KEPT_FILES == 0)
        arena_free(&stream->arena);
    if (stream->visited > SCAN_MOST_ENTRIES)
        return err_sys(err, E2BIG, "it has more than %d files", SCAN_MOST_ENTRIES);
    progress_tell(request->progress, stream->visited, 0);
    int found = scan_entry(request->top_fd, buf_text(&stream->path), &stream->arena, &entry, err);
    if (found <= 0 || S_ISSOCK(entry.mode))
        return found < 0 ? -1 : 0;
    if (S_ISDIR(entry.mode))
        return enter(stream, &entry, err);
    if (entry.links > 1)
        note_hard_link(stream, &entry);
    if (S_ISREG(entry.mode) &&
        snapshot_one(request->store, request->top_fd, &stream->arena, &entry, &was_denied, err) < 0)
        return -1;
    return visit(stream, &entry, err);
}

int stream_tree(const struct stream_request *request, struct err *err)
{
    struct stream stream = {.request = request};
    buf_add_str(&stream.path, request->start);
    int result = enter(&stream, NULL, err);
    buf_free(&stream.path);
    arena_free(&stream.arena);
    map_free(&stream.inodes);
    arena_free(&stream.links);
    return result;
}
