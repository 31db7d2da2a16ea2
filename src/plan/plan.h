/*
 * The plan: an immutable list of operations in the order in which they are carried out, with the policy that asked for
 * them. It holds no secret: variables that pass are named, their values are not.
 *
 * Nothing here has an effect. After plan_make() a plan is const; findings of a run go into amendments (plan/amendments.h).
 * The launcher includes plan/operations.h alone, which knows no policy.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "plan/operations.h"
#include "policy/policy.h"

enum { PLAN_SCHEMA_VERSION = 1 };

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
    struct operations operations;
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

/* Does a decoy stand at the path, or above it? */
bool plan_has_decoy(const struct plan *plan, const char *path);

void rule_add_json(struct json *json, const char *key, const struct rule *rule);

/* "base.bawn:12", "command line". */
const char *rule_origin(struct arena *arena, const struct rule *rule);

/* "memory=8G": the amount as a person writes it. */
const char *limit_text(struct arena *arena, enum limit limit, uint64_t amount);
