/* Questions about a git directory that a run may have made or changed, which more than one search asks. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "git/within.h"
#include "hold/flags.h"
#include "kernel/beneath.h"
#include "policy/decide.h"

bool gitdir_is_known(const struct flags *flags, const char *git_dir)
{
    const struct policy *policy = flags->hold->plan->policy;
    vec_each (const struct workspace, workspace, &policy->workspaces) {
        const struct git_repo *repo = &workspace->git;
        if (text_is_among(git_dir, repo->dirs.at, repo->dirs.count) ||
            text_is_among(git_dir, repo->links.at, repo->links.count))
            return true;
    }
    return false;
}

const char *gitdir_written_path(struct arena *arena, struct bytes bytes)
{
    size_t size = bytes.size;
    while (size && (bytes.at[size - 1] == '\n' || bytes.at[size - 1] == '\r'))
        size--;
    return size < PATH_LONGEST && !memchr(bytes.at, '\0', size) ? arena_copy(arena, bytes.at, size) : "";
}

bool gitdir_is_writable(const struct flags *flags, const char *path)
{
    enum access access = decide_path(flags->hold->plan->policy, path, NULL).access;
    return access == ACCESS_WRITE || access == ACCESS_FLAGGED || hold_was_given(flags->hold, path);
}

bool gitdir_is_part(const struct flags *flags, const char *inner, const char *path)
{
    if (!text_starts_with(inner, "modules/") && !text_starts_with(inner, "worktrees/"))
        return false;
    auto_fd int fd = open_absolute(path, O_RDONLY | O_DIRECTORY);
    return gitdir_is_known(flags, path) || (fd >= 0 && git_is_repository(fd));
}

/* The path that a regular file with one name holds, behind `start`. "" where it holds none. */
static const char *read_path(struct arena *arena, const char *file, const char *start)
{
    file_contents found = {0};
    content_add(arena, file, &found);
    const struct file_content *content = found.count ? &found.at[0] : NULL;
    bool is_file = content && S_ISREG(content->mode) && content->links == 1 && bytes_known(content->bytes) &&
                   text_starts_with(content->bytes.at, start);
    const char *written = is_file ? gitdir_written_path(arena, bytes_of(content->bytes.at + strlen(start),
                                                                        content->bytes.size - strlen(start)))
                                  : "";
    vec_free(&found);
    return written;
}

bool gitdir_head(const struct flags *flags, const struct workspace *workspace,
                 struct git_position *ret_commit)
{
    struct arena *arena = flags->hold->arena;
    const char *main_dir = workspace->git.dirs.count ? workspace->git.dirs.at[0] : "";
    const char *written = read_path(arena, path_join(arena, workspace->path, ".git"), "gitdir: ");
    const char *own = *written ? path_clean(arena, workspace->path, written) : "";
    bool is_linked = path_is_inside(own, main_dir) && gitdir_is_known(flags, own);
    const char *head = is_linked ? path_join(arena, own + strlen(main_dir) + 1, "HEAD") : "HEAD";
    auto_fd int fd = *main_dir ? open_absolute(main_dir, O_RDONLY | O_DIRECTORY) : -1;
    return fd >= 0 && git_head_position(fd, head, ret_commit);
}

/*
 * A worktree that lies where the command cannot write was made by the user if its `.git` leads back: the command could have written
 * the one, and not the other.
 */
bool gitdir_is_sound_link(const struct flags *flags, const char *git_dir, const char *inner)
{
    struct arena *arena = flags->hold->arena;
    if (strcmp(inner, "gitdir") != 0 || strcmp(path_name(path_parent(arena, git_dir)), "worktrees") != 0)
        return false;
    const char *written = read_path(arena, path_join(arena, git_dir, inner), "");
    const char *path = *written ? path_clean(arena, git_dir, written) : "";
    if (!*path || strcmp(path_name(path), ".git") != 0 || strpbrk(path, "\n\r"))
        return false;
    if (gitdir_is_writable(flags, path))
        return true;
    const char *back = read_path(arena, path, "gitdir: ");
    return *back && strcmp(path_clean(arena, path_parent(arena, path), back), git_dir) == 0;
}
