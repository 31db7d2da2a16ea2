/*
 * The results of an attempt. Texts of the patch and the journal come from inside the sandbox: they are copied and never
 * interpreted.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "fleet/work.h"
#include "journal/session.h"
#include "kernel/beneath.h"
#include "kernel/process.h"
#include "report/patch.h"
#include "session/branch.h"
#include "session/run.h"
#include "workspace/copy.h"
#include "workspace/undo_git.h"

enum { PATCH_STEP = 65536 };

/* A file that gets its name when it is whole. */
struct growing {
    int folder_fd, fd;
    const char *name, *task;
};

#define GROWING_NAME ".growing"

/* Returns its descriptor, which the caller closes. */
static int growing_begin(struct growing *file, struct err *err)
{
    unlinkat(file->folder_fd, GROWING_NAME, 0);
    file->fd =
        openat(file->folder_fd, GROWING_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    return file->fd < 0 ? err_sys(err, errno, "cannot write %s of task %s", file->name, file->task)
                        : file->fd;
}

static int growing_add(const struct growing *file, struct buf *bytes, struct err *err)
{
    if (bytes->size && write_whole(file->fd, bytes->bytes, bytes->size) < 0)
        return err_sys(err, errno, "cannot write %s of task %s", file->name, file->task);
    bytes->size = 0;
    return 0;
}

/* On the disk before the result is: after a power cut, a task that is done has its patch. */
static int growing_end(const struct growing *file, struct err *err)
{
    return fdatasync(file->fd) < 0 || renameat(file->folder_fd, GROWING_NAME, file->folder_fd, file->name) < 0
               ? err_sys(err, errno, "cannot write %s of task %s", file->name, file->task)
               : 0;
}

/* Git's answer is limited in size and time, and a task must not be without a result because it committed much: then the patch says so. */
static int compare(const struct run *run, struct commit_range *range, struct arena *arena, struct buf *text,
                   uint64_t *ret_changes)
{
    struct bytes line;
    bool is_whole = commits_compare(&run->caller, range, arena, text) == 0;
    if (!is_whole) {
        text->size = 0;
        range->form = "--name-only";
        if (commits_compare(&run->caller, range, arena, text) < 0)
            return -1;
    }
    struct bytes rest = bytes_of(buf_text(text), text->size);
    while (bytes_take_line(&rest, &line))
        *ret_changes += !is_whole || bytes_start_with(line, "diff --git ");
    if (is_whole)
        return 0;
    text->size = 0;
    buf_printf(text, "# The patch is too large to be kept here. `git diff %s %s` shows it.\n", range->from,
               range->to);
    return 0;
}

/* What came of the commits of a task with a ref. */
struct commits {
    uint64_t changes;
    bool wait; /* they are not on the branch: the session has them, for the user to decide */
};

/* Somebody moved the branch meanwhile, or git could not check the commits. */
static bool commits_wait(int session_fd, struct arena *arena)
{
    struct record record = {0};
    struct err ignored; /* `bawn sessions` says it */
    return record_load(session_fd, arena, &record, &ignored) > 0 && record.mode == RECORD_REVIEW &&
           record.state == STATE_WAITING;
}

/* Git compares the commits of a branch, in a sandbox. What is not committed stays in the worktree. */
static int write_commits(const struct attempt *attempt, const struct run *run, int session_fd,
                         struct arena *arena, struct commits *ret_commits, struct err *err)
{
    const struct branch *branch = &run->branch;
    struct growing file = {attempt->folder_fd, -1, FLEET_PATCH, attempt->id};
    struct git_position now;
    auto_buf struct buf text = {0};
    auto_fd int git_fd = open_directory_at(AT_FDCWD, arena_printf(arena, "%s/.git", branch->workspace));
    ret_commits->wait = commits_wait(session_fd, arena);
    if (ret_commits->wait)
        return 0;
    if (git_fd < 0 || !git_branch_position(git_fd, branch->name, &now))
        return err_set(err, "cannot find the branch %s", branch->name);
    if (strcmp(now.digits, branch->at.digits) == 0)
        return 0;
    struct commit_range range = {.work_tree = branch->workspace,
                                 .from = branch->at.digits,
                                 .to = now.digits,
                                 .form = "--binary",
                                 .session = run->session.folder,
                                 .session_fd = session_fd};
    if (compare(run, &range, arena, &text, &ret_commits->changes) < 0)
        return err_set(err, "git cannot compare the commits of the branch %s", branch->name);
    auto_fd int fd = growing_begin(&file, err);
    return fd < 0 || growing_add(&file, &text, err) < 0 ? -1 : growing_end(&file, err);
}

/* Writes the changes as `git apply` takes them. Files of the repository's own are not part of a patch. */
static int write_changes(const struct patch *patch, const change_list *changes, const struct growing *file,
                         struct err *err)
{
    auto_buf struct buf out = {0};
    vec_each (const struct change, change, changes) {
        if (!change_is_shown(change) || text_starts_with(change->path, ".git/") ||
            objects_has_path(change->path))
            continue;
        patch_add_diff(patch, change, &out);
        if (out.size > PATCH_STEP && growing_add(file, &out, err) < 0)
            return -1;
    }
    return growing_add(file, &out, err);
}

static int write_patch(const struct attempt *attempt, const struct run *run, int session_fd,
                       struct arena *arena, struct err *err)
{
    auto_tree struct tree before = {0}, after = {0};
    auto_store struct store store = STORE_NONE;
    auto_vec change_list changes = {0};
    struct growing file = {attempt->folder_fd, -1, FLEET_PATCH, attempt->id};
    if (!run->result.changed.count)
        return 0;
    if (tree_load(session_fd, "before", &before, err) < 0 ||
        tree_load(session_fd, "after", &after, err) < 0 ||
        store_open(load_store(&run->loaded, arena), &store, err) < 0)
        return -1;
    auto_fd int fd = growing_begin(&file, err);
    if (fd < 0)
        return -1;
    struct patch patch = {.policy = &run->loaded.policy, .store = &store, .arena = arena, .is_raw = true};
    compare_trees(&before, &after, &changes);
    compare_find_renames(&changes);
    return write_changes(&patch, &changes, &file, err) < 0 ? -1 : growing_end(&file, err);
}

/* Copies a file of bawn's own to the results. */
static int copy_out(const struct attempt *attempt, int from_fd, const char *from_name, const char *name,
                    struct err *err)
{
    struct growing file = {attempt->output_fd, -1, name, attempt->id};
    auto_fd int from = open_beneath(from_fd, from_name, O_RDONLY, 0);
    if (from < 0)
        return err_sys(err, errno, "cannot read %s of task %s", name, attempt->id);
    auto_fd int to = growing_begin(&file, err);
    if (to < 0)
        return -1;
    char bytes[65536];
    for (ssize_t size; (size = read(from, bytes, sizeof(bytes))) != 0;) {
        if (size < 0 || write_whole(to, bytes, (size_t)size) < 0)
            return err_sys(err, errno, "cannot copy %s of task %s", name, attempt->id);
    }
    return growing_end(&file, err);
}

static const char *moment_text(struct arena *arena, struct timespec moment)
{
    char text[MOMENT_SIZE];
    text_of_moment(&moment, text);
    return arena_str(arena, text);
}

static void add_hosts(const struct run_summary *summary, struct arena *arena, struct result *result)
{
    vec_each (const struct used_host, used, summary->used) {
        if (result->hosts.count < MOST_HOSTS)
            vec_push(&result->hosts, arena_printf(arena, "%s:%u", used->host, used->port));
    }
    vec_each (const struct refused_host, refused, summary->refused) {
        if (result->refused.count < MOST_HOSTS)
            vec_push(&result->refused, refused->port
                                           ? arena_printf(arena, "%s:%u", refused->host, refused->port)
                                           : refused->host);
    }
    result->hosts_refused = summary->refused_in_all;
    vec_each (const struct fired, fired, summary->fired)
        result->tripwires += fired->times;
}

static uint64_t milliseconds_of(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_usec / 1000;
}

/* Everything below this process, once all of it is gone: nothing of the sandbox outlives its task. */
static void add_usage(struct result *result)
{
    struct rusage usage;
    while (waitpid(-1, NULL, 0) > 0)
        ;
    if (getrusage(RUSAGE_CHILDREN, &usage) < 0)
        return;
    result->cpu_milliseconds = milliseconds_of(usage.ru_utime) + milliseconds_of(usage.ru_stime);
    result->peak_memory = (uint64_t)usage.ru_maxrss * 1024;
}

static int write_result(const struct attempt *attempt, const struct run *run, const struct commits *commits,
                        struct arena *arena, struct err *err)
{
    const struct run_summary *summary = &run->result.summary;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    struct result result = {.id = attempt->id,
                            /* A mistake in a policy must not look like the command's own status. */
                            .status = run->result.loaded ? summary->status : EXIT_REFUSED,
                            .attempts = attempt->number,
                            .output_dropped = attempt->output_dropped,
                            .began = moment_text(arena, attempt->began),
                            .ended = moment_text(arena, now)};
    add_usage(&result);
    if (run->result.loaded) {
        result.session = summary->session;
        result.workspace =
            run->loaded.policy.workspaces.count ? run->loaded.policy.workspaces.at[0].path : NULL;
        result.milliseconds = summary->milliseconds;
        result.ended_by = run->ended_by;
        bool has_branch = run->branch.name && !commits->wait;
        result.changes = has_branch ? commits->changes : summary->changed->count;
        result.changes += commits->wait && !result.changes;
        result.branch = has_branch ? run->branch.name : NULL;
        result.risky = summary->changed->risky;
        result.held = summary->held;
        add_hosts(summary, arena, &result);
    }
    auto_buf struct buf out = {0};
    result_add_json(&result, &out);
    result_free(&result);
    const struct new_file file = {
        .temporary = ".new", .bytes = out.bytes, .size = out.size, .mode = 0600, .waits_for_disk = true};
    return (attempt->is_apart && replace_file(attempt->output_fd, FLEET_RESULT, &file) < 0) ||
                   replace_file(attempt->folder_fd, FLEET_RESULT, &file) < 0
               ? err_sys(err, errno, "cannot write the result of task %s", attempt->id)
               : 0;
}

/*
 * Slurm sends a signal to each process of a job, to the command as likely before this process as after it. The command may have ended by
 * it before the supervisor heard of it. Since then the signal waits, because the run blocks it; where the command ended by such a signal,
 * it gets time to come.
 */
static bool was_asked_to_end(const struct run *run)
{
    enum { SIGNALLED = 128, PATIENCE = 2 };
    sigset_t ending = process_ending_signals();
    int number = run->result.summary.status - SIGNALLED;
    bool is_by_signal = number > 0 && number < NSIG && sigismember(&ending, number) == 1;
    const struct timespec time = {.tv_sec = is_by_signal ? PATIENCE : 0};
    return run->passed_on || sigtimedwait(&ending, NULL, &time) > 0;
}

int attempt_collect(const struct attempt *attempt, const struct run *run, struct arena *arena,
                    struct err *err)
{
    struct commits commits = {0};
    if (run->result.loaded && run->session.folder) {
        auto_fd int session_fd = open_directory_at(AT_FDCWD, run->session.folder);
        if (session_fd < 0)
            return err_sys(err, errno, "cannot open the session of task %s", attempt->id);
        int written = run->branch.name ? write_commits(attempt, run, session_fd, arena, &commits, err)
                                       : write_patch(attempt, run, session_fd, arena, err);
        if (written < 0 || copy_out(attempt, session_fd, SESSION_JOURNAL, FLEET_JOURNAL, err) < 0)
            return -1;
        if (attempt->is_apart && fleet_has(attempt->folder_fd, FLEET_PATCH) &&
            copy_out(attempt, attempt->folder_fd, FLEET_PATCH, FLEET_PATCH, err) < 0)
            return -1;
    }
    return was_asked_to_end(run) ? 1 : write_result(attempt, run, &commits, arena, err);
}

/* No other process decides about the session meanwhile. */
static void discard_alone(const char *state, struct arena *arena, int fd)
{
    struct record record = {0};
    struct err ignored; /* the changes then wait, and `bawn sessions` shows them */
    if (record_load(fd, arena, &record, &ignored) <= 0)
        return;
    if (record.mode == RECORD_BRANCH && branch_remove(arena, state, &record, &ignored) < 0)
        return;
    if (record.mode != RECORD_BRANCH && (record.mode != RECORD_REVIEW || record.state != STATE_WAITING))
        return;
    record.state = STATE_DISCARDED;
    if (record_save(fd, &record, &ignored) < 0 || !kept_aside_is_there(fd))
        return;
    if (kept_aside_remove(fd, NULL, &ignored) < 0)
        return; /* the next repair removes it */
}

void attempt_discard(const char *state, struct arena *arena, const char *session)
{
    bool is_name = *session && *session != '.' && !strchr(session, '/');
    const char *folder = arena_printf(arena, "%s/bawn/sessions/%s", state, session);
    auto_fd int fd = is_name ? open_directory_at(AT_FDCWD, folder) : -1;
    struct decider other;
    struct err ignored;
    int deciding_fd = fd < 0 ? -1 : deciding_begin(fd, "fleet", &other, &ignored);
    if (deciding_fd >= 0) /* else a person is asked about it at this moment, and it waits */
        discard_alone(state, arena, fd);
    deciding_end(deciding_fd);
}
