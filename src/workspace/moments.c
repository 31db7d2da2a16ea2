#include "workspace/moments.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "git/branch.h"
#include "git/repo.h"
#include "kernel/beneath.h"

enum { REF_LARGEST = 4096 };

static bool read_now(const struct moments *moments, const char *path, size_t most, struct buf *ret_text)
{
    auto_fd int fd = open_beneath(moments->top_fd, path, O_RDONLY | O_NONBLOCK, 0);
    struct stat status;
    return fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && buf_read(ret_text, fd, most) == 0;
}

bool moments_read(const struct moments *moments, enum moment moment, const char *inner, size_t most,
                  struct buf *ret_text)
{
    const char *path = arena_printf(moments->arena, "%s%s", moments->prefix, inner);
    const struct entry *start = tree_find(moments->start, path), *end = tree_find(moments->end, path);
    const struct entry *entry = moment == START ? start : end;
    struct err ignored;
    if (moment == NOW || (!start && !end))
        return read_now(moments, path, most, ret_text);
    return entry && entry->content == CONTENT_STORED &&
           store_read(moments->store, &entry->blob, most, ret_text, &ignored) > 0;
}

const char *moments_value(const struct moments *moments, enum moment moment, const char *ref)
{
    auto_buf struct buf text = {0};
    if (!moments_read(moments, moment, ref, REF_LARGEST, &text))
        return packed_refs_find(&moments->packed[moment], ref);
    bool has_end = text.size && text.bytes[text.size - 1] == '\n';
    return arena_copy(moments->arena, buf_text(&text), text.size - has_end);
}

bool moments_is_same(const char *value, const char *other)
{
    return value && other ? strcmp(value, other) == 0 : value == other;
}

const char *moments_inner(const struct moments *moments, const char *path)
{
    size_t size = strlen(moments->prefix);
    bool is_inside = git_repository_size(path) == size && strncmp(path, moments->prefix, size) == 0;
    return path + (is_inside ? size : strlen(path));
}

void moments_begin(struct moments *moments)
{
    for (enum moment moment = START; moment < MOMENTS; moment++) {
        auto_buf struct buf text = {0};
        if (moments_read(moments, moment, "packed-refs", GIT_PACKED_REFS_MOST, &text))
            packed_refs_parse(moments->arena, &text, &moments->packed[moment]);
    }
}

void moments_end(struct moments *moments)
{
    for (enum moment moment = START; moment < MOMENTS; moment++)
        packed_refs_free(&moments->packed[moment]);
}
