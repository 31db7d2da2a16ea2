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
#include "policy/policy.h"

enum { PLAN_SCHEMA_VERSION = 1 };

#define OPERATIONS(X)                                                                                        \
    X(PRIVATE, "private")     /* an empty place of the sandbox's own: /tmp, /run … */                      \
    X(HOME, "home")           /* the private home */                                                         \
    X(LINK, "link")           /* a symbolic link that the host has too; `target` */                          \
    X(BIND_READ, "read")      /* visible, executable, not writable */                                        \
    X(BIND_WRITE, "write")    /* visible and writable; `make`: make the directory if it is missing */        \
    X(HIDE, "hide")           /* masked under a visible parent; may be a pattern */                          \
    X(FREEZE, "freeze")       /* pinned; `missing`: held by a stub or a watch */                             \
    X(FLAG, "flag")           /* settled at the end; may be a pattern */                                     \
    X(COPY, "copy")           /* from `source` into the private home */                                      \
    X(SYNC, "sync")           /* kept the same as `source` */                                                \
    X(SOCKET, "socket")       /* one Unix socket */                                                          \
    X(NET, "net")             /* `value`: off, allow or open */                                              \
    X(CONNECT, "connect")     /* `value`: host, `port` */                                                    \
    X(REFUSE, "refuse")       /* `value`: host, `port` */                                                    \
    X(PUBLISH, "publish")     /* `port` inside, `host_port` outside */                                       \
    X(HOST_PORT, "host-port") /* `port` */                                                                   \
    X(ENV_PASS, "env-pass")   /* `name`: the caller's value */                                               \
    X(ENV_SET, "env-set")     /* `name`, `value` */                                                          \
    X(LIMIT, "limit")         /* `name`, `amount` (none: no limit) */

enum operation_kind {
#define X(id, name) OP_##id,
    OPERATIONS(X)
#undef X
};

const char *operation_name(enum operation_kind kind);

struct operation {
    enum operation_kind kind;
    const struct rule *because; /* the rule that asked for it; NULL for what every sandbox has */
    const char *path;
    const char *source; /* COPY and SYNC: where the content lies; LINK: the link's target */
    const char *name, *value;
    enum limit limit;
    uint64_t amount;
    uint16_t port, host_port;
    bool is_of_profile; /* because of a rule of a profile */
    bool is_directory, is_pattern, is_workspace, make, missing;
    bool spares_workspaces; /* of a pattern: what lies in a workspace is not meant */
};

/* Something that the user should know before the run starts. */
struct note {
    const struct rule *about; /* may be NULL */
    const char *text;
};

struct plan {
    const struct policy *policy;
    VEC(struct operation) operations;
    VEC(struct note) notes;
};

void plan_make(const struct policy *policy, struct plan *ret_plan);
void plan_free(struct plan *plan);

void plan_add_json(const struct plan *plan, const char *const *command, struct buf *out);
void plan_add_text(const struct plan *plan, struct buf *out);

void rule_add_json(struct json *json, const char *key, const struct rule *rule);

/* "base.bawn:12", "command line". */
const char *rule_origin(struct arena *arena, const struct rule *rule);

/* "memory=8G": the amount as a person writes it. */
const char *limit_text(struct arena *arena, enum limit limit, uint64_t amount);
