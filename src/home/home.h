/*
 * The private home of a run: a directory on the host that appears inside as the user's home. It is kept between runs,
 * one an agent and workspace, and whatever lies in it was written by a sandbox: it is hostile.
 *
 *   files.c    changes in it that no planted link leads astray
 *   copy.c     what `copy` puts in; memory.c remembers what that was
 *   seed.c     where goes what is written to a folder of the host's that is only to read
 *   sync.c     what `sync` keeps the same on both sides; version.c reads and replaces one content of a file
 *   left.c     looks at what runs have left in it, and fetches a file
 *
 * Beside the home lies a folder of bawn's own, NAME.state, which no sandbox sees.
 */
#pragma once

#include "home/sync.h"
#include "journal/session.h"
#include "plan/plan.h"

struct home {
    const char *path; /* on the host */
    int fd;           /* locked (shared) as long as the run lasts; -1: not begun */
    int state_fd;
    int seeds_fd; /* what takes what is written to seeds, locked; -1: there are none */
    bool
        has_own_seeds; /* another run has those of this home: this one's lie in the session's folder, and go with it */
    bool is_fresh; /* it goes when the run ends */
    struct timespec began;
    struct sync sync;
};

#define HOME_NONE                                                                                            \
    ((struct home){                                                                                          \
        .fd = -1, .state_fd = -1, .seeds_fd = -1, .sync = {.fd = -1, .timer_fd = -1, .root_fd = -1}})

/* Does the home of this plan need a session before it can be opened and filled? Most do not. */
bool home_needs_session(const struct plan *plan);

/* Opens the home, made if it is missing. A fresh one lies in the session's folder. */
int home_open(struct arena *arena, const struct plan *plan, const struct session *session,
              struct home *ret_home, struct err *err) must_check;

/* Copies and synchronizes. Where that fails the home can still be used: what went wrong is to be told. */
int home_fill(struct arena *arena, const struct plan *plan, struct session *session, struct home *home,
              struct err *err) must_check;

/* The command has ended. A fresh home is removed. */
int home_close(struct home *home, const struct session *session, struct err *err) must_check;

/* A session was killed: its fresh home, if it had one, is removed. */
int home_repair(const struct session *session, struct err *err) must_check;

/* Removes a home that no run uses, with what is remembered of it. Returns 1 when it is gone, 0 while a run uses it. */
int home_remove(int homes_fd, const char *name, struct err *err) must_check;
