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

/* --- git settings --- */

/*
 * The git configuration that is made for each sandbox, as the system's own (/etc/gitconfig): whatever the repository or
 * the agent's own ~/.gitconfig says comes later and wins.
 */

/*
 * What keeps git quiet where its control files are frozen, and from the user's configuration who they are, what the first
 * branch is called, and aliases that run no program. Nothing else of it: it may hold tokens. Of the machine's own
 * /etc/gitconfig, where a rule shows it, what a list names.
 */
const char *git_settings(const struct policy *policy);

/* --- copy --- */

/*
 * Copies into the private home what `copy` names, when the host's file is new or has changed since it was copied last.
 * Nothing is ever copied back. What the command changes in its copy stays, until the host's file changes; what no rule
 * copies any more is removed.
 */

/*
 * `state_fd` is a folder outside the home, where it is remembered what was copied. Fails where something could not be
 * copied; the rest was.
 */
int home_copy(struct arena *arena, const struct plan *plan, int home_fd, int state_fd, struct err *err)
    must_check;

/* --- seed --- */

/*
 * Folders of the host's that are seen inside as they are, and can be written there: what is written goes to a layer beside
 * the private home, in its folder of bawn's own. So the kernel keeps the host's files from being changed, no sandbox reaches
 * the layer but through it, and what one run downloaded is there for the next.
 */

/* Gives every seed of the plan its layer, as an amendment. Where there can be none a seed shows nothing, and why is told if it was asked for. */
int seed_begin(struct arena *arena, const struct plan *plan, struct amendments *amendments,
               const struct session *session, struct home *home, struct err *err) must_check;

/* Those of a session that had its own. */
int seed_remove(const struct session *session, struct err *err) must_check;
