#include "workspace/future.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "git/objects.h"
#include "kernel/beneath.h"
#include "workspace/scan.h"

const struct decision *future_decided(const struct future *future, const char *path)
{
    return map_get(&future->decided, path, strlen(path));
}

const struct decision *future_of(const struct future *future, const char *path)
{
    const struct decision *decision = future_decided(future, path);
    return decision && decision->course == COURSE_GO ? decision : NULL;
}

static bool is_file(const struct entry *entry)
{
    return entry && S_ISREG(entry->mode) && entry->content == CONTENT_STORED;
}

bool future_has(const struct future *future, const char *path)
{
    const struct decision *decision = future_of(future, path);
    auto_fd int fd = decision ? -1 : open_beneath(future->top_fd, path, O_PATH, 0);
    return fd >= 0 || (decision && decision->judged.change.after);
}

bool future_read_bytes(struct future *future, const struct entry *entry, size_t most, struct buf *ret_bytes)
{
    struct err ignored;
    return is_file(entry) && store_read(&future->store, &entry->blob, most, ret_bytes, &ignored) > 0;
}

bool future_read_entry(struct future *future, const struct entry *entry, size_t most, struct buf *ret_text)
{
    return future_read_bytes(future, entry, most, ret_text) &&
           !memchr(buf_text(ret_text), '\0', ret_text->size);
}

bool future_read(struct future *future, const char *path, size_t most, struct buf *ret_text)
{
    const struct decision *decision = future_of(future, path);
    if (decision)
        return future_read_entry(future, decision->judged.change.after, most, ret_text);
    auto_fd int fd = open_beneath(future->top_fd, path, O_RDONLY | O_NONBLOCK, 0);
    return fd >= 0 && buf_read(ret_text, fd, most) == 0;
}

/* A file with content. An empty file is what a crash leaves of an object. */
static bool comes(const struct future *future, const char *path)
{
    const struct decision *decision = future_of(future, path);
    return decision && is_file(decision->judged.change.after) && decision->judged.change.after->size > 0;
}

static bool is_in_new_pack(const struct future *future, const char *objects, const char *digits)
{
    for (size_t i = 0; i < future->packs.count; i++) {
        const struct new_pack *pack = &future->packs.at[i];
        if (text_starts_with(pack->path, objects) && git_pack_index_has(pack->index_fd, digits))
            return true;
    }
    return false;
}

bool future_has_object(const struct future *future, const char *objects, const char *digits)
{
    struct arena *arena = future->arena;
    if (comes(future, arena_printf(arena, "%s%s", objects, git_object_path(arena, digits))) ||
        is_in_new_pack(future, objects, digits))
        return true;
    auto_fd int fd = open_beneath(future->top_fd, objects, O_RDONLY | O_DIRECTORY, 0);
    return fd < 0 ? errno != ENOENT : git_objects_have(fd, arena, digits) != GIT_MISSING;
}

static int add_pack(struct future *future, const struct decision *decision, struct err *err)
{
    const char *path = decision->judged.change.path;
    size_t stem = strlen(path) < strlen(".idx") ? 0 : strlen(path) - strlen(".idx");
    if (strcmp(path + stem, ".idx") != 0 || !strstr(path, "/objects/pack/") || !comes(future, path) ||
        !comes(future, arena_printf(future->arena, "%.*s.pack", (int)stem, path)))
        return 0;
    auto_fd int fd = memfd_create("index", MFD_CLOEXEC);
    if (fd < 0)
        return err_sys(err, errno, "cannot make room for the index of a pack");
    if (store_write_out(&future->store, &decision->judged.change.after->blob, fd, err) < 0)
        return -1;
    vec_push(&future->packs, (struct new_pack){path, fd_take(&fd)});
    return 0;
}

int future_begin(const struct transition *transition, struct arena *arena, const decision_list *decisions,
                 struct future *ret_future, struct err *err)
{
    *ret_future = (struct future){.arena = arena, .store = STORE_NONE};
    ret_future->top_fd = workspace_open(transition->workspace, err);
    if (ret_future->top_fd < 0 || store_open(transition->directory, &ret_future->store, err) < 0)
        return -1;
    for (size_t i = 0; i < decisions->count; i++) {
        const char *path = decisions->at[i].judged.change.path;
        if (decisions->at[i].course == COURSE_GO && strstr(path, ".git"))
            *map_at(&ret_future->decided, path, strlen(path)) = &decisions->at[i];
    }
    for (size_t i = 0; i < decisions->count; i++) {
        if (add_pack(ret_future, &decisions->at[i], err) < 0)
            return -1;
    }
    return 0;
}

void future_end(struct future *future)
{
    for (size_t i = 0; i < future->packs.count; i++)
        close(future->packs.at[i].index_fd);
    vec_free(&future->packs);
    map_free(&future->decided);
    store_close(&future->store);
    if (future->top_fd >= 0)
        close(future->top_fd);
}
