/*
 * What this machine allows bawn to do. Facts only, found by reading or by trying in a child; others judge them. Changes
 * nothing, on disk or in the kernel.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/names.h"

/* What is tried, by the same calls as in a run. */
#define PROBE_TRIALS(X)                                                                                      \
    X(TRIAL_USER_NAMESPACE, "user-namespace")                                                                \
    X(TRIAL_NAMESPACES, "namespaces") /* all namespaces of a run, at once */                                 \
    X(TRIAL_ID_MAP, "id-map")         /* maps the user's id */                                               \
    X(TRIAL_MOUNTS, "mounts")         /* open_tree, mount_setattr, fsmount, move_mount in them */            \
    X(TRIAL_PROC, "fresh-proc")       /* EPERM if parts of the caller's /proc are hidden */                  \
    X(TRIAL_LOOPBACK, "loopback")     /* a network of its own */                                             \
    X(TRIAL_OVERLAY, "overlay")       /* overlayfs with userxattr */                                         \
    X(TRIAL_LANDLOCK, "landlock")                                                                            \
    X(TRIAL_SECCOMP, "seccomp")                                                                              \
    X(TRIAL_JUDGED_CALLS, "judged-calls")   /* a listener of seccomp's, for walls without namespaces */      \
    X(TRIAL_MAPPED_MOUNTS, "mapped-mounts") /* only as root, at the places of the request */

enum trial_name { PROBE_TRIALS(ID_OF) TRIAL_COUNT };

/* Zeroed: it does not work. */
struct trial {
    bool works;
    int errnum; /* also 0 if it was not tried, because something that it needs does not work */
};

enum { PROBE_MOST_PROGRAMS = 16, PROBE_NOT_THERE = -1 };

struct probe_request {
    const char *const *places;   /* paths whose file systems a run shows; ended by NULL */
    const char *const *programs; /* names, ended by NULL, at most PROBE_MOST_PROGRAMS */
    const char *search_path;     /* where they are looked for, as in PATH; may be NULL */
};

struct host_caps {
    char release[65], architecture[65];
    unsigned uid;
    bool is_namespace_root; /* root of a user namespace only: an ordinary user of the machine */
    bool is_filtered;       /* a seccomp filter is around this process: a container's, or a service's */
    char container[32];     /* the container that bawn runs in ("Docker"); "" */
    char program[4096];     /* bawn's own path */

    struct trial trials[TRIAL_COUNT];
    const char *unmapped_place; /* the first place whose ids cannot be mapped, or NULL */
    const char *unmapped_type;  /* its file system */
    int landlock_abi;           /* 0: none */
    char security_modules[256]; /* active ones, as the kernel lists them; "": not known */

    /* Kernel settings; PROBE_NOT_THERE: the kernel has none of that name. */
    int64_t max_user_namespaces, unprivileged_userns_clone, apparmor_restricts_userns;

    bool cgroup_holds; /* a group that limits memory and processes can be made */

    /* The caller's own cgroup, version 2; and whether version 1 has the memory controller. */
    bool cgroup_found, cgroup_writable, cgroup_memory, cgroup_pids, cgroup_is_old;

    /* A core of a crash starts a helper of root's: only root could raise the hard limit of 0. */
    bool core_starts_helper;

    const char *snaps[PROBE_MOST_PROGRAMS + 1]; /* the programs that are snaps; ended by NULL */
};

const char *trial_name(enum trial_name value);

/* Can all namespaces of a run be made here? Tries it in a child. False only if the machine refuses: not if memory ran out, or the child was killed. */
bool probe_namespaces(void);

void probe_host(const struct probe_request *request, struct host_caps *ret_caps);
