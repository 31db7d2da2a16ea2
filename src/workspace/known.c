#include "workspace/scan.h"

#include <errno.h>
#include <sys/stat.h>
#include <time.h>

#include "base/fd.h"
#include "kernel/beneath.h"
#include "workspace/attributes.h"

/* Returns the first path with the same inode, if the entry is still a hard link of it. */
static const char *still_linked_to(const struct tree *tree, const struct entry *was, const struct entry *now)
{
    const struct entry *first = *was->linked_to ? tree_find(tree, was->linked_to) : NULL;
    return first && first->inode == now->inode && first->device == now->device ? first->path : "";
}

static void add_known(int top_fd, const struct scan_request *request, bool times_do_tell,
                      const struct entry *was, struct entry now, struct scan *scan)
{
    bool is_same = look_is_unchanged(request->start, was, &now);
    size_t own = scan->tree.entries.count;
    now.linked_to = still_linked_to(&scan->tree, was, &now);
    if (is_same)
        scan_inherit(&scan->tree.arena, was, &now);
    if (S_ISREG(now.mode) && !is_same)
        vec_push(&scan->fresh, own);
    if (S_ISREG(now.mode) && is_same && !times_do_tell)
        vec_push(&scan->doubted, own);
    if (S_ISDIR(now.mode)) {
        now.content = tree_is_skipped(was) ? CONTENT_LEFT_OUT : CONTENT_NONE;
        auto_fd int fd = is_same ? -1 : open_beneath(top_fd, was->path, O_RDONLY | O_DIRECTORY, 0);
        if (fd >= 0)
            attributes_read(fd, &scan->tree.arena, &now);
    }
    scan->differing += !is_same;
    vec_push(&scan->tree.entries, now);
}

int scan_known(int top_fd, const struct scan_request *request, struct scan *ret_scan, struct err *err)
{
    const struct tree *start = request->start;
    bool times_do_tell = times_tell(top_fd);
    *ret_scan = (struct scan){.tree = {.is_partial = true}};
    clock_gettime(CLOCK_REALTIME, &ret_scan->tree.taken);
    for (size_t i = 0; i < start->entries.count; i++) {
        const struct entry *was = &start->entries.at[i];
        struct entry now = {0};
        progress_tell(request->progress, i, start->entries.count);
        int found = scan_entry(top_fd, was->path, &ret_scan->tree.arena, &now, err);
        bool is_denied = found < 0 && err->errnum == EACCES;
        if (found < 0 && !is_denied) {
            scan_free(ret_scan);
            return -1;
        }
        ret_scan->was_denied |= is_denied;
        ret_scan->differing += found <= 0;
        if (found > 0 && !S_ISSOCK(now.mode))
            add_known(top_fd, request, times_do_tell, was, now, ret_scan);
    }
    return 0;
}
