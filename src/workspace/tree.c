#include "workspace/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "kernel/beneath.h"

static const char magic[8] = "bawntre1";

/* Numbers in this machine's byte order: the file never leaves it. */
struct header {
    char magic[8];
    uint64_t count;
    int64_t seconds, nanoseconds;
};

struct saved_entry {
    uint64_t size, inode, device;
    int64_t modified, changed;
    uint32_t modified_ns, changed_ns;
    uint32_t mode, links, uid, gid;
    uint32_t content;
    uint32_t path_size, target_size, linked_size, attributes_size; /* of the strings, without their NUL */
    uint32_t is_whole;                                             /* 0 or 1 */
    struct blob_id blob;
};

int tree_order(const char *a, const char *b)
{
    if (a == b) /* one tree has borrowed the path from the other */
        return 0;
    while (*a && *a == *b)
        a++, b++;
    /* A slash sorts before every other byte, so that a directory's entries follow it immediately. */
    int left = *a == '/' ? 1 : *a ? (unsigned char)*a + 1 : 0;
    int right = *b == '/' ? 1 : *b ? (unsigned char)*b + 1 : 0;
    return left - right;
}

int tree_by_path(const void *path, const void *element)
{
    return tree_order(path, *(const char *const *)element);
}

const struct entry *tree_find(const struct tree *tree, const char *path)
{
    size_t count = tree->entries.count;
    return count ? bsearch(path, tree->entries.at, count, sizeof(*tree->entries.at), tree_by_path) : NULL;
}

bool tree_is_skipped(const struct entry *entry)
{
    return S_ISDIR(entry->mode) && entry->content == CONTENT_LEFT_OUT;
}

bool tree_path_is_sound(const char *path)
{
    if (strlen(path) >= PATH_LONGEST)
        return false;
    for (;;) {
        size_t size = strcspn(path, "/");
        bool is_dots = (size == 1 && path[0] == '.') || (size == 2 && path[0] == '.' && path[1] == '.');
        if (size == 0 || is_dots)
            return false;
        path += size;
        if (!*path++)
            return true;
    }
}

static size_t padded(size_t size)
{
    return (size + 7) & ~(size_t)7;
}

static size_t texts_size(const struct saved_entry *saved)
{
    return (size_t)saved->path_size + saved->target_size + saved->linked_size + saved->attributes_size + 4;
}

static void add_entry(struct buf *out, const struct entry *entry)
{
    struct saved_entry saved = {
        .size = entry->size,
        .inode = entry->inode,
        .device = entry->device,
        .modified = entry->modified.tv_sec,
        .modified_ns = (uint32_t)entry->modified.tv_nsec,
        .changed = entry->changed.tv_sec,
        .changed_ns = (uint32_t)entry->changed.tv_nsec,
        .mode = entry->mode,
        .links = entry->links,
        .uid = entry->uid,
        .gid = entry->gid,
        .content = entry->content,
        .path_size = (uint32_t)strlen(entry->path),
        .target_size = (uint32_t)strlen(entry->target),
        .linked_size = (uint32_t)strlen(entry->linked_to),
        .attributes_size = entry->attributes_size,
        .is_whole = entry->is_whole,
        .blob = entry->blob,
    };
    buf_add(out, (const char *)&saved, sizeof(saved));
    buf_add(out, entry->path, saved.path_size + 1U);
    buf_add(out, entry->target, saved.target_size + 1U);
    buf_add(out, entry->linked_to, saved.linked_size + 1U);
    if (entry->attributes_size)
        buf_add(out, entry->attributes, entry->attributes_size);
    static const char zeros[8];
    size_t size = texts_size(&saved);
    buf_add(out, zeros, 1 + padded(size) - size);
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

enum { WAITING_MOST = 256 * 1024 };

static void name_temporary(const char *name, char ret_temporary[NAME_MAX + 1])
{
    snprintf(ret_temporary, NAME_MAX + 1, "%s.new", name);
}

static int say_unwritten(const struct tree_writer *writer, struct err *err)
{
    return err_sys(err, errno, "cannot write %s in bawn's own folder", writer->name);
}

int tree_writer_begin(struct tree_writer *writer, int folder_fd, const char *name, struct err *err)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    const struct header empty = {0};
    char temporary[NAME_MAX + 1];
    *writer = (struct tree_writer){.folder_fd = folder_fd, .name = name};
    name_temporary(name, temporary);
    writer->fd = openat(folder_fd, temporary, flags, 0600);
    if (writer->fd < 0 && errno == EEXIST && unlinkat(folder_fd, temporary, 0) == 0)
        writer->fd = openat(folder_fd, temporary, flags, 0600);
    buf_add(&writer->waiting, (const char *)&empty, sizeof(empty));
    return writer->fd < 0 ? say_unwritten(writer, err) : 0;
}

static int write_waiting(struct tree_writer *writer, struct err *err)
{
    if (write_whole(writer->fd, writer->waiting.bytes, writer->waiting.size) < 0)
        return say_unwritten(writer, err);
    writer->waiting.size = 0;
    writer->has_written = true;
    return 0;
}

int tree_writer_add(struct tree_writer *writer, const struct entry *entry, struct err *err)
{
    add_entry(&writer->waiting, entry);
    writer->count++;
    return writer->waiting.size < WAITING_MOST ? 0 : write_waiting(writer, err);
}

int tree_writer_finish(struct tree_writer *writer, struct timespec taken, struct err *err)
{
    struct header header = {.count = writer->count, .seconds = taken.tv_sec, .nanoseconds = taken.tv_nsec};
    char temporary[NAME_MAX + 1];
    memcpy(header.magic, magic, sizeof(magic));
    name_temporary(writer->name, temporary);
    bool is_first = !writer->has_written;
    if (is_first)
        memcpy(writer->waiting.bytes, &header, sizeof(header));
    if (write_waiting(writer, err) < 0)
        return -1;
    if ((!is_first && pwrite(writer->fd, &header, sizeof(header), 0) != sizeof(header)) ||
        renameat(writer->folder_fd, temporary, writer->folder_fd, writer->name) < 0)
        return say_unwritten(writer, err);
    writer->is_finished = true;
    return 0;
}

void tree_writer_close(struct tree_writer *writer)
{
    if (writer->fd >= 0 && !writer->is_finished) {
        char temporary[NAME_MAX + 1];
        name_temporary(writer->name, temporary);
        unlinkat(writer->folder_fd, temporary, 0);
    }
    fd_close(writer->fd);
    writer->fd = -1;
    buf_free(&writer->waiting);
}

int tree_save(const struct tree *tree, int folder_fd, const char *name, struct err *err)
{
    struct tree_writer writer;
    int result = tree_writer_begin(&writer, folder_fd, name, err);
    for (size_t i = 0; i < tree->entries.count && result == 0; i++)
        result = tree_writer_add(&writer, &tree->entries.at[i], err);
    if (result == 0)
        result = tree_writer_finish(&writer, tree->taken, err);
    tree_writer_close(&writer);
    return result;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* A string of that size, ended by the only NUL in it. */
static const char *take_text(const char **at, size_t size)
{
    const char *text = *at;
    *at += size + 1;
    return memchr(text, '\0', size + 1) == text + size ? text : NULL;
}

static bool read_entry(const char **at, const char *end, struct entry *ret_entry)
{
    struct saved_entry saved;
    if ((size_t)(end - *at) < sizeof(saved))
        return false;
    memcpy(&saved, *at, sizeof(saved));
    *at += sizeof(saved);
    if (saved.path_size >= PATH_LONGEST || saved.target_size >= PATH_LONGEST ||
        saved.linked_size >= PATH_LONGEST || saved.content >= CONTENT_KINDS ||
        (size_t)(end - *at) < padded(texts_size(&saved)))
        return false;
    const char *texts = *at, *next = texts;
    *at += padded(texts_size(&saved));
    *ret_entry = (struct entry){
        .path = take_text(&next, saved.path_size),
        .target = take_text(&next, saved.target_size),
        .linked_to = take_text(&next, saved.linked_size),
        .attributes = next,
        .attributes_size = saved.attributes_size,
        .mode = saved.mode,
        .links = saved.links,
        .uid = saved.uid,
        .gid = saved.gid,
        .size = saved.size,
        .inode = saved.inode,
        .device = saved.device,
        .modified = {saved.modified, saved.modified_ns},
        .changed = {saved.changed, saved.changed_ns},
        .content = (enum content)saved.content,
        .is_whole = saved.is_whole == 1,
        .blob = saved.blob,
    };
    return ret_entry->path && ret_entry->target && ret_entry->linked_to &&
           tree_path_is_sound(ret_entry->path) &&
           (!*ret_entry->linked_to || tree_path_is_sound(ret_entry->linked_to)) &&
           saved.modified_ns < 1000000000 && saved.changed_ns < 1000000000;
}

int tree_parse(const char *bytes, size_t size, struct tree *ret_tree, struct err *err)
{
    struct header header;
    if (size < sizeof(header) || memcmp(bytes, magic, sizeof(magic)) != 0)
        return err_set(err, "a snapshot is damaged: it does not begin as one");
    memcpy(&header, bytes, sizeof(header));
    const char *at = bytes + sizeof(header), *end = bytes + size;
    struct tree tree = {.taken = {header.seconds, header.nanoseconds}};
    if (header.count > size / sizeof(struct saved_entry))
        return err_set(err, "a snapshot is damaged: it is shorter than it says");
    tree.entries.capacity = header.count + 1;
    tree.entries.at = must_realloc(NULL, tree.entries.capacity, sizeof(*tree.entries.at));
    for (uint64_t i = 0; i < header.count; i++) {
        struct entry *entry = &tree.entries.at[tree.entries.count];
        if (!read_entry(&at, end, entry) || (i && tree_order(entry[-1].path, entry->path) >= 0)) {
            vec_free(&tree.entries);
            return err_set(err, "a snapshot is damaged at its entry %llu", (unsigned long long)i);
        }
        tree.entries.count++;
    }
    *ret_tree = tree;
    return 0;
}

int tree_load(int folder_fd, const char *name, struct tree *ret_tree, struct err *err)
{
    auto_fd int fd = openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    struct stat status;
    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
        return err_sys(err, errno, "cannot open the snapshot %s", name);
    size_t size = (size_t)status.st_size;
    void *mapped = size ? mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0) : MAP_FAILED;
    if (mapped == MAP_FAILED)
        return err_set(err, "the snapshot %s cannot be read", name);
    if (tree_parse(mapped, size, ret_tree, err) < 0) {
        munmap(mapped, size);
        return -1;
    }
    ret_tree->mapped = mapped;
    ret_tree->mapped_size = size;
    return 1;
}

int tree_revise(int folder_fd, const char *name, const revision_list *revisions, struct err *err)
{
    auto_tree struct tree tree = {0}, revised = {0};
    if (revisions->count == 0)
        return 0;
    if (tree_load(folder_fd, name, &tree, err) < 0)
        return -1;
    revised.taken = tree.taken;
    size_t next = 0;
    for (size_t i = 0; i <= tree.entries.count; i++) {
        const struct entry *entry = i < tree.entries.count ? &tree.entries.at[i] : NULL;
        int order = 1;
        for (; order > 0 && next < revisions->count; next += order >= 0) {
            const struct revision *revision = &revisions->at[next];
            order = entry ? tree_order(entry->path, revision->path) : 1;
            if (order >= 0 && revision->entry)
                vec_push(&revised.entries, *revision->entry);
        }
        if (entry && order != 0)
            vec_push(&revised.entries, *entry);
    }
    return tree_save(&revised, folder_fd, name, err);
}

void tree_add_prefix(struct arena *arena, const char *prefix, struct tree *tree)
{
    for (size_t i = 0; *prefix && i < tree->entries.count; i++) {
        struct entry *entry = &tree->entries.at[i];
        entry->path = arena_printf(arena, "%s/%s", prefix, entry->path);
        if (*entry->linked_to)
            entry->linked_to = arena_printf(arena, "%s/%s", prefix, entry->linked_to);
    }
}

void tree_free(struct tree *tree)
{
    vec_free(&tree->entries);
    vec_free(&tree->sockets);
    arena_free(&tree->arena);
    if (tree->mapped)
        munmap(tree->mapped, tree->mapped_size);
    *tree = (struct tree){0};
}
