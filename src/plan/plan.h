/*
 * The plan: what will be done, as an immutable list of operations in the order in which they are carried out. It is
 * made from a policy alone and holds no secret: variables that pass are named, their values are not.
 *
 * Nothing here has an effect. The launcher will carry the plan out and know nothing of policies.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "kernel/endpoint.h"
#include "plan/walls.h"
#include "policy/policy.h"

enum { PLAN_SCHEMA_VERSION = 1 };

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
    const struct rule *because; /* the rule that asked for it; NULL for what every sandbox has */
    const char *path;
    const char
        *source; /* COPY and SYNC: where the content lies; LINK: the link's target; WRITE: the copy that is
                           shown in its place, known when the run begins, or NULL */
    const char *name, *value;
    const char *
        overlay; /* WRITE and SEED: the folder that takes what is written there, known when the run begins; or NULL.
                     Without one a SEED shows nothing */
    enum limit limit;
    uint64_t amount;
    uint16_t port, host_port;
    struct endpoint listening; /* CONNECT to an address: where the sandbox accepts it; port 0: to a name */
    bool is_network;           /* CONNECT: to a network of addresses */
    bool is_of_profile;        /* because of a rule of a profile */
    enum limit_means held_by;  /* LIMIT */
    bool is_directory, is_pattern, is_workspace, make, missing;
    bool spares_workspaces; /* of a pattern: what lies in a workspace is not meant */
    bool is_public; /* READ, by real root: as anybody sees it. What root alone may read stays closed */
};

/* In a word of ARGUMENT: the text that tells an agent where it is. */
#define BRIEFING_VARIABLE "$BRIEFING"

/* Something that the user should know before the run starts. */
struct note {
    const struct rule *about; /* may be NULL */
    const char *text;
};

/* What is asked for beside the policy, and what this machine has for it. Zeroed: every wall, and no control group. */
struct plan_request {
    bool
        nested; /* the command may make namespaces: Landlock's file rules are given up, and what it writes is kept aside */
    wall_set degraded;               /* the caller does without these where they cannot be raised */
    wall_set lacking;                /* of those: it is known already that this machine cannot */
    bool is_root;                    /* the machine's own */
    bool cgroup_memory, cgroup_pids; /* a control group can be made that holds these limits */
};

/* A wall that is not there, or may not be. */
struct given_up {
    enum wall wall;
    const char *by; /* the flag */
    bool if_needed; /* only where it turns out that it cannot be raised */
};

struct plan {
    const struct policy *policy;
    struct plan_request request;
    VEC(struct given_up) given_up;
    wall_set absent; /* of those: the ones that are not even tried */
    VEC(struct operation) operations;
    VEC(struct note) notes;
};

void plan_make(const struct policy *policy, const struct plan_request *request, struct plan *ret_plan);

/* A limit of memory that somebody asked for on this machine, and that nothing here holds; or NULL. */
const struct operation *plan_unheld_memory(const struct plan *plan);

void plan_free(struct plan *plan);

void plan_add_json(const struct plan *plan, const char *const *command, struct buf *out);
void plan_add_text(const struct plan *plan, struct buf *out);

/* Where the private home of an agent ("claude"; "other" for commands that are none) in this workspace is kept. */
const char *plan_home(const struct policy *policy, const char *agent);

/* Where in the private home COPY and SYNC put something, with the home as "/"; NULL where that does not lie in it. */
const char *plan_destination(const struct plan *plan, const struct operation *operation);

/* Is a tree of the host seen at the operation's path? */
bool operation_shows(const struct operation *operation);

/* Does a tree of the host that is shown hold the path? */
bool plan_shows(const struct plan *plan, const char *path);

/*
 * Is the operation held by a mount over something of a tree around it: frozen, hidden, or read-only in a writable tree? Such a mount
 * falls when the host replaces what it lies on.
 */
bool plan_covers(const struct plan *plan, const struct operation *operation);

/* Does a decoy stand at the path, or above it? */
bool plan_has_decoy(const struct plan *plan, const char *path);

void rule_add_json(struct json *json, const char *key, const struct rule *rule);

/* "base.bawn:12", "command line". */
const char *rule_origin(struct arena *arena, const struct rule *rule);

/* "memory=8G": the amount as a person writes it. */
const char *limit_text(struct arena *arena, enum limit limit, uint64_t amount);
