/*
 * What this machine lets bawn do. Facts only, each found by trying it in a child that is thrown away, or by reading it:
 * what they mean for a run is for others to say. Nothing is changed, on disk or in the kernel.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/names.h"

/* What is tried. Each is what a run does itself, by the same calls. */
#define PROBE_TRIALS(X)                                                                                      \
    X(TRIAL_USER_NAMESPACE, "user-namespace")                                                                \
    X(TRIAL_NAMESPACES, "namespaces") /* all that a run makes, at once */                                    \
    X(TRIAL_ID_MAP, "id-map")         /* says who is who in them */                                          \
    X(TRIAL_MOUNTS, "mounts")         /* open_tree, mount_setattr, fsmount, move_mount in them */            \
    X(TRIAL_PROC, "fresh-proc")       /* EPERM where the caller's own /proc is partly hidden */              \
    X(TRIAL_LOOPBACK, "loopback")     /* a network of its own */                                             \
    X(TRIAL_OVERLAY, "overlay")       /* overlayfs with userxattr */                                         \
    X(TRIAL_LANDLOCK, "landlock")                                                                            \
    X(TRIAL_SECCOMP, "seccomp")                                                                              \
    X(TRIAL_MAPPED_MOUNTS, "mapped-mounts") /* tried as root only, at the request's places */

enum trial_name { PROBE_TRIALS(ID_OF) TRIAL_COUNT };

/* Zeroed: it does not work. */
struct trial {
    bool works;
    int errnum; /* 0 as well where it was not tried, because something that it needs does not work */
};

enum { PROBE_MOST_PROGRAMS = 16, PROBE_NOT_THERE = -1 };

struct probe_request {
    const char *const *places;   /* paths whose file systems a run would show; ended by NULL */
    const char *const *programs; /* names, ended by NULL, at most PROBE_MOST_PROGRAMS */
    const char *search_path;     /* where those are looked for, as PATH has it; may be NULL */
};

struct host_caps {
    char release[65], architecture[65];
    unsigned uid;
    bool is_namespace_root; /* root of some user namespace only: an ordinary user to this machine */
    char container[32];     /* what bawn runs in ("Docker"); "" for a machine of its own */
    char program[4096];     /* where bawn itself lies */

    struct trial trials[TRIAL_COUNT];
    const char *unmapped_place; /* the first of the places whose ids cannot be mapped, or NULL */
    const char *unmapped_type;  /* its file system */
    int landlock_abi;           /* 0: none */
    char security_modules[256]; /* those that are active, as the kernel lists them; "" if it does not say */

    /* Settings of the kernel; PROBE_NOT_THERE where it has none of that name. */
    int64_t max_user_namespaces, unprivileged_userns_clone, apparmor_restricts_userns;

    bool cgroup_holds; /* a control group can be made that limits memory and processes */

    /* The caller's own cgroup, version 2; and whether it is version 1 that has the memory. */
    bool cgroup_found, cgroup_writable, cgroup_memory, cgroup_pids, cgroup_is_old;

    /* A hard limit of 0 that only root could raise, and a helper of root's for the cores of crashes. */
    bool core_starts_helper;

    const char *snaps[PROBE_MOST_PROGRAMS + 1]; /* those of the programs that are snaps; ended by NULL */
};

const char *trial_name(enum trial_name value);

void probe_host(const struct probe_request *request, struct host_caps *ret_caps);
