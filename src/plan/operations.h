/*
 * Operations: a list that describes a sandbox and can be carried out without the policy. The launcher includes this header and
 * not plan/plan.h; tools/check-layers enforces that.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/names.h"
#include "kernel/endpoint.h"
#include "plan/walls.h"

struct rule;

/* Where programs inside find the keys of `ssh-key` rules. */
#define SSH_AGENT_INSIDE "/run/bawn/ssh-agent"

#define OPERATIONS(X)                                                                                        \
    X(OP_PRIVATE, "private")     /* an empty place of the sandbox's own: /tmp, /run … */                   \
    X(OP_ASKABLE, "askable")     /* an empty directory: what a person gives below it can be written */       \
    X(OP_HOME, "home")           /* the private home; without `source` it is removed at the end */           \
    X(OP_DECOY, "decoy")         /* a read-only folder in the place of secrets, with a tripwire; `name` */   \
    X(OP_HOST, "host")           /* the host's file system as it is: full access */                          \
    X(OP_LINK, "link")           /* a symlink that the host has too; `target` */                             \
    X(OP_BIND_READ, "read")      /* visible, executable, not writable */                                     \
    X(OP_BIND_WRITE, "write")    /* visible and writable; `make`: make the directory if it is missing */     \
    X(OP_HIDE, "hide")           /* masked under a visible parent; may be a pattern */                       \
    X(OP_FREEZE, "freeze")       /* pinned; `missing`: by a stub or a watch */                               \
    X(OP_FLAG, "flag")           /* the user is asked at the end; may be a pattern */                        \
    X(OP_COPY, "copy")           /* from `source` into the private home */                                   \
    X(OP_SEED, "seed")           /* readable; writes go to a folder beside the private home */               \
    X(OP_SIFT, "sift")           /* the harmless part of `source`, made anew in the private home */          \
    X(OP_SYNC, "sync")           /* kept the same as `source` */                                             \
    X(OP_SOCKET, "socket")       /* one Unix socket */                                                       \
    X(OP_NET, "net")             /* `value`: off, allow or open */                                           \
    X(OP_CONNECT, "connect")     /* `value`: host, `port` */                                                 \
    X(OP_REFUSE, "refuse")       /* `value`: host, `port` */                                                 \
    X(OP_REQUEST, "request")     /* `value`: host, `port`; `name`: requests that are allowed or refused */   \
    X(OP_PUBLISH, "publish")     /* `port` inside, `host_port` outside */                                    \
    X(OP_HOST_PORT, "host-port") /* `port` */                                                                \
    X(OP_ENV_PASS, "env-pass")   /* `name`: the caller's value */                                            \
    X(OP_ENV_SET, "env-set")     /* `name`, `value` */                                                       \
    X(OP_SECRET, "secret")       /* `name`: a placeholder inside; `value`: the hosts that get the secret */  \
    X(OP_LEAK, "leak")       /* `value`: what is done about secrets in requests; `name`: in plain ones */    \
    X(OP_FORGE, "forge")     /* `name`: a repository on a server; `value`: what git may do there */          \
    X(OP_SSH_KEY, "ssh-key") /* `name`: a key of the user's ssh agent; `value`: hosts and limits */          \
    X(OP_LIMIT, "limit")     /* `name`, `amount` (none: no limit) */                                         \
    X(OP_ARTIFACTS, "artifacts") /* `name`: a build directory: new programs there are not reported */        \
    X(OP_REQUIRE, "require")     /* `name`: namespaces; the run is refused without them */                   \
    X(OP_GUARD, "guard")         /* `value`: a command that is asked about or refused when it is executed */ \
    X(OP_ARGUMENT, "argument")   /* `value`: an argument that bawn adds before the agent's own */

enum operation_kind { OPERATIONS(ID_OF) };

const char *operation_name(enum operation_kind value);

/* The mechanism that enforces a limit here. A limit without one is not shown as enforced. */
#define LIMIT_MEANS(X)                                                                                       \
    X(HELD_BY_NOTHING, "")                                                                                   \
    X(HELD_BY_CGROUP, "cgroup")         /* a control group of the sandbox's own */                           \
    X(HELD_BY_RLIMIT, "rlimit")         /* the kernel's limit on processes: files for each, pids for all */  \
    X(HELD_BY_OOM_SCORE, "oom-score")   /* no limit: killed first when the machine's memory runs out */      \
    X(HELD_BY_SUPERVISOR, "supervisor") /* bawn ends the command */                                          \
    X(HELD_BY_HELPER, "helper")         /* the network helper lets connections wait */                       \
    X(HELD_BY_JUDGE, "judge")           /* without namespaces: bawn counts processes, and refuses more */

enum limit_means { LIMIT_MEANS(ID_OF) };

struct operation {
    enum operation_kind kind;
    enum limit_means held_by;   /* LIMIT */
    const struct rule *because; /* NULL for operations of every sandbox, and in the launcher */
    const char *path;
    const char *
        source; /* COPY and SYNC: the source of the content; LINK: its target; WRITE and FREEZE: see amend_copy() */
    const char
        *elsewhere; /* SIFT: its place in the private home, with the home as "/"; NULL: the same as outside */
    const char *name, *value;
    const char
        *overlay; /* WRITE and SEED: see amend_layer(); NULL in a plan. A SEED is shown only with one */
    uint64_t amount;
    uint16_t port, host_port;
    struct endpoint listening; /* CONNECT to an address: where the sandbox accepts it; port 0: to a name */
    bool is_network;           /* CONNECT: to a network of addresses */
    bool is_of_profile;        /* from a rule of a profile */
    bool is_directory, is_pattern, is_workspace, make, missing;
    bool
        is_login; /* SYNC and COPY: its tokens stay outside. SECRET: they are the secret; `source` is the file */
    const char *entries; /* of a login: those whose tokens are meant, with spaces between them; NULL: all */
    bool spares_workspaces; /* a pattern that does not match in workspaces */
    bool
        is_public; /* READ, by real root: shown as to other users. Files that only root may read stay closed */
};

struct operations {
    struct operation *at;
    size_t count, capacity; /* as VEC has them */
    wall_set absent;        /* walls that are not raised */
    wall_set degraded;      /* walls that may be missing if this machine cannot raise them */
    bool is_root;           /* bawn was started by the machine's own root */
    enum foundation on;     /* what carries them out */
};

/* Does the operation show a tree of the host at its path? */
bool operation_shows(const struct operation *operation);

/* Does it put one file of the host's into the private home? */
bool operation_is_file_inside(const struct operation *operation);

/* The first operation of a kind, or NULL. */
const struct operation *operations_find(const struct operations *operations, enum operation_kind kind);

/* The network of the sandbox: "off", "allow" or "open". */
const char *operations_net(const struct operations *operations);

/* Does the path lie in a shown tree of the host? */
bool operations_show(const struct operations *operations, const char *path);

/* Does the path lie in a tree that may be written, and is not that tree? Then it can be moved unless something keeps it. */
bool operations_write_above(const struct operations *operations, const char *path);

/*
 * The tree by which the command can write this path of the host, or could make it there; NULL: none. The operations are those with the amendments
 * of the run: a tree whose changes are kept aside is not written. Part of a tree counts as not written where it is frozen or, with namespaces,
 * read-only or kept aside. Such a part keeps its name. The path has no links.
 */
const struct operation *operations_written(const struct operations *operations, const char *path);

/*
 * Does a mount over part of a tree enforce the operation: frozen, hidden, or read-only in a writable tree? The mount falls when
 * the host replaces the file below it.
 */
bool operations_cover(const struct operations *operations, const struct operation *operation);

/* Is there an operation on this very path, not by a pattern? */
bool operations_name(const struct operations *operations, const char *path);

/*
 * Does a pattern apply to this tree? Those are the trees for which the plan kept it. A profile's ** does not reach trees that profiles grant by
 * name.
 */
bool operation_reaches(const struct operation *pattern, const struct operation *tree);

/* Is this path of a tree hidden, by its name or by a pattern? What lies in a directory that is hidden is not asked about. */
bool operations_hide(const struct operations *operations, const struct operation *tree, const char *path);

/* Where COPY and SYNC write in the private home, with the home as "/"; NULL: not in the home. */
const char *operations_destination(const struct operations *operations, const struct operation *operation);
