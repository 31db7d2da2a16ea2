#include "session/bare.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "base/timespec.h"
#include "home/files.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"

#define SCRATCH "tmp" /* in the session's folder */

static bool is_link_to(int directory_fd, const char *name, const char *target)
{
    char now[PATH_LONGEST];
    ssize_t size = readlinkat(directory_fd, name, now, sizeof(now) - 1);
    return size >= 0 && (size_t)size == strlen(target) && memcmp(now, target, (size_t)size) == 0;
}

/* A directory with something in it stays: an earlier run, or a copy, has put it there. */
static int make_link(int home_fd, const char *relative, const char *target, struct arena *arena,
                     struct err *err)
{
    const char *slash = strrchr(relative, '/');
    const char *parent = slash ? arena_copy(arena, relative, (size_t)(slash - relative)) : "";
    const char *name = slash ? slash + 1 : relative;
    auto_fd int parent_fd = files_make_directory(home_fd, parent, true, err);
    if (parent_fd < 0)
        return -1;
    struct stat there;
    bool is_there = fstatat(parent_fd, name, &there, AT_SYMLINK_NOFOLLOW) == 0;
    if (is_there && (is_link_to(parent_fd, name, target) ||
                     (S_ISDIR(there.st_mode) && unlinkat(parent_fd, name, AT_REMOVEDIR) < 0)))
        return 0;
    char temporary[TEMPORARY_SIZE];
    auto_fd int file = files_make_temporary(parent_fd, temporary, err);
    if (file < 0)
        return -1;
    if (unlinkat(parent_fd, temporary, 0) < 0 || symlinkat(target, parent_fd, temporary) < 0)
        return err_sys(err, errno, "cannot make a link in the private home");
    return files_place(parent_fd, temporary, name, err);
}

static bool is_shown(const struct operation *operation)
{
    return operation->kind == OP_BIND_READ || operation->kind == OP_BIND_WRITE;
}

static bool lies_in_shown(const struct operations *operations, const char *path)
{
    vec_each (const struct operation, operation, operations) {
        if (is_shown(operation) && path_is_beneath(path, operation->path))
            return true;
    }
    return false;
}

/* What a rule grants of the user's home has the same place in the private one. */
static int make_links(struct run *run, struct err *err)
{
    const struct operations *operations = &run->loaded.plan.operations;
    const char *home = run->loaded.request.home;
    struct arena *arena = run->loaded.policy.arena;
    vec_each (const struct operation, operation, operations) {
        if (!is_shown(operation) || !path_is_beneath(operation->path, home) ||
            strcmp(operation->path, home) == 0 ||
            lies_in_shown(operations, path_parent(arena, operation->path)))
            continue;
        if (make_link(run->home.fd, operation->path + strlen(home) + 1, operation->path, arena, err) < 0)
            return -1;
    }
    return 0;
}

/* The warden fills it (launch/bare_furnish.c), while this process goes on. */
int bare_make_scratch(struct run *run, struct err *err)
{
    if (run->loaded.plan.request.on != ON_LANDLOCK)
        return 0;
    int folder_fd = run->session.folder_fd;
    if (folder_fd < 0)
        return err_set(err, "the session has no folder for temporary files");
    if (mkdirat(folder_fd, SCRATCH, 0700) < 0)
        return err_sys(err, errno, "cannot make a directory for temporary files");
    run->launch.scratch = arena_printf(run->loaded.policy.arena, "%s/" SCRATCH, run->session.folder);
    return 0;
}

/* A value in the user's home is one in the private home, unless a rule grants the path itself, or it is a file of the run's own. */
static const char *map_variable(const struct run *run, const char *variable)
{
    const struct loaded *loaded = &run->loaded;
    const char *value = strchr(variable, '=') + 1, *home = loaded->request.home;
    bool is_in_home = path_is_beneath(value, home) && !path_is_beneath(value, run->launch.scratch) &&
                      !lies_in_shown(&loaded->plan.operations, value);
    if (!is_in_home || text_starts_with(variable, "PATH="))
        return variable;
    return arena_printf(loaded->policy.arena, "%.*s%s%s", (int)(value - variable), variable, run->home.path,
                        value + strlen(home));
}

static void map_environment(struct run *run)
{
    /* Programs that take /tmp whatever TMPDIR says have a variable of their own. */
    static const char *const scratch_variables[] = {"TMPDIR", "TMP", "TEMP", "TMUX_TMPDIR",
                                                    "CLAUDE_CODE_TMPDIR"};
    struct arena *arena = run->loaded.policy.arena;
    size_t count = 0, at = 0;
    while (run->launch.environment[count])
        count++;
    const char **mapped = arena_alloc(arena, (count + array_len(scratch_variables) + 4) * sizeof(*mapped));
    for (size_t i = 0; i < count; i++) {
        if (!text_starts_with(run->launch.environment[i], "BAWN_POLICY="))
            mapped[at++] = map_variable(run, run->launch.environment[i]);
    }
    for (size_t i = 0; i < array_len(scratch_variables); i++)
        mapped[at++] = arena_printf(arena, "%s=%s", scratch_variables[i], run->launch.scratch);
    mapped[at++] = arena_printf(arena, "TMPPREFIX=%s/zsh", run->launch.scratch); /* of here documents */
    mapped[at++] = arena_printf(arena, "GIT_CONFIG_SYSTEM=%s/" SCRATCH_GIT_CONFIG, run->launch.scratch);
    if (run->launch.policy)
        mapped[at++] = arena_printf(arena, "BAWN_POLICY=%s/" SCRATCH_POLICY, run->launch.scratch);
    run->launch.environment = mapped;
}

/* A review shows a copy, which has no place but its own: the command starts there. */
static void map_directory(struct run *run)
{
    const struct operations *planned = &run->loaded.plan.operations;
    for (size_t i = 0; i < planned->count; i++) {
        struct operation operation = amended_operation(planned, &run->amendments, i);
        if (operation.kind == OP_BIND_WRITE && operation.source &&
            path_is_beneath(run->launch.directory, operation.path))
            run->launch.directory = arena_printf(run->loaded.policy.arena, "%s%s", operation.source,
                                                 run->launch.directory + strlen(operation.path));
    }
}

int bare_prepare(struct run *run, struct err *err)
{
    if (run->loaded.plan.request.on != ON_LANDLOCK)
        return 0;
    if (make_links(run, err) < 0)
        return -1;
    if (run->request.branch &&
        branch_lead_aside(&run->branch, run->loaded.policy.arena, run->session.folder, err) < 0)
        return -1;
    map_environment(run);
    map_directory(run);
    return 0;
}

void bare_end_branch(struct run *run)
{
    const struct record record = {.workspace = run->branch.workspace, .of = run->branch.name};
    struct err err = {0};
    if (run->request.branch && run->session.folder &&
        branch_lead_back(run->loaded.policy.arena, run->loaded.request.starts[START_STATE], &record,
                         run->session.folder, &err) < 0)
        caller_say_err(&run->caller, &err);
}

/* The warden has a lock on the directory until everything inside has ended. */
static void wait_for_warden(int folder_fd)
{
    enum { TRIES = 300, PAUSE = 10 * 1000 }; /* microseconds */
    auto_fd int fd = open_directory_at(folder_fd, SCRATCH);
    for (int i = 0; fd >= 0 && i < TRIES && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK; i++)
        pause_microseconds(PAUSE);
}

int bare_remove(const struct session *session, struct err *err)
{
    if (session->folder_fd < 0)
        return 0;
    wait_for_warden(session->folder_fd);
    return remove_tree(session->folder_fd, SCRATCH, err);
}
