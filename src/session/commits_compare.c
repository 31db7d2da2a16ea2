#include <sys/stat.h>

#include "kernel/directories.h"
#include "session/ask_git.h"
#include "session/branch.h"

#define HOME "git-home"

int commits_compare(const struct caller *caller, const struct commit_range *range, struct arena *arena,
                    struct buf *ret_text)
{
    struct launch launch = {.home = arena_printf(arena, "%s/" HOME, range->session)};
    struct git_asker asker = {.caller = caller, .launch = &launch};
    const char *const command[] = {"git",
                                   "diff",
                                   "--no-color",
                                   "--no-ext-diff",
                                   "--no-textconv",
                                   "--no-renames",
                                   "--src-prefix=a/",
                                   "--dst-prefix=b/",
                                   range->form,
                                   range->from,
                                   range->to,
                                   "--",
                                   NULL};
    const struct buf nothing = {0};
    struct err ignored;
    if (mkdirat(range->session_fd, HOME, 0700) < 0 && remove_tree(range->session_fd, HOME, &ignored) == 0)
        mkdirat(range->session_fd, HOME, 0700);
    int result = ask_git(&asker, range->work_tree, command, &nothing, ret_text);
    return remove_tree(range->session_fd, HOME, &ignored) < 0 ? -1 : result;
}
