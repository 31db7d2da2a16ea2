/*
 * Landlock: what may be done with what can be named. A second wall behind the mounts: even where a mount could be
 * undone, nothing is written outside the trees that were granted for writing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"

/* The best version that this kernel has; 0 for none. */
int landlock_abi(void);

/* From which on signals and abstract sockets are kept inside (Linux 6.12). */
enum { LANDLOCK_ABI_WITH_SCOPES = 6 };

struct landlock {
    int fd;
    uint64_t handled; /* rights that this kernel's version knows */
};

/* Which trees get what. */
enum landlock_grant {
    LANDLOCK_SEE,   /* list, read, execute */
    LANDLOCK_WRITE, /* all of it, but for making devices */
    LANDLOCK_DEVICE /* read, write and control what is there; make nothing */
};

/*
 * Prepares a ruleset that keeps signals and abstract sockets inside, where the kernel can; with `files`, nothing may be
 * done with any file yet. Whoever is under a rule on files cannot mount.
 */
int landlock_begin(int abi, bool files, struct landlock *ret_landlock, struct err *err) must_check;

/* path_fd is an O_PATH descriptor of the tree's root, or of a file. */
int landlock_allow(const struct landlock *landlock, int path_fd, enum landlock_grant grant, struct err *err)
    must_check;

/* From here on, for this process and all its children, for good. no_new_privs must be set. */
int landlock_enforce(struct landlock *landlock, struct err *err) must_check;
