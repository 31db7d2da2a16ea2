#include "workspace/repo_texts.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "git/refs.h"
#include "git/repo.h"
#include "kernel/beneath.h"

enum { REF_LARGEST = 4096 };

static bool read_now(const struct repo_texts *texts, const char *path, size_t most, struct buf *ret_text)
{
    auto_fd int fd = open_beneath(texts->top_fd, path, O_RDONLY | O_NONBLOCK, 0);
    struct stat status;
    return fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && buf_read(ret_text, fd, most) == 0;
}

bool repo_texts_read(const struct repo_texts *texts, enum moment moment, const char *inner, size_t most,
                     struct buf *ret_text)
{
    const char *path = arena_printf(texts->arena, "%s%s", texts->prefix, inner);
    const struct entry *start = tree_find(texts->start, path), *end = tree_find(texts->end, path);
    const struct entry *entry = moment == START ? start : end;
    struct err ignored;
    if (moment == NOW || (!start && !end))
        return read_now(texts, path, most, ret_text);
    return entry && entry->content == CONTENT_STORED &&
           store_read(texts->store, &entry->blob, most, ret_text, &ignored) > 0;
}

const char *repo_texts_value(const struct repo_texts *texts, enum moment moment, const char *ref)
{
    auto_buf struct buf text = {0};
    if (!repo_texts_read(texts, moment, ref, REF_LARGEST, &text))
        return packed_refs_find(&texts->packed[moment], ref);
    bool has_end = text.size && text.bytes[text.size - 1] == '\n';
    return arena_copy(texts->arena, buf_text(&text), text.size - has_end);
}

bool repo_texts_is_same(const char *value, const char *other)
{
    return value && other ? strcmp(value, other) == 0 : value == other;
}

const char *repo_texts_inner(const struct repo_texts *texts, const char *path)
{
    size_t size = strlen(texts->prefix);
    bool is_inside = git_repository_size(path) == size && strncmp(path, texts->prefix, size) == 0;
    return path + (is_inside ? size : strlen(path));
}

void repo_texts_begin(struct repo_texts *texts)
{
    for (enum moment moment = START; moment < MOMENTS; moment++) {
        auto_buf struct buf text = {0};
        if (repo_texts_read(texts, moment, "packed-refs", GIT_PACKED_REFS_MOST, &text))
            packed_refs_parse(texts->arena, &text, &texts->packed[moment]);
    }
}

void repo_texts_end(struct repo_texts *texts)
{
    for (enum moment moment = START; moment < MOMENTS; moment++)
        packed_refs_free(&texts->packed[moment]);
}
