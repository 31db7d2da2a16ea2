/*
 * What the attacks aim at: files with a canary in them, processes, sockets, shared memory, all made for the purpose under
 * names that nobody else has; and the sensors that tell from outside whether something happened to them. Nothing of the
 * user's is among them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

/* Where things are and what they are called: known before anything is made, so that all of it can be removed. */
struct targets {
    struct arena *arena;
    const char *program;      /* bawn-prove */
    const char *user_home;    /* the real one: only ever looked at */
    const char *user_runtime; /* $XDG_RUNTIME_DIR, or NULL */
    const char *states;       /* bawn's own folder for what runs leave, which no sandbox shows */
    bool is_root;
    const char *mark;  /* a name that nothing else bears */
    const char *token; /* the canary: what must never come out */
    const char *home,
        *project;      /* a folder in the user's home; the project in it that the sandbox may write */
    const char *state; /* a folder for what runs leave: thrown away with the rest */
    const char *tmp, *var_tmp, *runtime,
        *run_socket; /* the last two NULL where the user has no place for them */
    int ipc_key;
};

/*
 * Chooses names, and makes and locks the folder for what runs leave: while it is locked, somebody is at work. What others
 * made and were killed before they could remove it is removed. Returns the lock.
 */
int targets_begin(struct targets *targets, struct err *err) must_check;

/* Makes the files; fails where one is there already. */
int targets_make(const struct targets *targets, struct err *err) must_check;

/* Puts the files back to what they were. */
int targets_repair(const struct targets *targets, struct err *err) must_check;

/* Removes all that bears the mark, whoever made it. */
void targets_remove(const struct targets *targets);

/* All that the files are: content, modes, owners, names; and a number for it. Another number: something happened to them. */
void targets_describe(const struct targets *targets, struct buf *out);
uint64_t targets_fingerprint(const struct targets *targets);

/* Where two descriptions differ first; NULL: nowhere. */
const char *targets_difference(const struct targets *targets, const struct buf *before,
                               const struct buf *now);

/* The caller's environment, with targets among the variables that callers have. */
const char *const *targets_environment(const struct targets *targets, const char *const *environment);

/*
 * Waits until the kernel dates files later than all that was made so far. To a run, what bears the date of its start is new, and a
 * hook in a new repository does not stay.
 */
void targets_age(void);
