#include "supervise/learning.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "kernel/exec_notice.h"
#include "kernel/path_notice.h"
#include "kernel/process.h"

/* --- the path ------------------------------------------------------------------------------------------------------- */

/* Reads a link of the process in /proc; false if it is not an absolute path. */
static bool read_proc_link(pid_t pid, const char *name, char *out, size_t capacity)
{
    char place[64];
    snprintf(place, sizeof(place), "/proc/%d/%s", (int)pid, name);
    ssize_t size = readlink(place, out, capacity - 1);
    out[size > 0 ? size : 0] = '\0';
    return *out == '/';
}

/* Without namespaces: a path in the private home means one of the user's. NULL: it is a temporary file's, or on the way to such places. */
static const char *meant_path(const struct learning *learning, struct arena *arena, const char *path)
{
    const struct learning_places *places = &learning->places;
    if (!learning->is_told)
        return path;
    const char *meant = path_moved(arena, path, places->private_home, places->home);
    if (meant)
        return meant;
    bool is_own = path_is_beneath(path, places->scratch) || path_is_beneath(places->scratch, path) ||
                  path_is_beneath(places->private_home, path);
    return is_own ? NULL : path;
}

/* The absolute path as the process names it, as text; NULL: not known, or of a place that every sandbox has of its own. */
static const char *absolute_path(const struct learning *learning, struct arena *arena,
                                 const struct path_notice *notice)
{
    static const char *const own[] = {
        "/proc", "/sys", "/dev", "/run/bawn", "/etc/gitconfig", "/etc/hosts", "/etc/resolv.conf"};
    char start[PATH_LONGEST], name[32] = "cwd";
    if (!*notice->path)
        return NULL;
    if (notice->start != AT_FDCWD)
        snprintf(name, sizeof(name), "fd/%d", notice->start);
    if (*notice->path != '/' && !read_proc_link(notice->notice.pid, name, start, sizeof(start)))
        return NULL;
    const char *path = path_clean(arena, *notice->path == '/' ? "/" : start, notice->path);
    for (size_t i = 0; i < array_len(own); i++) {
        if (path_is_beneath(path, own[i]))
            return NULL;
    }
    return meant_path(learning, arena, path);
}

/* --- inside and outside ------------------------------------------------------------------------------------------------ */

static int look(int root_fd, const char *path, uint64_t resolve)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = resolve | RESOLVE_NO_MAGICLINKS};
    return (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
}

enum seen { NOT_THERE, IS_THERE, IS_DIRECTORY };

/* The operation that decides about a path: the deepest one. NULL: none. */
static const struct operation *deepest_operation(const struct operations *operations, const char *path)
{
    const struct operation *deepest = NULL;
    vec_each (const struct operation, operation, operations) {
        if (operation->path && !operation->is_pattern && operation->kind != OP_FLAG &&
            path_is_beneath(path, operation->path) &&
            (!deepest || strlen(operation->path) >= strlen(deepest->path)))
            deepest = operation;
    }
    return deepest;
}

static bool is_way_to_shown(const struct operations *operations, const char *path);

/* Without namespaces: can a program read the object, as far as the plan says it? */
static bool can_be_read(const struct learning *learning, int fd)
{
    char real[PATH_LONGEST];
    ssize_t size = fd < 0 ? -1 : readlink(fd_path(fd).text, real, sizeof(real) - 1);
    if (size <= 0)
        return false;
    real[size] = '\0';
    const struct operation *deepest = deepest_operation(learning->operations, real);
    return path_is_beneath(real, learning->places.private_home) ||
           (deepest &&
            (operation_shows(deepest) || deepest->kind == OP_FREEZE || deepest->kind == OP_SOCKET));
}

/*
 * What a program can see without namespaces. A path of the home is the host's if it is shown, and else one of the private home. Whether any other file is there,
 * everybody can ask.
 */
static enum seen look_behind_landlock(const struct learning *learning, enum path_act act, const char *path)
{
    const struct learning_places *places = &learning->places;
    auto_arena struct arena arena = {0};
    auto_fd int host = look(AT_FDCWD, path, 0);
    auto_fd int private = -1;
    bool is_shown = can_be_read(learning, host);
    const char *private_path = path_moved(&arena, path, places->home, places->private_home);
    if (!is_shown && private_path) {
        private = look(AT_FDCWD, private_path, 0);
        if (!can_be_read(learning, private))
            return NOT_THERE;
    } else if (!is_shown && act != PATH_LOOK && !is_way_to_shown(learning->operations, path)) {
        return NOT_THERE;
    }
    struct stat status;
    int fd = private < 0 ? host : private;
    if (fd < 0)
        return NOT_THERE;
    return fstat(fd, &status) == 0 && S_ISDIR(status.st_mode) ? IS_DIRECTORY : IS_THERE;
}

static enum seen look_inside(struct learning *learning, enum path_act act, pid_t pid, const char *path)
{
    if (learning->is_told)
        return look_behind_landlock(learning, act, path);
    if (learning->root_fd < 0) {
        char place[64];
        snprintf(place, sizeof(place), "/proc/%d/root", (int)pid);
        learning->root_fd = open(place, O_PATH | O_DIRECTORY | O_CLOEXEC);
    }
    auto_fd int fd = look(learning->root_fd, path, RESOLVE_IN_ROOT);
    struct stat status;
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? NOT_THERE : IS_THERE;
    return fstat(fd, &status) == 0 && S_ISDIR(status.st_mode) ? IS_DIRECTORY : IS_THERE;
}

/* May this user do so with the file outside? F_OK: does it exist? */
static bool is_outside(const char *path, int mode)
{
    auto_fd int fd = look(AT_FDCWD, path, 0);
    return fd >= 0 &&
           (mode == F_OK || syscall(SYS_faccessat2, fd, "", mode, AT_EMPTY_PATH | AT_EACCESS) == 0);
}

/*
 * A directory that is there only because something of the host's is shown in it: whoever lists it finds that, and not the rest. The home
 * and what is above it are so in every sandbox.
 */
static bool is_way_to_shown(const struct operations *operations, const char *path)
{
    const struct operation *home = operations_find(operations, OP_HOME);
    bool is_way = false;
    if ((home && path_is_beneath(home->path, path)) || operations_show(operations, path))
        return false;
    vec_each (const struct operation, operation, operations)
        is_way |=
            operation_shows(operation) && !operation->is_pattern && path_is_inside(operation->path, path);
    return is_way;
}

/* Does the sandbox let a program write there? The deepest operation decides. */
static bool is_writable(const struct operations *operations, const char *path)
{
    const struct operation *deepest = deepest_operation(operations, path);
    return deepest && deepest->kind != OP_BIND_READ && deepest->kind != OP_HIDE &&
           deepest->kind != OP_FREEZE && deepest->kind != OP_DECOY;
}

/* Would the call fail inside, and not outside? */
static bool is_missed(struct learning *learning, const struct path_notice *notice, const char *path)
{
    auto_arena struct arena arena = {0};
    pid_t pid = notice->notice.pid;
    enum seen seen = look_inside(learning, notice->act, pid, path);
    bool is_there = seen != NOT_THERE;
    switch (notice->act) {
    case PATH_LOOK:
        return !is_there && is_outside(path, F_OK);
    case PATH_READ:
        return (!is_there || (seen == IS_DIRECTORY && is_way_to_shown(learning->operations, path))) &&
               is_outside(path, R_OK);
    case PATH_EXECUTE:
        return !is_there && is_outside(path, X_OK);
    case PATH_CONNECT:
        return !is_there && is_outside(path, W_OK);
    default:
        break;
    }
    if (is_writable(learning->operations, path) &&
        (is_there ||
         (notice->act == PATH_MAKE && look_inside(learning, notice->act, pid, path_parent(&arena, path)))))
        return false;
    return is_outside(path, F_OK) ? is_outside(path, W_OK)
                                  : notice->act == PATH_MAKE && is_outside(path_parent(&arena, path), W_OK);
}

/* --- the process ------------------------------------------------------------------------------------------------------- */

/* A process whose child has failed for want of something fails because of that, and not because of its own wants. */
static void explain_parents(struct learning *learning, size_t index)
{
    for (size_t i = 0; i < LEARNING_WATCHED; i++) {
        for (size_t j = 0; j < LEARNING_PARENTS && learning->watched[i].pid_fd > 0; j++)
            learning->watched[i].is_explained |=
                i != index && learning->watched[index].parents[j] == learning->watched[i].pid;
    }
}

/* A program that bawn ended with the run tells nothing. */
static void read_end(struct learning *learning, size_t index)
{
    int status;
    if (!exec_read_end(learning->watched[index].pid_fd, &status) ||
        (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL))
        return;
    bool has_failed = status != 0 && !learning->watched[index].is_explained;
    for (size_t i = 0; i < learning->watched[index].wants.count; i++)
        want_note_ending(learning->watched[index].wants.at[i], has_failed ? WANT_FAILED : WANT_WENT_ON);
    if (status != 0)
        explain_parents(learning, index);
}

static void forget(struct learning *learning, size_t index)
{
    loop_remove(learning->loop, learning->watched[index].pid_fd);
    close(learning->watched[index].pid_fd);
    learning->watched[index].pid_fd = 0;
    vec_free(&learning->watched[index].wants);
}

static int has_ended(void *self, short events not_used, struct err *err not_used)
{
    struct learning *learning = self;
    for (size_t i = 0; i < LEARNING_WATCHED; i++) {
        struct pollfd ready = {.fd = learning->watched[i].pid_fd};
        if (ready.fd <= 0 || poll(&ready, 1, 0) <= 0)
            continue;
        read_end(learning, i);
        forget(learning, i);
    }
    return 0;
}

/* Waits for the end of the process, to know whether it went on without what it wanted. */
static void watch_end(struct learning *learning, pid_t thread, struct want *want)
{
    pid_t pid = process_of_thread(thread);
    size_t place = LEARNING_WATCHED;
    for (size_t i = 0; i < LEARNING_WATCHED; i++) {
        bool is_free = learning->watched[i].pid_fd <= 0;
        if (!is_free && learning->watched[i].pid == pid) {
            vec_push(&learning->watched[i].wants, want);
            return;
        }
        if (is_free && place == LEARNING_WATCHED)
            place = i;
    }
    int fd = pid > 0 && place < LEARNING_WATCHED ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
    if (fd < 0)
        return;
    learning->watched[place].pid_fd = fd;
    learning->watched[place].pid = pid;
    learning->watched[place].is_explained = false;
    for (size_t i = 0; i < LEARNING_PARENTS; i++)
        pid = learning->watched[place].parents[i] = pid > 1 ? process_parent(pid) : 0;
    vec_push(&learning->watched[place].wants, want);
    loop_add(learning->loop, fd, 0, has_ended, learning); /* POLLHUP comes unasked */
}

/* --- notices -------------------------------------------------------------------------------------------------------------- */

static enum want_kind kind_of(enum path_act act)
{
    static const enum want_kind kinds[] = {
        [PATH_LOOK] = WANT_LOOK,   [PATH_READ] = WANT_READ, [PATH_EXECUTE] = WANT_EXECUTE,
        [PATH_WRITE] = WANT_WRITE, [PATH_MAKE] = WANT_MAKE, [PATH_CONNECT] = WANT_SOCKET,
    };
    return kinds[act];
}

/*
 * The directory of one program's cache that a path lies in: "~/.cache/go-build" for all beneath it. NULL: it lies in none. A program that has
 * such a directory inside fills it itself: what it does not find there is no want.
 */
static const char *cache_of(const struct learning *learning, struct arena *arena, const char *path)
{
    if (!learning->cache || !path_is_inside(path, learning->cache))
        return NULL;
    const char *name = path + strlen(learning->cache) + 1;
    return arena_copy(arena, path, strlen(learning->cache) + 1 + strcspn(name, "/"));
}

static bool has_own_cache(struct learning *learning, const struct path_notice *notice, const char *path)
{
    auto_arena struct arena arena = {0};
    const char *cache = notice->act <= PATH_EXECUTE ? cache_of(learning, &arena, path) : NULL;
    return cache && look_inside(learning, notice->act, notice->notice.pid, cache) == IS_DIRECTORY &&
           !is_way_to_shown(learning->operations, cache) && !operations_show(learning->operations, cache);
}

/* What a file of the workspace names is read at the end of the run. */
static void note_opened(struct learning *learning, const struct path_notice *notice, const char *path)
{
    bool is_in_workspace = false;
    if ((notice->act != PATH_READ && notice->act != PATH_EXECUTE) ||
        learning->opened.count == LEARNING_OPENED || map_get(&learning->opened_known, path, strlen(path)))
        return;
    vec_each (const struct operation, operation, learning->operations)
        is_in_workspace |=
            operation->is_workspace && operation->path && path_is_inside(path, operation->path);
    if (!is_in_workspace)
        return;
    const char *kept = arena_str(&learning->wants.arena, path);
    *map_at(&learning->opened_known, kept, strlen(kept)) = (void *)learning;
    vec_push(&learning->opened, kept);
}

/* A program that makes a directory and tries again has what it wanted; one that makes its cache has all of that. */
static void note_success(struct learning *learning, const struct path_notice *notice, const char *path)
{
    auto_arena struct arena arena = {0};
    const char *cache = notice->act == PATH_MAKE ? cache_of(learning, &arena, path) : NULL;
    for (size_t i = 0; i < learning->wants.all.count; i++) {
        struct want *want = learning->wants.all.at[i];
        want->is_recovered |= (want->kind == kind_of(notice->act) && strcmp(want->object, path) == 0) ||
                              (cache && want->kind <= WANT_EXECUTE && path_is_beneath(want->object, cache));
    }
}

static void note(struct learning *learning, const struct path_notice *notice)
{
    auto_arena struct arena arena = {0};
    char program[PATH_LONGEST];
    const char *path = absolute_path(learning, &arena, notice);
    if (!path)
        return;
    if (!is_missed(learning, notice, path)) {
        note_success(learning, notice, path);
        note_opened(learning, notice, path);
        return;
    }
    if (has_own_cache(learning, notice, path))
        return;
    read_proc_link(notice->notice.pid, "exe", program, sizeof(program));
    struct want *want = wants_note(&learning->wants, kind_of(notice->act), path, 0, path_name(program));
    if (want)
        watch_end(learning, notice->notice.pid, want);
}

/* The judge takes the call again: some are for it to carry out. It never waits for this process, so it makes room. */
static int hand_back(const struct learning *learning, const struct notice *notice)
{
    struct pollfd room = {.fd = learning->listener_fd, .events = POLLOUT};
    int errnum;
    while ((errnum = notice_tell(learning->listener_fd, notice)) == EAGAIN) {
        if (poll(&room, 1, -1) < 0 && errno != EINTR)
            return -1;
    }
    return errnum == EPIPE || errnum == ECONNRESET ? 0 : errnum ? -1 : 1;
}

static int somebody_names_a_path(void *self, short events, struct err *err)
{
    struct learning *learning = self;
    struct path_notice notice;
    bool is_told = learning->is_told;
    if (!(events & POLLIN) || (is_told && events & POLLHUP))
        loop_remove(learning->loop, learning->listener_fd); /* nothing is left that could ask */
    int taken = (events & POLLIN) ? path_notice_take(learning->listener_fd, is_told, &notice) : 0;
    if (taken > 0) {
        note(learning, &notice);
        taken = is_told ? hand_back(learning, &notice.notice)
                        : notice_continue(learning->listener_fd, &notice.notice);
    }
    /* The process that asked would wait for ever. */
    return taken < 0 ? err_sys(err, errno, "the paths that the command names are no longer recorded") : 0;
}

void learning_begin(struct learning *learning, int listener_fd, bool is_told,
                    const struct operations *operations, const char *cache, struct loop *loop)
{
    *learning = (struct learning){.operations = operations,
                                  .cache = cache,
                                  .loop = loop,
                                  .listener_fd = listener_fd,
                                  .is_told = is_told,
                                  .root_fd = -1};
    learning->watched = must_realloc(NULL, LEARNING_WATCHED, sizeof(*learning->watched));
    memset(learning->watched, 0, LEARNING_WATCHED * sizeof(*learning->watched));
    loop_add(loop, listener_fd, POLLIN, somebody_names_a_path, learning);
}

void learning_end(struct learning *learning, struct journal *journal)
{
    if (learning->listener_fd < 0)
        return;
    for (size_t i = 0; i < LEARNING_WATCHED; i++) {
        if (learning->watched[i].pid_fd <= 0)
            continue;
        read_end(learning, i);
        forget(learning, i);
    }
    fd_close(learning->listener_fd);
    fd_close(learning->root_fd);
    learning->listener_fd = -1;
    wants_record(&learning->wants, journal);
    wants_free(&learning->wants);
    vec_free(&learning->opened);
    map_free(&learning->opened_known);
    free(learning->watched);
    learning->watched = NULL;
}
