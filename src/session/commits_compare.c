#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/text.h"
#include "kernel/directories.h"
#include "session/ask_git.h"
#include "session/branch.h"

#define HOME "git-home"

struct place {
    const struct caller *caller;
    const char *work_tree, *session;
    int session_fd;
};

static int ask(const struct place *place, struct arena *arena, const char *const *command,
               struct buf *ret_text)
{
    struct launch launch = {.home = arena_printf(arena, "%s/" HOME, place->session)};
    struct git_asker asker = {.caller = place->caller, .launch = &launch};
    const struct buf nothing = {0};
    struct err ignored;
    if (mkdirat(place->session_fd, HOME, 0700) < 0 && remove_tree(place->session_fd, HOME, &ignored) == 0)
        mkdirat(place->session_fd, HOME, 0700);
    int result = ask_git(&asker, place->work_tree, command, &nothing, ret_text);
    return remove_tree(place->session_fd, HOME, &ignored) < 0 ? -1 : result;
}

int commits_compare(const struct caller *caller, const struct commit_range *range, struct arena *arena,
                    struct buf *ret_text)
{
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
    const struct place place = {caller, range->work_tree, range->session, range->session_fd};
    return ask(&place, arena, command, ret_text);
}

/* --- what is not committed ------------------------------------------------------------------------------------------ */

/* "XY PATH NUL …": what git says of a name is read as far as its form is right. */
static bool read_status(struct bytes text, struct arena *arena, struct uncommitted *found)
{
    while (text.size) {
        auto_buf struct buf line = {0};
        const char *end = memchr(text.at, '\0', text.size);
        size_t size = end ? (size_t)(end - text.at) : 0;
        if (size < 4 || text.at[2] != ' ')
            return false;
        bool is_ignored = text.at[0] == '!';
        const char *kind = text.at[0] == ' ' ? text.at + 1 : text.at;
        text_add_printable(&line, kind, (size_t)(text.at + 2 - kind) - (kind == text.at && kind[1] == ' '));
        buf_add_char(&line, ' ');
        text_add_printable(&line, text.at + 3, size - 3);
        vec_push(&found->files, arena_str(arena, buf_text(&line)));
        found->ignored += is_ignored;
        text = bytes_of(end + 1, text.size - size - 1);
    }
    return true;
}

int branch_uncommitted(const struct caller *caller, const char *work_tree, const char *session,
                       int session_fd, struct arena *arena, struct uncommitted *ret_found)
{
    /* Nothing that the repository configures is run, and nothing hides a file. */
    static const char *const command[] = {"git",
                                          "-c",
                                          "core.fsmonitor=false",
                                          "-c",
                                          "core.untrackedCache=false",
                                          "status",
                                          "--porcelain=v1",
                                          "-z",
                                          "--no-renames",
                                          "--untracked-files=normal",
                                          "--ignored=traditional",
                                          "--ignore-submodules=none",
                                          NULL};
    const struct place place = {caller, work_tree, session, session_fd};
    auto_buf struct buf text = {0};
    *ret_found = (struct uncommitted){0};
    if (ask(&place, arena, command, &text) == 0 &&
        read_status(bytes_of(buf_text(&text), text.size), arena, ret_found))
        return 0;
    uncommitted_free(ret_found);
    return -1;
}

void uncommitted_free(struct uncommitted *found)
{
    vec_free(&found->files);
}

const char *uncommitted_text(struct arena *arena, const struct uncommitted *found)
{
    enum { MOST_NAMED = 3 };
    const char *names = "";
    size_t count = found->files.count - found->ignored;
    for (size_t i = 0; i < count && i < MOST_NAMED; i++) {
        const char *name = strchr(found->files.at[i], ' ') + 1;
        names = arena_printf(arena, "%s%s%s", names, i ? ", " : "", name);
    }
    if (count > MOST_NAMED)
        names = arena_printf(arena, "%s and %zu more", names, count - MOST_NAMED);
    return count ? arena_printf(arena, "%zu file%s there %s not committed: %s", count, count == 1 ? "" : "s",
                                count == 1 ? "is" : "are", names)
                 : NULL;
}
