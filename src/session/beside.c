/* Other runs that change the same folder at the same time. */
#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "kernel/directories.h"
#include "report/sessions.h"
#include "session/run_parts.h"
#include "workspace/record.h"

/* Does the one lie in the other? */
static bool overlap(const char *one, const char *other)
{
    return path_is_beneath(one, other) || path_is_beneath(other, one);
}

/* Does the session run now, and write to a workspace of this run itself? */
static bool shares_workspace(const struct run *run, struct arena *arena, int sessions_fd, const char *name)
{
    const struct policy *policy = &run->loaded.policy;
    struct record record;
    struct err ignored;
    auto_fd int fd = session_open(sessions_fd, name);
    if (fd < 0 || record_load(fd, arena, &record, &ignored) <= 0 || record.mode != RECORD_LIVE ||
        !record_is_busy(sessions_fd, name))
        return false;
    for (size_t i = 0; i < policy->workspaces.count; i++) {
        if (overlap(policy->workspaces.at[i].path, record.workspace))
            return true;
    }
    return false;
}

void run_name_others(const struct run *run)
{
    enum { MOST_NAMED = 3 };
    const struct run_request *request = &run->request;
    bool is_live = !request->review && !request->discard && !request->nested && !request->branch &&
                   !run->loaded.policy.request.read_only;
    if (!run->caller.speaker->is_read || !is_live || run->session.folder_fd < 0)
        return;
    auto_arena struct arena arena = {0};
    auto_dir DIR *running = directories_list(run->session.running_fd);
    auto_fd int sessions_fd = openat(run->session.folder_fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const char *names = "";
    size_t named = 0;
    for (const struct dirent *entry; running && named < MOST_NAMED && (entry = readdir(running));) {
        const char *name = entry->d_name;
        if (*name == '.' || strcmp(name, run->session.name) == 0 ||
            !shares_workspace(run, &arena, sessions_fd, name))
            continue;
        names = arena_printf(&arena, "%s%s%s", names, named++ ? ", " : "", name);
    }
    if (named)
        caller_note(
            &run->caller,
            arena_printf(&arena, "note: %s %s in this folder, too, and each changes the files of the other",
                         names, named == 1 ? "runs" : "run"),
            "`bawn undo` cannot tell their changes apart; `bawn --branch NAME` gives a run files of its own");
}
