/*
 * Looks into the directories of a tree ahead of its first walk, with one thread for each processor. Theory of operation:
 *
 *   1. The walk decides everything: what is an entry, what is skipped, what fails. It takes from here only the names and the looks
 *      that it would have got itself. A directory that is missing here costs a second look, never an entry.
 *   2. A directory is kept only if it could be listed as a whole and each child could be looked at. Whatever went wrong is for
 *      the walk to find, which says so.
 *   3. A directory is looked into after its parent has looked at it, as in a walk.
 *
 * Under the lock: the directories that wait, how many threads may still add to them, and what was found. A thread without
 * work waits until there is some, or until nobody can add any. With few files there is one thread.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/timespec.h"
#include "kernel/beneath.h"
#include "kernel/threads.h"
#include "workspace/children.h"

enum {
    FEW = 512,                    /* files for which a second thread is not worth its start */
    MOST_AHEAD = 512 * 1024,      /* files whose looks are in memory at a time */
    MOST_IN_ONE = MOST_AHEAD / 8, /* in a directory; a larger one is the walk's */
};

struct ahead_directory {
    struct children children;
    struct arena arena; /* the targets of symlinks */
};

struct search {
    int top_fd;
    const struct scan_request *request;
    struct ahead *ahead;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* cppcheck-suppress unusedStructMember; vec_push uses it */
    VEC(const char *) waiting; /* directories, by path */
    size_t working;            /* threads that look into a directory */
    size_t found;              /* files */
};

static void free_directory(struct ahead_directory *directory)
{
    children_free(&directory->children);
    arena_free(&directory->arena);
    free(directory);
}

/* Returns NULL if something there is for the walk to look at. */
static struct ahead_directory *look_into(const struct search *search, const char *path, char *listing)
{
    struct ahead_directory *directory = must_realloc(NULL, 1, sizeof(*directory));
    *directory = (struct ahead_directory){0};
    struct err ignored;
    auto_fd int fd = open_beneath(search->top_fd, path, O_RDONLY | O_DIRECTORY, 0);
    bool is_whole = fd >= 0 && children_list(fd, listing, MOST_IN_ONE, &directory->children) == 0 &&
                    directory->children.list.count <= MOST_IN_ONE;
    for (size_t i = 0; is_whole && i < directory->children.list.count; i++) {
        struct child *child = &directory->children.list.at[i];
        is_whole = children_look(fd, child, path, &directory->arena, &ignored) == 0 && !child->is_denied;
    }
    if (is_whole) {
        children_sort(&directory->children);
        return directory;
    }
    free_directory(directory);
    return NULL;
}

static bool is_too_late(const struct search *search)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return search->request->deadline.tv_sec && timespec_order(now, search->request->deadline) > 0;
}

/* Adds the directories in it to those that wait. Called with the lock. */
static void add_inner(struct search *search, const char *path, struct children *children)
{
    vec_each (const struct child, child, &children->list) {
        bool is_skipped = child->is_gone || !S_ISDIR(child->status.st_mode) ||
                          skips_match(search->request->skips, child->name, children_has, children);
        if (!is_skipped && strlen(path) + 1 + strlen(child->name) < PATH_LONGEST)
            vec_push(&search->waiting, path_beneath_top(&search->ahead->paths, path, child->name));
    }
}

/* Looks into one of the directories that wait. Called with the lock, which it lets go of meanwhile. */
static void take_one(struct search *search, char *listing)
{
    const char *path = search->waiting.at[--search->waiting.count];
    search->working++;
    pthread_mutex_unlock(&search->lock);
    struct ahead_directory *directory = is_too_late(search) ? NULL : look_into(search, path, listing);
    pthread_mutex_lock(&search->lock);
    search->working--;
    if (!directory)
        return;
    search->found += directory->children.list.count;
    if (search->found > MOST_AHEAD)
        search->waiting.count = 0; /* the rest is the walk's */
    else
        add_inner(search, path, &directory->children);
    *map_at(&search->ahead->directories, path, strlen(path)) = directory;
}

static void search_in_thread(void *context, bool is_caller)
{
    struct search *search = context;
    char *listing = must_realloc(NULL, CHILDREN_LISTING_SIZE, 1);
    pthread_mutex_lock(&search->lock);
    while (search->waiting.count || search->working) {
        if (!search->waiting.count) {
            pthread_cond_wait(&search->changed, &search->lock);
            continue;
        }
        take_one(search, listing);
        pthread_cond_broadcast(&search->changed);
        if (is_caller)
            progress_tell(search->request->progress, search->found, 0);
    }
    pthread_mutex_unlock(&search->lock);
    free(listing);
}

/* One thread finds out whether there are many files. */
static void search_few(struct search *search)
{
    char *listing = must_realloc(NULL, CHILDREN_LISTING_SIZE, 1);
    pthread_mutex_lock(&search->lock);
    while (search->waiting.count && search->found < FEW)
        take_one(search, listing);
    pthread_mutex_unlock(&search->lock);
    free(listing);
}

void ahead_look(int top_fd, const struct scan_request *request, struct ahead *ret_ahead)
{
    *ret_ahead = (struct ahead){0};
    if (request->before || request->start)
        return;
    struct search search = {.top_fd = top_fd,
                            .request = request,
                            .ahead = ret_ahead,
                            .lock = PTHREAD_MUTEX_INITIALIZER,
                            .changed = PTHREAD_COND_INITIALIZER};
    vec_push(&search.waiting, "");
    search_few(&search);
    if (search.waiting.count)
        threads_share(search_in_thread, &search, true);
    vec_free(&search.waiting);
}

bool ahead_take(struct ahead *ahead, const char *path, struct arena *arena, struct children *ret_children)
{
    struct ahead_directory *directory = map_get(&ahead->directories, path, strlen(path));
    if (!directory)
        return false;
    *map_at(&ahead->directories, path, strlen(path)) = NULL;
    vec_each (struct child, child, &directory->children.list) {
        if (child->target)
            child->target = arena_str(arena, child->target);
    }
    *ret_children = directory->children;
    directory->children = (struct children){0};
    free_directory(directory);
    return true;
}

void ahead_free(struct ahead *ahead)
{
    for (size_t i = 0; i < ahead->directories.capacity; i++) {
        struct ahead_directory *left = ahead->directories.slots[i].value;
        if (ahead->directories.slots[i].key && left)
            free_directory(left);
    }
    map_free(&ahead->directories);
    arena_free(&ahead->paths);
}
