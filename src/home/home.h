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
#include "plan/amendments.h"
#include "plan/plan.h"
#include "policy/policy.h"

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

/*
 * The git configuration that a sandbox gets as /etc/gitconfig; the repository's and the agent's own settings override it.
 * It keeps git quiet where its control files are frozen. From the user's configuration it takes their name and address, the
 * name of the first branch, and aliases that run no program; nothing else, because it may hold tokens. From the machine's
 * /etc/gitconfig, where a rule shows it, it takes the settings of a list.
 */
const char *git_settings(const struct policy *policy);

/*
 * Copies files of `copy` rules into the private home, if the host's file is new or has changed since the last copy. Nothing
 * is copied back. Changes that the command makes to its copy stay until the host's file changes. Copies without a rule are
 * removed. `state_fd` is a folder outside the home that remembers the copies. Fails if a file could not be copied; the
 * others were.
 */
int home_copy(struct arena *arena, const struct plan *plan, int home_fd, int state_fd, struct err *err)
    must_check;

/*
 * Seeds: directories of the host that the command sees and can write. Writes go to an overlay layer beside the private home:
 * the kernel protects the host's files, no sandbox reaches the layer in another way, and downloads are there for the next
 * run. Gives every seed of the plan its layer, as an amendment. A seed without one shows nothing; if it was asked for, the
 * reason is reported.
 */
int seed_begin(struct arena *arena, const struct plan *plan, struct amendments *amendments,
               const struct session *session, struct home *home, struct err *err) must_check;

/* Removes the layers of a session that had its own. */
int seed_remove(const struct session *session, struct err *err) must_check;
