/*
 * Operations: what a sandbox consists of, as a list that can be carried out without knowing the policy it was made from. The
 * launcher includes this header and not plan/plan.h; tools/check-layers enforces that.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/endpoint.h"
#include "plan/walls.h"

struct rule;

#define OPERATIONS(X)                                                                                        \
    X(PRIVATE, "private")     /* an empty place of the sandbox's own: /tmp, /run … */                      \
    X(HOME, "home")           /* the private home; without `source` it is thrown away at the end */          \
    X(DECOY, "decoy")         /* a read-only folder in the place of secrets, and a tripwire; `name` */       \
    X(HOST, "host")           /* the host's file system as it is: full access */                             \
    X(LINK, "link")           /* a symbolic link that the host has too; `target` */                          \
    X(BIND_READ, "read")      /* visible, executable, not writable */                                        \
    X(BIND_WRITE, "write")    /* visible and writable; `make`: make the directory if it is missing */        \
    X(HIDE, "hide")           /* masked under a visible parent; may be a pattern */                          \
    X(FREEZE, "freeze")       /* pinned; `missing`: held by a stub or a watch */                             \
    X(FLAG, "flag")           /* settled at the end; may be a pattern */                                     \
    X(COPY, "copy")           /* from `source` into the private home */                                      \
    X(SEED, "seed")           /* to read; what is written goes to a folder beside the private home */        \
    X(SIFT, "sift")           /* the harmless part of `source`, made anew in the private home */             \
    X(SYNC, "sync")           /* kept the same as `source` */                                                \
    X(SOCKET, "socket")       /* one Unix socket */                                                          \
    X(NET, "net")             /* `value`: off, allow or open */                                              \
    X(CONNECT, "connect")     /* `value`: host, `port` */                                                    \
    X(REFUSE, "refuse")       /* `value`: host, `port` */                                                    \
    X(PUBLISH, "publish")     /* `port` inside, `host_port` outside */                                       \
    X(HOST_PORT, "host-port") /* `port` */                                                                   \
    X(ENV_PASS, "env-pass")   /* `name`: the caller's value */                                               \
    X(ENV_SET, "env-set")     /* `name`, `value` */                                                          \
    X(LIMIT, "limit")         /* `name`, `amount` (none: no limit) */                                        \
    X(ARTIFACTS, "artifacts") /* `name`: a folder of builds, in which new programs are nothing to tell of */ \
    X(ARGUMENT, "argument")   /* `value`: a word that the agent gets before its own arguments */

enum operation_kind {
#define X(id, name) OP_##id,
    OPERATIONS(X)
#undef X
};

const char *operation_name(enum operation_kind kind);

/* What holds a limit here. What nothing holds is not called held. */
#define LIMIT_MEANS(X)                                                                                       \
    X(NOTHING, "")                                                                                           \
    X(CGROUP, "cgroup")         /* a control group of the sandbox's own */                                   \
    X(RLIMIT, "rlimit")         /* the kernel's limit on processes: files for each, pids for all of them */  \
    X(OOM_SCORE, "oom-score")   /* no limit: the first to go when the machine's memory runs out */           \
    X(SUPERVISOR, "supervisor") /* bawn ends the command */

enum limit_means {
#define X(id, name) HELD_BY_##id,
    LIMIT_MEANS(X)
#undef X
};

struct operation {
    enum operation_kind kind;
    enum limit_means held_by;   /* LIMIT */
    const struct rule *because; /* NULL for operations of every sandbox, and in the launcher */
    const char *path;
    const char *source; /* COPY and SYNC: where the content lies; LINK: its target; WRITE: see amend_copy() */
    const char *name, *value;
    const char *overlay; /* WRITE and SEED: see amend_layer(); NULL in a plan. A SEED needs one to be shown */
    uint64_t amount;
    uint16_t port, host_port;
    struct endpoint listening; /* CONNECT to an address: where the sandbox accepts it; port 0: to a name */
    bool is_network;           /* CONNECT: to a network of addresses */
    bool is_of_profile;        /* because of a rule of a profile */
    bool is_directory, is_pattern, is_workspace, make, missing;
    bool spares_workspaces; /* of a pattern: it does not match in workspaces */
    bool
        is_public; /* READ, by real root: shown as to other users. Files that only root may read stay closed */
};

struct operations {
    struct operation *at;
    size_t count, capacity; /* as VEC has them */
    wall_set absent;        /* walls that are not raised */
    wall_set degraded;      /* walls that may be missing where this machine cannot raise them */
    bool is_root;           /* bawn was started by the machine's own root */
};

/* Does a tree of the host appear at the operation's path? */
bool operation_shows(const struct operation *operation);

/* Does the path lie in a tree of the host that is shown? */
bool operations_show(const struct operations *operations, const char *path);

/*
 * Is the operation held by a mount over something of a tree around it: frozen, hidden, or read-only in a writable tree? The
 * mount falls when the host replaces the file below it.
 */
bool operations_cover(const struct operations *operations, const struct operation *operation);

/* Where in the private home COPY and SYNC put something, with the home as "/"; NULL where that does not lie in the home. */
const char *operations_destination(const struct operations *operations, const struct operation *operation);
