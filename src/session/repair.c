#include "session/upkeep.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "hold/aside.h"
#include "home/home.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"
#include "kernel/process.h"
#include "report/event.h"
#include "session/ask_git.h"
#include "session/bare.h"
#include "session/branch.h"
#include "session/capture.h"
#include "supervise/control.h"
#include "workspace/copy.h"
#include "workspace/transition.h"

/* At the end of a run, git uses the run's own home; a repair gives it an empty one. */
#define GIT_HOME "git-home"

enum { REPAIR_SECONDS = 120 };
static const uint64_t REPAIR_MEMORY = UINT64_C(4) << 30;

/* False if the command ended and only the record could not be written. */
static bool was_killed(const struct session *session)
{
    auto_arena struct arena arena = {0};
    struct glance glance;
    bool has_ended = glance_at(session->folder_fd, &arena, NULL, &glance) && glance.has_ended;
    return !has_ended;
}

static void say(const struct caller *caller, const struct session *session, const char *sentence,
                const char *hint)
{
    auto_arena struct arena arena = {0};
    caller_say(caller,
               arena_printf(&arena, "%s the session %s: %s",
                            was_killed(session) ? "bawn was killed in" : "bawn could not record the end of",
                            session->name, sentence),
               hint);
}

static bool is_lack_of_room(int errnum)
{
    return errnum == ENOSPC || errnum == EDQUOT;
}

static int finish_replacing(const struct caller *caller, const struct loaded *loaded,
                            const struct session *session, struct record *record, struct err *err)
{
    struct replaced replaced = {0};
    struct arena *arena = loaded->policy.arena;
    int result =
        transition_finish(load_store(loaded, arena), session->folder_fd, arena, record, &replaced, err);
    if (result == 0)
        say(caller, session, arena_printf(arena, "its %s is finished now", record_mode_name(record->mode)),
            NULL);
    else if (record->state == STATE_REPLACING && is_lack_of_room(err->errnum))
        err_hint(err, "some files are done and others not: make room on the disk of the workspace");
    vec_free(&replaced.left_alone);
    return result;
}

/* Holds aside frozen files that appeared just before the kill. Files that existed at the start stay. */
static void sweep(struct hold *hold, struct past *past)
{
    struct err err = {0};
    for (size_t i = 0; i < hold->plan->operations.count; i++) {
        const struct operation *operation = &hold->plan->operations.at[i];
        struct file_content now = {.path = operation->path}, before;
        if (operation->kind == OP_FREEZE && past_find(past, hold->arena, &now, &before) == PAST_NOTHING)
            amend_presence(hold->amendments, i, true);
    }
    if (hold_sweep(hold, &err) != 0)
        hold_note(hold, "not-held", "", arena_str(hold->arena, err.message));
}

/* Restores files that were held aside just before the kill and not yet replaced by their old content. */
static void restore_held(struct hold *hold, struct past *past)
{
    auto_vec held_list held = {0};
    aside_find(hold->arena, hold->session->folder_fd, &held);
    for (size_t i = 0; i < held.count; i++) {
        struct file_content now = {.path = held.at[i].path}, before;
        struct stat status;
        struct err err = {0};
        if (lstat(now.path, &status) < 0 && past_find(past, hold->arena, &now, &before) == PAST_SOMETHING &&
            content_restore(&before, &err) < 0)
            hold_note(hold, "not-restored", now.path, arena_str(hold->arena, err.message));
    }
}

static void end_flags(const struct caller *caller, struct flags *flags, const struct record *record)
{
    struct hold *hold = flags->hold;
    hold_reopen(hold);
    sweep(hold, &flags->past);
    restore_held(hold, &flags->past);
    flags_recall(flags, record->began);
    flags_find(flags);
    for (size_t i = 0; i < hold->notices.count; i++)
        caller_say(caller, hold->notices.at[i], NULL);
    flagged_decide(caller, flags, false, false);
}

/*
 * Does the end of the run, but asks no question: new content in flagged places is held aside. Changes that the user
 * has made since count as the run's, and the message says so.
 */
static int finish_running(const struct caller *caller, const struct loaded *loaded, struct session *session,
                          const struct record *record, struct err *err)
{
    struct arena *arena = loaded->policy.arena;
    struct capture *capture = NULL;
    if (capture_take_up(loaded, session, record, &capture, err) < 0)
        return -1;
    struct launch launch = {.home = arena_printf(arena, "%s/" GIT_HOME, session->folder)};
    struct git_asker asker = {.caller = caller, .launch = &launch};
    struct amendments amendments = {0};
    struct hold hold = {.arena = arena, .plan = &loaded->plan, .amendments = &amendments, .session = session};
    struct flags flags = {
        .hold = &hold, .past = capture_past(arena, capture), .versions = {.ask = ask_git, .context = &asker}};
    uint64_t changes = 0;
    mkdirat(session->folder_fd, GIT_HOME, 0700);
    if (record->mode == RECORD_LIVE && was_killed(session))
        end_flags(caller, &flags, record);
    int result = capture_finish(capture, &flags, &changes, err);
    if (result == 0 && changes)
        say(caller, session, "all changes since its start are recorded as its own", NULL);
    flagged_say_sightings(caller, &flags);
    flags_free(&flags);
    vec_free(&hold.notices);
    amendments_free(&amendments);
    struct err ignored;
    if (remove_tree(session->folder_fd, GIT_HOME, &ignored) < 0)
        journal_event(&session->journal, "left", "path", launch.home);
    return result;
}

/* A .bawn that the run created must not be read, nor make the load of the policy fail. */
static void move_policy_aside(struct session *session, const struct record *record)
{
    auto_arena struct arena arena = {0};
    struct err ignored;
    auto_tree struct tree start = {0};
    struct past past = {.workspace = record->workspace, .tree = &start, .store = STORE_NONE};
    struct file_content now = {.path = arena_printf(&arena, "%s/.bawn", record->workspace)}, before;
    bool is_new = tree_load(session->folder_fd, "start", &start, &ignored) == 1 &&
                  past_find(&past, &arena, &now, &before) == PAST_NOTHING;
    if (is_new && aside_move(&arena, session->folder_fd, now.path, &ignored) > 0)
        journal_event(&session->journal, "held", "path", now.path);
}

/* The killed bawn may have been removing the overlay or copy, or have just made it. Its changes are written down. */
static int remove_rest(const struct session *session, struct err *err)
{
    return kept_aside_is_there(session->folder_fd) ? kept_aside_remove(session->folder_fd, NULL, err) : 0;
}

static int repair_record(const struct caller *caller, struct session *session, struct record *record,
                         struct err *err)
{
    auto_loaded struct loaded loaded = {0};
    if (record->mode == RECORD_LIVE && record->state == STATE_RUNNING) {
        if (directories_reopen(record->workspace))
            say(caller, session, "the command had removed your access to the workspace; bawn restored it",
                NULL);
        move_policy_aside(session, record);
    }
    int result =
        load_there(caller, record->workspace, &loaded) == 0
            ? 0
            : err_set(err, "the session %s cannot be repaired until the policy of its workspace %s is valid",
                      session->name, record->workspace);
    if (result == 0 && record->state == STATE_REPLACING)
        result = finish_replacing(caller, &loaded, session, record, err);
    if (result == 0 && record->state == STATE_RUNNING)
        result = finish_running(caller, &loaded, session, record, err);
    if (result == 0)
        result = remove_rest(session, err);
    return result;
}

/* Names the files held aside, because the killed bawn may not have done so. */
static void say_held(const struct caller *caller, const struct session *session)
{
    auto_arena struct arena arena = {0};
    auto_vec held_list held = {0};
    aside_find(&arena, session->folder_fd, &held);
    if (held.count)
        say(caller, session,
            arena_printf(&arena, "%zu file%s set aside", held.count, held.count == 1 ? " is" : "s are"),
            arena_printf(&arena, "`bawn held %s` lists them", session->name));
}

/* Process 1 of the sandbox ends shortly after bawn is killed. */
static void wait_for_sandbox(const struct session *session)
{
    enum { PATIENCE_MILLISECONDS = 3000 };
    auto_arena struct arena arena = {0};
    const char *process = session_began_with(&arena, session->folder_fd, "process");
    uint64_t pid = 0;
    if (process && text_take_number(&process, &pid) && !*process && pid > 0 && pid <= INT_MAX)
        process_await_sandbox((pid_t)pid, PATIENCE_MILLISECONDS);
}

/* The device of the workspace, from the record; 0: not known. */
static uint64_t device_of(const struct session *session)
{
    static const char *const names[] = {"start", "before"};
    uint64_t device = 0;
    for (size_t i = 0; i < array_len(names) && !device; i++) {
        auto_tree struct tree tree = {0};
        struct err ignored;
        if (tree_load(session->folder_fd, names[i], &tree, &ignored) > 0 && tree.entries.count)
            device = tree.entries.at[0].device;
    }
    return device;
}

/* The device of the nearest existing directory above the path. */
static uint64_t device_above(struct arena *arena, const char *path)
{
    struct stat status;
    while (strcmp(path, "/") != 0 && stat(path, &status) < 0)
        path = path_parent(arena, path);
    return stat(path, &status) == 0 ? status.st_dev : 0;
}

enum whereabouts { WORKSPACE_THERE, WORKSPACE_GONE, WORKSPACE_AWAY };

/*
 * Is the workspace still there? If it was removed, there is nothing to repair. If its disk is not mounted, or a
 * review's changes lie elsewhere, the session waits.
 */
static enum whereabouts find_workspace(struct arena *arena, const struct session *session,
                                       const struct record *record)
{
    struct stat status;
    if (lstat(record->workspace, &status) == 0 || (errno != ENOENT && errno != ENOTDIR))
        return WORKSPACE_THERE;
    if (record->mode == RECORD_DISCARD || record_is_over(record))
        return WORKSPACE_GONE;
    uint64_t device = device_of(session);
    return device && device == device_above(arena, record->workspace) ? WORKSPACE_GONE : WORKSPACE_AWAY;
}

/* The state folder, found without a policy: XDG_STATE_HOME, or its default in the home. */
static const char *find_state(const struct caller *caller, struct arena *arena)
{
    const char *state = caller_variable(caller, "XDG_STATE_HOME");
    const char *home = caller_variable(caller, "HOME");
    if (state && *state == '/')
        return state;
    home = home && *home ? home : caller->account_home;
    return home && *home == '/' ? arena_printf(arena, "%s/.local/state", home) : NULL;
}

static int repair_one(void *context, struct session *session, struct err *err)
{
    const struct caller *caller = context;
    auto_arena struct arena arena = {0};
    struct record record;
    if (was_killed(session))
        journal_event(&session->journal, "killed");
    wait_for_sandbox(session);
    control_remove(session->folder_fd);
    /*
     * The modes of frozen files are as before when the workspace is compared with its snapshot, and not
     * before everything inside has ended.
     */
    const char *state = find_state(caller, &arena);
    if (bare_remove(session, err) < 0 || (state && modes_tidy(&arena, state, err) < 0) ||
        home_repair(session, err) < 0)
        return -1;
    int found = record_load(session->folder_fd, &arena, &record, err);
    record.name = session->name;
    if (found > 0 && record.mode == RECORD_BRANCH && state &&
        branch_lead_back(&arena, state, &record, session->folder, err) < 0)
        return -1;
    enum whereabouts where = found > 0 ? find_workspace(&arena, session, &record) : WORKSPACE_GONE;
    int result = found < 0                  ? -1
                 : where == WORKSPACE_THERE ? repair_record(caller, session, &record, err)
                                            : where == WORKSPACE_AWAY;
    if (where == WORKSPACE_AWAY)
        say(caller, session, arena_printf(&arena, "%s does not exist, so the repair waits", record.workspace),
            arena_printf(&arena, "`bawn discard %s` discards the session", session->name));
    if (found >= 0 && where == WORKSPACE_GONE) {
        record_forget(session->folder_fd);
        result = remove_rest(session, err);
    }
    if (found == 0) {
        say(caller, session, "there is no snapshot, so bawn cannot tell what it changed in flagged files",
            "look at those files before you go on");
    }
    if (result == 0)
        say_held(caller, session);
    return result;
}

struct attempt {
    const struct caller *caller;
    const char *state_directory, *name;
};

static int attempt_repair(void *context, struct err *err)
{
    const struct attempt *attempt = context;
    auto_arena struct arena arena = {0};
    int result = session_repair_one(&arena, attempt->state_directory, attempt->name, repair_one,
                                    (void *)attempt->caller, err);
    return result;
}

static const char *path_of_mark(const struct attempt *attempt, struct arena *arena, const char *mark)
{
    return arena_printf(arena, "%s/bawn/sessions/%s/%s", attempt->state_directory, attempt->name, mark);
}

/* Was this said of the session before? If not, it counts as said from now on. */
static bool was_said(const struct attempt *attempt, struct arena *arena, const char *mark)
{
    auto_fd int fd =
        open(path_of_mark(attempt, arena, mark), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    return fd < 0 && errno == EEXIST;
}

/*
 * The topmost directory around the path that has a `.git`, or the path itself: the workspace of a run that
 * begins here lies in it. A repository in the home, or around it, is no workspace.
 */
static const char *topmost_around(const struct caller *caller, struct arena *arena, const char *path)
{
    const char *home = caller_variable(caller, "HOME"), *top = path;
    struct stat status;
    for (size_t size = strlen(path); size; size = path_parent_size(path, size)) {
        const char *directory = arena_copy(arena, path, size);
        bool is_home = home && path_is_beneath(home, directory);
        if (!is_home && lstat(path_join(arena, directory, ".git"), &status) == 0)
            top = directory;
    }
    return top;
}

static bool overlaps(const char *one, const char *other)
{
    return path_is_beneath(one, other) || path_is_beneath(other, one);
}

/* Does the run begin elsewhere than where the session worked? Where that is not known, it does not. */
static bool is_elsewhere(const struct attempt *attempt, struct arena *arena, const struct run_request *run)
{
    struct fsview fs = {.root_fd = attempt->caller->root_fd, .arena = arena};
    auto_fd int fd = open(path_of_mark(attempt, arena, ""), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const char *workspace = fd < 0 ? NULL : session_began_with(arena, fd, "workspace");
    bool is_far =
        workspace && !overlaps(workspace, topmost_around(attempt->caller, arena, attempt->caller->directory));
    for (size_t i = 0; is_far && i < run->rule_count; i++) {
        const struct argument *rule = &run->rules[i];
        const struct fs_place *place = NULL;
        struct err ignored;
        if (rule->verb != VERB_WORKSPACE && rule->verb != VERB_WRITE)
            continue;
        is_far = *rule->text != '~' &&
                 fs_resolve(&fs, path_clean(arena, attempt->caller->directory, rule->text), &place,
                            &ignored) == 0 &&
                 !overlaps(workspace, topmost_around(attempt->caller, arena, place->real));
    }
    if (is_far && !was_said(attempt, arena, RECORD_WAITS))
        caller_say(attempt->caller,
                   arena_printf(arena, "the session %s in %s was killed, and is not yet repaired",
                                attempt->name, workspace),
                   "the next run there repairs it, and so does `bawn sessions`");
    fs_free(&fs);
    return is_far;
}

/*
 * A lack of memory, processes or room says nothing about the session: the next command tries again, and does not report it again unless
 * a person asked for the repair. Any other failure would happen at each command, so the session is set aside.
 */
static void set_aside(const struct attempt *attempt, bool is_asked, struct arena *arena,
                      const struct err *why)
{
    bool can_retry =
        errno_is_of_machine(why->errnum) || why->errnum == EOWNERDEAD || is_lack_of_room(why->errnum);
    if (can_retry && was_said(attempt, arena, RECORD_REPORTED) && !is_asked)
        return;
    if (!can_retry && !session_set_aside(arena, attempt->state_directory, attempt->name))
        return; /* another bawn has reported it */
    caller_say(attempt->caller,
               arena_printf(arena, "the session %s could not be repaired: %s", attempt->name, why->message),
               arena_printf(arena, "%s%s%s", why->hint, *why->hint ? ". Then " : "",
                            can_retry ? "the next bawn command tries again"
                                      : "`bawn sessions --repair` tries again"));
}

/*
 * If a person asked for the repair, it has no time limit. Where a run begins, what was killed elsewhere waits. Returns whether all repairs
 * succeeded.
 */
static bool repair_all(const struct caller *caller, const char *state_directory, bool is_asked,
                       const struct run_request *run)
{
    const struct process_bounds bounds = {.seconds = is_asked ? 0 : REPAIR_SECONDS, .memory = REPAIR_MEMORY};
    auto_arena struct arena arena = {0};
    struct err err = {0};
    auto_vec session_names names = {0};
    bool all_are_repaired = session_list_killed(&arena, state_directory, &names, &err) == 0;
    if (!all_are_repaired)
        caller_say_err(caller, &err);
    for (size_t i = 0; i < names.count; i++) {
        struct attempt attempt = {caller, state_directory, names.at[i]};
        err = (struct err){0};
        if (run && is_elsewhere(&attempt, &arena, run))
            continue;
        if (process_in_bounds(&bounds, attempt_repair, &attempt, &err) >= 0) {
            unlink(path_of_mark(&attempt, &arena, RECORD_REPORTED));
            unlink(path_of_mark(&attempt, &arena, RECORD_WAITS));
            continue;
        }
        set_aside(&attempt, is_asked, &arena, &err);
        all_are_repaired = false;
    }
    return all_are_repaired;
}

static void say_removed(void *context, const char *path)
{
    auto_arena struct arena arena = {0};
    caller_say(context,
               arena_printf(&arena, "removed %s, which an earlier bawn left when it was killed", path), NULL);
}

void repair_killed(const struct caller *caller, const struct run_request *run)
{
    auto_arena struct arena arena = {0};
    struct err err = {0};
    const char *state = find_state(caller, &arena);
    if (state && stubs_tidy(&arena, state, say_removed, (void *)caller, &err) < 0)
        caller_say_err(caller, &err);
    if (state)
        repair_all(caller, state, false, run);
    if (state && modes_tidy(&arena, state, &err) < 0)
        caller_say_err(caller, &err);
}

/*
 * Counts sessions among those that were killed that no mark names: their record says that they run, or a part of their layer
 * is left, and no bawn works on them. Earlier versions of bawn could leave such. Returns how many.
 */
static size_t find_stranded(struct arena *arena, const char *state)
{
    const char *path = arena_printf(arena, "%s/bawn/sessions", state);
    auto_dir DIR *sessions = opendir(path);
    size_t count = 0;
    int trouble = 0;
    for (const struct dirent *entry; sessions && (entry = directories_next(sessions, &trouble));) {
        struct record record;
        struct err ignored;
        auto_fd int fd = open_directory_at(dirfd(sessions), entry->d_name);
        int found = fd < 0 ? -1 : record_load(fd, arena, &record, &ignored);
        bool is_cut_off = found > 0 && (record.state == STATE_RUNNING || record.state == STATE_REPLACING);
        if (found >= 0 && (is_cut_off || kept_aside_is_there(fd)) &&
            !record_is_busy(dirfd(sessions), entry->d_name))
            count += session_mark_killed(arena, state, entry->d_name);
    }
    return count;
}

bool repair_set_aside(const struct caller *caller, size_t *ret_count)
{
    auto_arena struct arena arena = {0};
    const char *state = find_state(caller, &arena);
    *ret_count = state ? session_take_up(&arena, state) + find_stranded(&arena, state) : 0;
    return !*ret_count || repair_all(caller, state, true, NULL);
}
