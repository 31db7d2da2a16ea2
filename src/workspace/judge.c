#include "workspace/judge.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/timespec.h"
#include "git/index.h"
#include "git/repo.h"
#include "kernel/beneath.h"
#include "workspace/scan.h"

bool judge_same_kind(const struct entry *a, const struct entry *b)
{
    return a && b && (a->mode & S_IFMT) == (b->mode & S_IFMT);
}

bool judge_same_looks(const struct entry *a, const struct entry *b)
{
    return a->size == b->size && a->mode == b->mode && timespec_is_same(a->modified, b->modified) &&
           strcmp(a->target, b->target) == 0;
}

bool judge_is_expected(const struct entry *now, const struct entry *expected)
{
    if (!now->path || !expected)
        return !now->path && !expected;
    if (!judge_same_kind(now, expected))
        return false;
    if (S_ISREG(now->mode))
        return (now->inode == expected->inode || expected->inode == 0) && now->size == expected->size &&
               timespec_is_same(now->modified, expected->modified);
    return strcmp(now->target, expected->target) == 0;
}

bool judge_is_done(const struct entry *now, const struct change *change)
{
    const struct entry *from = change->before, *to = change->after;
    if (!now->path || !to)
        return !now->path && !to;
    if (!judge_same_kind(now, to))
        return false;
    if (S_ISDIR(now->mode))
        return !from || (now->mode == to->mode && timespec_is_same(now->modified, to->modified) &&
                         !(change->what & CHANGE_ATTRIBUTES));
    /* One path does not tell whether it is a hard link of another. Linking again does no harm. */
    if (!judge_same_looks(now, to) || change->what & CHANGE_LINKS)
        return false;
    if (!S_ISREG(now->mode))
        return true;
    /*
     * Old and new may look the same, or differ in attributes only. A file is always replaced if its content changes,
     * or if it has other hard links, which must not change with it. Then its inode tells.
     */
    bool looks_tell = !from || !judge_same_kind(from, to) || !judge_same_looks(from, to);
    bool is_replaced =
        change->what & CHANGE_CONTENT || (from && from->links > 1 && to->content != CONTENT_LEFT_OUT);
    if (!looks_tell && !is_replaced)
        return false;
    return looks_tell || (from->inode && now->inode != from->inode) ||
           (change->what & CHANGE_CONTENT && to->inode && to->inode != from->inode &&
            now->inode == to->inode);
}

/* The times differ. Is the content still the same? */
static int same_content(int top_fd, struct store *store, const struct entry *now,
                        const struct entry *expected, struct err *err)
{
    if (now->size != expected->size || expected->content != CONTENT_STORED || now->mode != expected->mode)
        return 0;
    auto_fd int fd = open_beneath(top_fd, now->path, O_RDONLY | O_NONBLOCK, 0);
    if (fd < 0) /* its mode may deny even its owner: then size, mode and time decide */
        return errno == EACCES && judge_same_looks(now, expected);
    int same = store_is_same(store, fd, now->size, now->allocated < now->size, &expected->blob, err);
    return same < 0 && err->errnum == ESTALE ? 0 : same;
}

/* `git status`, which many prompts and editors run, rewrites the index without changing what it means. */
static int is_restated_index(int top_fd, struct store *store, const struct entry *now,
                             const struct entry *expected, struct err *err)
{
    enum { LARGEST = 64 * 1024 * 1024 };
    if (!git_directory_size(now->path) || strcmp(path_name(now->path), "index") != 0 ||
        expected->content != CONTENT_STORED || now->mode != expected->mode)
        return 0;
    auto_buf struct buf present = {0}, past = {0};
    auto_fd int fd = open_beneath(top_fd, now->path, O_RDONLY | O_NONBLOCK, 0);
    if (fd < 0 || buf_read(&present, fd, LARGEST) < 0)
        return 0;
    int read = store_read(store, &expected->blob, LARGEST, &past, err);
    return read > 0 ? git_index_is_same((const unsigned char *)buf_text(&present), present.size,
                                        (const unsigned char *)buf_text(&past), past.size)
                    : read;
}

/* A program can give a file any size and time. Only its bytes prove that the content is there already. */
static int is_done(int top_fd, struct store *store, const struct entry *now, const struct change *change,
                   struct err *err)
{
    if (!judge_is_done(now, change))
        return 0;
    bool has_content = now->path && S_ISREG(now->mode) && change->after->content == CONTENT_STORED &&
                       change->what & (CHANGE_ADDED | CHANGE_KIND | CHANGE_CONTENT);
    return has_content ? same_content(top_fd, store, now, change->after, err) : 1;
}

/* Is it the recorded file, not written since, as far as its times tell? */
static bool is_untouched(const struct entry *now, const struct entry *before, bool looks_tell)
{
    return judge_is_expected(now, before) && timespec_is_same(now->changed, before->changed) &&
           (looks_tell || before->content != CONTENT_STORED);
}

static int judge_one(const struct replacement *replacement, bool looks_tell, struct judged *judged,
                     struct err *err)
{
    int top_fd = replacement->top_fd;
    struct store *store = replacement->store;
    const struct change *change = &judged->change;
    const struct entry *now = &judged->now, *before = change->before;
    /* The host changed the file between the moment that the tree stands for and the moment when the file was read. */
    bool is_late =
        before && !S_ISDIR(before->mode) && timespec_order(before->changed, replacement->from->taken) > 0;
    judged->judgement = JUDGED_CONFLICT;
    if (is_late)
        return 0;
    int done = is_done(top_fd, store, now, change, err);
    if (done != 0) {
        judged->judgement = JUDGED_AS_AFTER;
        return done < 0 ? -1 : 0;
    }
    bool is_regular = now->path && before && S_ISREG(now->mode) && S_ISREG(before->mode);
    if (is_regular && !is_untouched(now, before, looks_tell)) {
        int same = same_content(top_fd, store, now, before, err);
        if (same > 0)
            judged->judgement = JUDGED_AS_BEFORE;
        int restated = same ? 0 : is_restated_index(top_fd, store, now, before, err);
        if (restated > 0)
            judged->judgement = JUDGED_RESTATED;
        return same < 0 || restated < 0 ? -1 : 0;
    }
    bool is_directory = now->path && before && S_ISDIR(now->mode) && S_ISDIR(before->mode);
    if (judge_is_expected(now, before) && !(is_directory && change->after && now->mode != before->mode))
        judged->judgement = JUDGED_AS_BEFORE;
    return 0;
}

int judge_changes(const struct replacement *replacement, judged_list *ret_judged, struct err *err)
{
    change_list changes;
    compare_trees(replacement->from, replacement->to, &changes);
    judged_list judged = {0};
    bool looks_tell = times_tell(replacement->top_fd);
    int result = 0;
    for (size_t i = 0; result == 0 && i < changes.count; i++) {
        struct judged one = {.change = changes.at[i]};
        progress_tell(replacement->progress, i, changes.count);
        int found = scan_entry(replacement->top_fd, one.change.path, replacement->arena, &one.now, err);
        if (found < 0 && err->errnum == EACCES)
            one.judgement = JUDGED_DENIED;
        else if (found < 0)
            result = -1;
        else
            result = judge_one(replacement, looks_tell, &one, err);
        vec_push(&judged, one);
    }
    vec_free(&changes);
    if (result < 0) {
        vec_free(&judged);
        return -1;
    }
    *ret_judged = judged;
    return 0;
}
