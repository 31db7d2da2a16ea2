#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "git/refs.h"
#include "git/repo.h"
#include "hold/flags.h"
#include "kernel/beneath.h"

/*
 * A flagged file that is gone: an instruction, a check or a hook that a person relies on. The user decides about it as about new content. A
 * checkout of a commit that lacks it is no deletion: HEAD is at a commit that the repository had at the start, or is built on
 * one. So a command can leave out a file by building on an older commit, as it can by checking that commit out.
 */

static bool is_gone(struct flags *flags, const char *path)
{
    struct stat status;
    auto_fd int parent_fd = open_parent_absolute(path);
    if (parent_fd >= 0 && fstatat(parent_fd, path_name(path), &status, AT_SYMLINK_NOFOLLOW) == 0)
        return false;
    if (errno_is_of_machine(errno) || errno == EACCES) {
        flags_add_unsearched(flags, path);
        return false;
    }
    return true;
}

/* Is it gone because another commit of the repository is checked out? That removes only what was committed. */
static bool is_checked_out(struct flags *flags, const struct file_content *before)
{
    const char *path = before->path;
    const struct policy *policy = flags->hold->plan->policy;
    vec_each (const struct workspace, workspace, &policy->workspaces) {
        if (!workspace->git.dirs.count || !path_is_inside(path, workspace->path))
            continue;
        struct git_position head;
        struct version was = {.path = path + strlen(workspace->path) + 1, .content = before->bytes};
        if (!gitdir_head(flags, workspace, &head) ||
            !versions_lack(&flags->versions, workspace->path, head.digits, was.path))
            return false;
        versions_find(&flags->versions, workspace->path, &was, 1);
        return was.was_there;
    }
    return false;
}

static void look_at(struct flags *flags, const char *path)
{
    struct arena *arena = flags->hold->arena;
    const struct file_content *before = content_find(&flags->before, path);
    struct file_content now = {.path = path};
    if (hold_keeps_aside(flags->hold, path) || !is_gone(flags, path))
        return;
    if (!before || !bytes_known(before->bytes)) {
        struct file_content *past = arena_new(arena, struct file_content);
        if (past_find(&flags->past, arena, &now, past) == PAST_SOMETHING)
            before = past;
    }
    if (before && !is_checked_out(flags, before))
        flags_add_change(flags, (struct new_content){.now = &now, .before = before, .is_removed = true});
}

static bool is_file(mode_t mode)
{
    return S_ISREG(mode) || S_ISLNK(mode);
}

void removed_look(struct flags *flags)
{
    struct arena *arena = flags->hold->arena;
    for (const struct past *past = &flags->past; past && past->tree; past = past->next) {
        struct flagged_walk walk = {.tree = past->workspace};
        for (size_t i = 0; i < past->tree->entries.count; i++) {
            const struct entry *entry = &past->tree->entries.at[i];
            if (is_file(entry->mode) && !git_directory_size(entry->path) &&
                flags_is_flagged_next(flags, &walk, entry->path))
                look_at(flags, path_join(arena, past->workspace, entry->path));
        }
    }
    /* What was read at the start, also outside of the workspaces. */
    for (size_t i = 0; i < flags->before.count; i++) {
        const struct file_content *before = &flags->before.at[i];
        if (is_file(before->mode) && flags_is_flagged(flags, before->path))
            look_at(flags, before->path);
    }
}
