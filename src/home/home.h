/*
 * The private home of a run: a directory on the host that appears inside as the user's home. Each agent and workspace has one,
 * kept between runs. A sandbox wrote its content, so the content is hostile.
 *
 *   files.c         changes files in it through no planted symlink
 *   copy.c          carries out `copy`; memory.c remembers the copies
 *   seed.c          prepares the upper layers of seeds
 *   sync.c          carries out `sync`; version.c reads and replaces one content of a file
 *   home_files.c    finds what runs have left in it, and fetches a file
 *
 * Beside the home is bawn's own folder NAME.state, which no sandbox sees.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/vec.h"
#include "home/login.h"
#include "journal/journal.h"
#include "journal/session.h"
#include "plan/amendments.h"
#include "plan/plan.h"
#include "policy/policy.h"

/* --- sync.c --- */

/*
 * Keeps the files that `sync` names the same inside and outside while a command runs: logins, whose tokens are refreshed on
 * either side. Costs one descriptor.
 *
 * The side that changed since both were the same wins. If both changed, the newer one wins, and the journal records it. A file
 * removed outside (a logout) is removed inside. A file removed inside comes back at the next change or start, because no run
 * removes a file of the host. A change beats a removal.
 *
 * Several sessions may share the host's file. Each looks at it under a lock, and sees the changes of the others like those of
 * the host.
 *
 * A login whose tokens stay outside (login.h) has stand-ins for them inside. The host's file goes inside in that form. What the command
 * writes stays inside, unless it is a login without any stand-in: one that the command has made itself. That one goes to the host, and comes
 * back with stand-ins. A file with stand-ins never goes to the host, whatever the run's rules are.
 */

struct synced;

struct sync {
    int fd;       /* readable when a file changed; -1: nothing is watched */
    int timer_fd; /* readable when it is time to look again */
    int root_fd, home_fd, state_fd;
    const char *home; /* path of the private home, for messages; NULL: it is removed at the end */
    struct journal *journal;
    unsigned told;     /* records in the journal so far */
    unsigned patience; /* milliseconds until an unreadable file is looked at again */
    kept_tokens kept;  /* placeholders that this home has had */
    void (*changed)(void *context,
                    const char *source); /* a login of the host's has changed; NULL: nobody is told */
    void *context;
    VEC(struct synced *) files;
};

/* Makes both sides the same and begins to watch. Fails if one file cannot be kept the same; the others still are. */
int sync_begin(struct arena *arena, const struct plan *plan, int home_fd, int state_fd,
               struct journal *journal, struct sync *ret_sync, struct err *err) must_check;

/*
 * The lock of a file of the host's. All homes and all files of a directory share one, under which files of a killed bawn are swept; with a
 * `purpose`, another one. Returns its descriptor.
 */
int sync_open_lock(struct arena *arena, const char *data, const char *source, const char *purpose,
                   struct err *err) must_check;

/* A file changed; it is time to look again. Both fit the supervisor's loop, and never end it. */
int sync_ready(void *self, short events, struct err *err);
int sync_due(void *self, short events, struct err *err);

/* Carries over what the command wrote last. Fails if the command left something in a file's place that is no file. */
int sync_end(struct sync *sync, struct err *err) must_check;

/* --- home.c --- */

struct home {
    const char *path; /* on the host */
    int fd;           /* with a shared lock during the run; -1: not begun */
    int state_fd;
    int seeds_fd;       /* the upper layers of seeds, locked; -1: none */
    bool has_own_seeds; /* another run uses the layers of this home: this run's are in the session's folder */
    bool is_fresh;      /* removed when the run ends */
    struct timespec began;
    struct sync sync;
};

#define HOME_NONE                                                                                            \
    ((struct home){                                                                                          \
        .fd = -1, .state_fd = -1, .seeds_fd = -1, .sync = {.fd = -1, .timer_fd = -1, .root_fd = -1}})

/* Must a session exist before this home is opened and filled? Mostly not. */
bool home_needs_session(const struct plan *plan);

/* Opens the home, made if it is missing. A fresh one lies in the session's folder. */
int home_open(struct arena *arena, const struct plan *plan, const struct session *session,
              struct home *ret_home, struct err *err) must_check;

/* The folder beside the home with bawn's own state. NULL: it has none. */
const char *home_state_path(struct arena *arena, const struct plan *plan, const struct session *session);

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
 * /etc/gitconfig, where a rule shows it, it takes the settings of a list. Repositories of `forge` rules are reached by ssh, however they are
 * written.
 */
const char *git_settings(const struct plan *plan);

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

/* --- home_files.c --- */

/* What runs have left in a private home, seen from outside: nothing is followed, nothing is run, nothing is changed. */

struct home_file {
    const char *path; /* with the home as "/"; any bytes */
    uint64_t size;
    struct timespec changed;
};

struct home_files {
    struct arena *arena;
    struct timespec since; /* only what was made at this time or later */
    bool hidden_too;       /* names that begin with a dot: the state of programs, as a rule */
    bool is_cut;           /* there is more than was looked at */
    VEC(struct home_file) list;
};

/* Regular files, the newest first. Looks at 20,000 names at most. */
void home_files_find(int home_fd, struct home_files *files);
void home_files_free(struct home_files *files);

/*
 * Copies a regular file of the home to a new file, which nobody may execute: a program that comes out of a sandbox runs
 * outside only if a person says so. An existing file is not replaced.
 */
int home_files_fetch(int home_fd, const char *path, int directory_fd, const char *name, struct err *err)
    must_check;
