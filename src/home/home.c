#include "home/home.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"

/* The name of a fresh home in the session's folder. */
#define FRESH_NAME "home"

static bool is_filled(const struct plan *plan)
{
    const struct operations *planned = &plan->operations;
    return operations_find(planned, OP_COPY) || operations_find(planned, OP_SEED) ||
           operations_find(planned, OP_SIFT) || operations_find(planned, OP_SYNC);
}

bool home_needs_session(const struct plan *plan)
{
    const struct operation *home = operations_find(&plan->operations, OP_HOME); /* NULL: full access */
    return home && (!home->source || is_filled(plan));
}

/* A command may have closed its home: it opens again for the next one. */
static int open_made(const char *path, struct err *err)
{
    auto_fd int there_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (there_fd < 0 && errno == ENOENT && directories_make(path, err) < 0)
        return -1;
    int fd = there_fd >= 0 && directories_allow_owner(there_fd, S_IRWXU) < 0
                 ? -1
                 : open_directory_at(AT_FDCWD, path);
    return fd < 0 ? err_sys(err, errno, "cannot open the private home %s", path) : fd;
}

int home_open(struct arena *arena, const struct plan *plan, const struct session *session,
              struct home *ret_home, struct err *err)
{
    struct home home = HOME_NONE;
    const struct operation *operation = operations_find(&plan->operations, OP_HOME);
    *ret_home = home;
    if (!operation)
        return 0;
    home.path = operation->source;
    home.is_fresh = !home.path;
    if (home.is_fresh && session->folder_fd < 0) {
        err_set(err, "cannot make a fresh home");
        return err_hint(err, "the session's directory could not be made");
    }
    if (home.is_fresh)
        home.path = arena_printf(arena, "%s/" FRESH_NAME, session->folder);
    home.fd = open_made(home.path, err);
    if (home.fd < 0)
        return -1;
    /* `bawn home reset` sees by this lock that the home is in use. A lock that a program inside takes does not matter. */
    flock(home.fd, LOCK_SH | LOCK_NB);
    clock_gettime(CLOCK_REALTIME_COARSE, &home.began);
    *ret_home = home;
    return 0;
}

const char *home_state_path(struct arena *arena, const struct plan *plan, const struct session *session)
{
    const struct operation *operation = operations_find(&plan->operations, OP_HOME);
    if (!operation || (!operation->source && session->folder_fd < 0))
        return NULL;
    return operation->source ? arena_printf(arena, "%s.state", operation->source)
                             : arena_printf(arena, "%s/" FRESH_NAME ".state", session->folder);
}

int home_fill(struct arena *arena, const struct plan *plan, struct session *session, struct home *home,
              struct err *err)
{
    if (home->fd < 0)
        return 0;
    const char *state = home_state_path(arena, plan, session);
    home->state_fd = open_directory_at(AT_FDCWD, state);
    if (home->state_fd < 0 && !is_filled(plan))
        return 0;
    if (home->state_fd < 0 && (home->state_fd = open_made(state, err)) < 0)
        return -1;
    struct err second;
    int copied = home_copy(arena, plan, home->fd, home->state_fd, err);
    int synced = sync_begin(arena, plan, home->fd, home->state_fd, &session->journal, &home->sync, &second);
    if (copied == 0 && synced < 0)
        *err = second;
    clock_gettime(CLOCK_REALTIME_COARSE, &home->began);
    return copied < 0 || synced < 0 ? -1 : 0;
}

/* Removes DIRECTORY/NAME and DIRECTORY/NAME.state. */
static int remove_both(int directory_fd, const char *name, struct err *err)
{
    char state[256];
    if ((size_t)snprintf(state, sizeof(state), "%s.state", name) >= sizeof(state))
        return err_sys(err, ENAMETOOLONG, "cannot remove %.60s", name);
    return remove_tree(directory_fd, name, err) < 0 ? -1 : remove_tree(directory_fd, state, err);
}

int home_close(struct home *home, const struct session *session, struct err *err)
{
    int result = sync_end(&home->sync, err);
    struct err further = {0};
    if (home->fd >= 0 && home->is_fresh && remove_both(session->folder_fd, FRESH_NAME, &further) < 0) {
        *err = further;
        result = -1;
    }
    if (home->has_own_seeds && seed_remove(session, &further) < 0) {
        if (result == 0)
            *err = further;
        result = -1;
    }
    const int fds[] = {home->seeds_fd, home->state_fd, home->fd};
    for (size_t i = 0; i < array_len(fds); i++) {
        flock(fds[i], LOCK_UN); /* a process 1 that is about to end has a copy, if root started it */
        fd_close(fds[i]);
    }
    home->fd = home->state_fd = home->seeds_fd = -1;
    return result;
}

int home_repair(const struct session *session, struct err *err)
{
    return remove_both(session->folder_fd, FRESH_NAME, err) < 0 ? -1 : seed_remove(session, err);
}

int home_remove(int homes_fd, const char *name, struct err *err)
{
    auto_fd int fd = open_directory_at(homes_fd, name);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0)
        return 0;
    return remove_both(homes_fd, name, err) < 0 ? -1 : 1;
}
