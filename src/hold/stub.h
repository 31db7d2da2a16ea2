/*
 * Stubs: harmless files in the place of git control files that do not exist and must not be created while a command runs
 * (config.worktree, commondir, hooks/). The launcher pins them, and they are removed at the end.
 *
 * Each stub has a record in $XDG_STATE_HOME/bawn/stubs, written before the stub is made. A session that relies on a stub has a
 * shared lock on its record. The last session removes the stub; the next bawn removes the stubs of killed ones. A file is
 * removed only if it is the one that was made, unchanged.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/vec.h"

struct stub {
    const char *key; /* the name of its record */
    int record_fd;   /* with a shared lock */
};

struct stubs {
    struct arena *arena;
    const char *folder; /* of the records */
    VEC(struct stub) held;
};

/* Makes nothing yet. */
struct stubs stubs_in(struct arena *arena, const char *state_directory);

/* No stub is made or removed until the descriptor that it returns is closed: for who makes a git directory. */
int stubs_lock(struct arena *arena, const char *state_directory, struct err *err) must_check;

/*
 * Makes sure that something exists at the path, which lies in a git directory. Sessions share a stub. Returns 1 if something is
 * there, 0 if nothing is and this user cannot make it, -1 on failure.
 */
int stubs_hold(struct stubs *stubs, const char *path, bool is_directory, const char *content, struct err *err)
    must_check;

/* Releases all, and removes those that no other session relies on. */
void stubs_release(struct stubs *stubs);

enum { STUB_NAME_SIZE = 32 };

/*
 * A stub as a lock that other programs respect, NAME.lock for a moment: git's own. It is recorded and made before it is taken, so that it stands for
 * a few system calls only. If bawn is killed meanwhile, the next bawn removes it: no lock of git's has its content. Where
 * somebody has the lock, or another session is about to take it, nothing is taken.
 */
struct stub_lock {
    const char *path, *folder;
    char key[SHA256_HEX_SIZE], temporary[STUB_NAME_SIZE];
    int record_fd, parent_fd; /* -1: there is none to take */
    uint64_t device, inode;
};
struct stub_lock stub_lock_begin(const struct stubs *stubs, const char *path);
void stub_lock_take(const struct stub_lock *lock);
void stub_lock_release(const struct stub_lock *lock);
void stub_lock_end(struct stub_lock *lock);

/* Calls `seen` for each stub of any session of this user, with its inode. An inode of 0: it may be about to be made. */
typedef void stubs_seen(void *context, const char *path, uint64_t device, uint64_t inode);
void stubs_each(const char *folder, stubs_seen *seen, void *context);

/* Removes the stubs of killed sessions; calls `removed` for each. */
typedef void stubs_removed(void *context, const char *path);
int stubs_tidy(struct arena *arena, const char *state_directory, stubs_removed *removed, void *context,
               struct err *err) must_check;
