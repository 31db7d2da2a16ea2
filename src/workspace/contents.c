/*
 * The contents of a walk's fresh files, from the files into the store. Opening and reading a small file costs the kernel more than
 * anything that is done with its bytes, so one thread for each processor reads and hashes. The states of a file:
 *
 *   taken    by one thread, with others of its chunk. No other thread touches its entry
 *   read     a small file that is, after reading it, as the walk saw it, and has no attributes: its bytes are in the thread's memory
 *   stored   under the lock. What was not read, for whatever reason, is read here in the ordinary way (put_opened)
 *
 * Store, arena and result belong to the thread that has the lock. Further names of a file (hard links) wait until its first name
 * is stored.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "kernel/beneath.h"
#include "kernel/threads.h"
#include "workspace/attributes.h"
#include "workspace/snapshot.h"

static bool is_over(struct timespec deadline)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return deadline.tv_sec && now.tv_sec > deadline.tv_sec;
}

/* Reads the file as `now` describes it. Returns 1, or 0 if it is another one by the end. */
static int put_as(struct store *store, int fd, struct arena *arena, struct entry now, struct entry *ret_entry,
                  struct err *err)
{
    struct stat status;
    int result = store_put(store, fd, now.size, now.allocated < now.size, &now.blob, err);
    if (result < 0 && err->errnum != ESTALE)
        return -1;
    if (fstat(fd, &status) < 0)
        return err_sys(err, errno, "cannot look at %s", now.path);
    struct entry after = look_entry(&status, now.path);
    if (result < 0 || !look_is_same(&now, &after))
        return 0;
    now.content = CONTENT_STORED;
    attributes_read(fd, arena, &now);
    *ret_entry = now;
    return 1;
}

/*
 * The walk has just looked at the file, and usually it is still that. If it is not, it is looked at and read again, up to three
 * times: a process may be writing it.
 */
static int put_steady(struct store *store, int fd, struct arena *arena, struct entry *entry, struct err *err)
{
    enum { TRIES = 3 };
    if (put_as(store, fd, arena, *entry, entry, err) == 1)
        return 0;
    for (int i = 0; i < TRIES; i++) {
        struct stat status;
        if (fstat(fd, &status) < 0)
            return err_sys(err, errno, "cannot look at %s", entry->path);
        struct entry now = look_entry(&status, entry->path);
        now.linked_to = entry->linked_to;
        if (!S_ISREG(now.mode))
            return err_sys(err, ESTALE, "%s is not a file any more", entry->path);
        int result = put_as(store, fd, arena, now, entry, err);
        if (result != 0)
            return result < 0 ? -1 : 0;
    }
    return err_sys(err, ESTALE, "%s keeps changing", entry->path);
}

/* Owns the descriptor; -1: the file could not be opened, for the reason in errno. */
static int put_opened(struct store *store, int opened_fd, struct arena *arena, struct entry *entry,
                      bool *was_denied, struct err *err)
{
    auto_fd int fd = opened_fd;
    entry->content = CONTENT_LEFT_OUT;
    *was_denied |= fd < 0 && errno == EACCES;
    if (fd < 0)
        return 0; /* the file is gone, or belongs to another user */
    int result = put_steady(store, fd, arena, entry, err);
    return result < 0 && (err->errnum == ESTALE || err->errnum == EIO) ? 0 : result;
}

int snapshot_one(struct store *store, int top_fd, struct arena *arena, struct entry *entry, bool *was_denied,
                 struct err *err)
{
    int fd = open_beneath(top_fd, entry->path, O_RDONLY | O_NONBLOCK, 0);
    return put_opened(store, fd, arena, entry, was_denied, err);
}

/* The directory of the file that was opened last: in walk order, the next file usually lies there, too. */
struct nearby {
    int top_fd, fd;
    const char *path; /* of a file in it; NULL: none */
    size_t size;      /* of the directory's part of that path */
};

static int open_nearby(struct nearby *nearby, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t size = (size_t)(name - path);
    bool is_there = nearby->path && nearby->size == size && memcmp(nearby->path, path, size) == 0;
    if (!is_there) {
        fd_close(nearby->fd);
        nearby->fd = open_parent_beneath(nearby->top_fd, path, &name);
        nearby->path = nearby->fd < 0 ? NULL : path;
        nearby->size = size;
    }
    return nearby->fd < 0 ? -1 : open_beneath(nearby->fd, name, O_RDONLY | O_NONBLOCK, 0);
}

static int larger_first(const void *a, const void *b, void *entries)
{
    const struct entry *left = (const struct entry *)entries + *(const size_t *)a;
    const struct entry *right = (const struct entry *)entries + *(const size_t *)b;
    return left->allocated < right->allocated ? 1 : left->allocated > right->allocated ? -1 : 0;
}

/* The entry that holds the content of a further name (a hard link); NULL where the entry is the first name itself. */
static const struct entry *first_name(const struct scan *scan, const struct entry *entry)
{
    return *entry->linked_to ? tree_find(&scan->tree, entry->linked_to) : NULL;
}

/* Marks the largest files as left out, until the rest is within the limit. A file of many names counts once. */
static void leave_out_largest(struct scan *scan, uint64_t most_bytes)
{
    uint64_t sum = 0;
    VEC(size_t) by_size = {0};
    vec_each (const size_t, fresh, &scan->fresh) {
        const struct entry *entry = &scan->tree.entries.at[*fresh];
        if (first_name(scan, entry))
            continue;
        sum += entry->allocated;
        vec_push(&by_size, *fresh);
    }
    if (sum <= most_bytes) {
        vec_free(&by_size);
        return;
    }
    qsort_r(by_size.at, by_size.count, sizeof(size_t), larger_first, scan->tree.entries.at);
    for (size_t i = 0; sum > most_bytes && i < by_size.count; i++) {
        struct entry *entry = &scan->tree.entries.at[by_size.at[i]];
        entry->content = CONTENT_LEFT_OUT;
        sum -= entry->allocated;
    }
    vec_free(&by_size);
    vec_each (const size_t, fresh, &scan->fresh) {
        struct entry *entry = &scan->tree.entries.at[*fresh];
        const struct entry *first = first_name(scan, entry);
        if (first && first->content == CONTENT_LEFT_OUT)
            entry->content = CONTENT_LEFT_OUT;
    }
}

/* Reads the files that look unchanged where that proves nothing. A file whose hash differs is fresh. */
static int check_doubted(struct store *store, int top_fd, const struct scan_request *request,
                         struct scan *scan, struct err *err)
{
    for (size_t i = 0; i < scan->doubted.count; i++) {
        struct entry *entry = &scan->tree.entries.at[scan->doubted.at[i]];
        progress_tell(request->progress, i, scan->doubted.count);
        if (i % 64 == 0 && is_over(request->deadline))
            return err_sys(err, ETIME, "it takes too long to read");
        auto_fd int fd = open_beneath(top_fd, entry->path, O_RDONLY | O_NONBLOCK, 0);
        if (fd >= 0 &&
            store_is_same(store, fd, entry->size, entry->allocated < entry->size, &entry->blob, err) == 1)
            continue;
        entry->content = CONTENT_NONE;
        scan->differing++;
        vec_push(&scan->fresh, scan->doubted.at[i]);
    }
    return 0;
}

/* --- threads ------------------------------------------------------------------------------------------------------ */

enum {
    FEW = 512,  /* files for which a second thread is not worth its start */
    CHUNK = 64, /* files that a thread takes at a time */
    BYTES = 4 * STORE_SMALL,
};

struct shared {
    struct store *store;
    int top_fd;
    const struct scan_request *request;
    struct scan *scan;
    atomic_size_t taken;  /* fresh files that some thread has taken */
    atomic_bool is_over;  /* something has failed */
    pthread_mutex_t lock; /* of the store, and of what follows */
    size_t stored;
    struct err *err;
};

struct taken {
    struct entry *entry;
    const char *bytes; /* NULL: not read */
    struct blob_id id;
};

/* One thread's. */
struct reader {
    struct shared *shared;
    bool is_caller; /* the thread that reports progress */
    struct nearby nearby;
    char *bytes; /* BYTES of memory, or NULL */
    size_t used, count;
    struct taken files[CHUNK];
};

/* Says whether the file was read as the walk saw it. Otherwise the ordinary way finds out why. */
static bool read_small(struct reader *reader, struct taken *file)
{
    char *bytes = reader->bytes + reader->used;
    const struct entry *entry = file->entry;
    auto_fd int fd = open_nearby(&reader->nearby, entry->path);
    struct stat status;
    if (fd < 0 || store_read_small(fd, entry->size, bytes, &file->id) < 0 || fstat(fd, &status) < 0)
        return false;
    struct entry after = look_entry(&status, entry->path);
    if (!look_is_same(entry, &after) || attributes_are_there(fd))
        return false;
    file->bytes = bytes;
    reader->used += entry->size;
    return true;
}

static int store_file(struct reader *reader, const struct taken *file)
{
    struct shared *shared = reader->shared;
    struct entry *entry = file->entry;
    if (!file->bytes)
        return put_opened(shared->store, open_nearby(&reader->nearby, entry->path), &shared->scan->tree.arena,
                          entry, &shared->scan->was_denied, shared->err);
    if (store_put_small(shared->store, file->bytes, entry->size, &file->id, shared->err) < 0)
        return -1;
    entry->content = CONTENT_STORED;
    entry->blob = file->id;
    return 0;
}

static void store_files(struct reader *reader)
{
    struct shared *shared = reader->shared;
    pthread_mutex_lock(&shared->lock);
    for (size_t i = 0; i < reader->count && !atomic_load(&shared->is_over); i++, shared->stored++) {
        if (reader->is_caller)
            progress_tell(shared->request->progress, shared->stored, shared->scan->fresh.count);
        if (store_file(reader, &reader->files[i]) < 0)
            atomic_store(&shared->is_over, true);
    }
    pthread_mutex_unlock(&shared->lock);
    reader->count = reader->used = 0;
}

static void read_chunk(struct reader *reader, size_t from)
{
    struct shared *shared = reader->shared;
    struct scan *scan = shared->scan;
    for (size_t i = from; i < from + CHUNK && i < scan->fresh.count; i++) {
        struct entry *entry = &scan->tree.entries.at[scan->fresh.at[i]];
        if (entry->content == CONTENT_LEFT_OUT || *entry->linked_to)
            continue;
        bool is_small = reader->bytes && entry->size <= STORE_SMALL;
        if (is_small && entry->size > BYTES - reader->used)
            store_files(reader);
        struct taken *file = &reader->files[reader->count++];
        *file = (struct taken){.entry = entry};
        if (is_small && !read_small(reader, file))
            file->bytes = NULL;
    }
    store_files(reader);
}

static void note_timeout(struct shared *shared)
{
    pthread_mutex_lock(&shared->lock);
    if (!atomic_exchange(&shared->is_over, true))
        (void)err_sys(shared->err, ETIME, "it takes too long to read");
    pthread_mutex_unlock(&shared->lock);
}

static void read_in_thread(void *context, bool is_caller)
{
    struct shared *shared = context;
    size_t count = shared->scan->fresh.count, from;
    void *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct reader reader = {.shared = shared,
                            .is_caller = is_caller,
                            .nearby = {.top_fd = shared->top_fd, .fd = -1},
                            .bytes = memory == MAP_FAILED ? NULL : memory};
    while ((from = atomic_fetch_add(&shared->taken, CHUNK)) < count && !atomic_load(&shared->is_over)) {
        if (is_over(shared->request->deadline))
            note_timeout(shared);
        else
            read_chunk(&reader, from);
    }
    fd_close(reader.nearby.fd);
    if (reader.bytes)
        munmap(reader.bytes, BYTES);
}

/* A further name has the content of the first one. If that was not stored, it is read by itself. */
static int store_further_names(struct shared *shared, struct err *err)
{
    struct scan *scan = shared->scan;
    int result = 0;
    for (size_t i = 0; result == 0 && i < scan->fresh.count; i++) {
        struct entry *entry = &scan->tree.entries.at[scan->fresh.at[i]];
        if (entry->content == CONTENT_LEFT_OUT || !*entry->linked_to)
            continue;
        const struct entry *first = first_name(scan, entry);
        if (!first || first->content != CONTENT_STORED) {
            result =
                snapshot_one(shared->store, shared->top_fd, &scan->tree.arena, entry, &scan->was_denied, err);
            continue;
        }
        entry->content = CONTENT_STORED;
        entry->blob = first->blob;
        entry->attributes = first->attributes;
        entry->attributes_size = first->attributes_size;
    }
    return result;
}

int snapshot_contents(struct store *store, int top_fd, const struct scan_request *request, struct scan *scan,
                      uint64_t most_bytes, struct err *err)
{
    if (check_doubted(store, top_fd, request, scan, err) < 0)
        return -1;
    leave_out_largest(scan, most_bytes);
    struct shared shared = {.store = store,
                            .top_fd = top_fd,
                            .request = request,
                            .scan = scan,
                            .lock = PTHREAD_MUTEX_INITIALIZER,
                            .err = err};
    if (scan->fresh.count)
        threads_share(read_in_thread, &shared, scan->fresh.count > FEW);
    if (atomic_load(&shared.is_over) || store_further_names(&shared, err) < 0)
        return -1;
    return store_flush(store, err);
}
