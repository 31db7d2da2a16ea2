/*
 * The plan: an immutable list of operations in the order in which they are carried out, and the policy that asked for them. It
 * has no secrets: it names variables without their values.
 *
 * Nothing here has an effect. After plan_make() a plan is const; findings of a run become amendments (plan/amendments.h). The
 * launcher includes only plan/operations.h, which knows no policy.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "plan/operations.h"
#include "policy/policy.h"

enum { PLAN_SCHEMA_VERSION = 1 };

/* In an ARGUMENT: the text that tells an agent about its sandbox. */
#define BRIEFING_VARIABLE "$BRIEFING"

/* And the path of bawn, for agents that start `bawn mcp`. The plan has the path itself. */
#define BAWN_VARIABLE "$BAWN"

/* A message for the user before the run starts. */
struct note {
    const struct rule *about; /* may be NULL */
    const char *text;
    bool is_loss;        /* the walls are weaker than usual */
    bool is_said_always; /* also in a pipe */
    bool is_said_once;   /* in a project, as long as it stays the same */
};

/* The request beside the policy, and what this machine supports. Zeroed: every wall, and no control group. */
struct plan_request {
    bool nested; /* the command may make namespaces: no Landlock file rules, and changes are kept aside */
    wall_set degraded;               /* may be missing if they cannot be raised */
    wall_set lacking;                /* of those, the walls that this machine cannot raise */
    enum foundation on;              /* what carries the plan out */
    bool is_root;                    /* the machine's own */
    bool asks;                       /* a person is there to give more while the command runs */
    bool cgroup_memory, cgroup_pids; /* a control group can enforce these limits */
};

/* A wall that is missing, or may be. */
struct given_up {
    enum wall wall;
    const char *by; /* the flag */
    bool if_needed; /* only if it cannot be raised */
};

struct plan {
    const struct policy *policy;
    struct plan_request request;
    VEC(struct given_up) given_up;
    struct operations operations;
    VEC(struct note) notes;
};

void plan_make(const struct policy *policy, const struct plan_request *request, struct plan *ret_plan);

/* A memory limit that a person asked for and that nothing here enforces; or NULL. */
const struct operation *plan_unheld_memory(const struct plan *plan);

/* Another limit that a person asked for and that nothing here enforces, and why; or NULL. */
const struct operation *plan_unheld_limit(const struct plan *plan, const char **ret_why);

/*
 * bare.c: an operation that walls on Landlock alone cannot carry out, and why; NULL: there is none. `copies`: the command works in a copy of the
 * workspaces, which lacks what is hidden.
 */
const struct operation *plan_unheld_on_landlock(const struct plan *plan, bool copies, const char **ret_why);

/* The operation that shows this port of the host's inside, or NULL. */
const struct operation *plan_host_port(const struct plan *plan, uint16_t port);

void plan_free(struct plan *plan);

void plan_add_json(const struct plan *plan, const char *const *command, struct buf *out);
void plan_add_text(const struct plan *plan, struct buf *out);

/* The directory of an agent's private home for this workspace ("claude"; "other" for other commands). */
const char *plan_home(const struct policy *policy, const char *agent);

/* What a program inside calls bawn: "bawn" if PATH leads to it, or its path. NULL: it is not visible inside. */
const char *plan_own_name(const struct policy *policy);

/* Is there a decoy at the path, or above it? */
bool plan_has_decoy(const struct plan *plan, const char *path);

void rule_add_json(struct json *json, const char *key, const struct rule *rule);

/* "base.bawn:12", "command line". */
const char *rule_origin(struct arena *arena, const struct rule *rule);

/* "memory=8G": the amount as a person writes it. */
const char *limit_text(struct arena *arena, enum limit limit, uint64_t amount);
