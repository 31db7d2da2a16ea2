/*
 * Landlock: the rights on files that can be named. It is a second wall behind the mounts: even if a mount were undone, only
 * trees granted for writing could be written.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"

/* The version of this kernel; 0: none. */
int landlock_abi(void);

/* Before this version no file can be moved to another directory (Linux 5.19). */
enum { LANDLOCK_ABI_WITH_MOVES = 2 };

/* This version knows rules for TCP (Linux 6.7). */
enum { LANDLOCK_ABI_WITH_TCP = 4 };

/* This version keeps signals and abstract sockets inside (Linux 6.12). */
enum { LANDLOCK_ABI_WITH_SCOPES = 6 };

struct landlock {
    int fd;
    uint64_t handled; /* rights that this kernel's version knows */
};

/* The rights on a tree. */
enum landlock_grant {
    LANDLOCK_LIST,  /* list directories */
    LANDLOCK_SEE,   /* list, read, execute */
    LANDLOCK_WRITE, /* everything except making devices */
    LANDLOCK_DEVICE /* read, write and ioctl; make nothing */
};

/* What a ruleset denies. */
enum landlock_subject {
    LANDLOCK_FILES = 1, /* all files until landlock_allow; a process under file rules cannot mount */
    LANDLOCK_TCP = 2    /* to bind or to connect a socket of TCP, where the kernel can (version 4) */
};

/* Prepares a ruleset that keeps signals and abstract sockets inside, if the kernel can. `subjects`: a set of those above, or 0. */
int landlock_begin(int abi, unsigned subjects, struct landlock *ret_landlock, struct err *err) must_check;

/* path_fd is an O_PATH descriptor of the tree's root, or of a file. */
int landlock_allow(const struct landlock *landlock, int path_fd, enum landlock_grant grant, struct err *err)
    must_check;

/* Applies to this process and all its children, irrevocably. no_new_privs must be set. */
int landlock_enforce(struct landlock *landlock, struct err *err) must_check;
