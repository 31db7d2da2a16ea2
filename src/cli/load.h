/* The way from the command line to a plan, which every verb that speaks of a policy shares. */
#pragma once

#include "cli/args.h"
#include "cli/world.h"
#include "plan/plan.h"
#include "policy/policy.h"

struct loaded {
    struct arena arena;
    struct fsview fs;
    struct policy_request request;
    struct machine machine;
    struct diags diags;
    struct policy policy;
    struct plan plan;
};

/* Home and folders, without a policy. Returns 0, or the exit status after having said what is wrong. */
int load_request(const struct world *world, struct loaded *loaded);

/* The policy as it applies here; mistakes are collected and not yet said. */
int load_policy(const struct world *world, const struct args *args, struct loaded *loaded);

/* All of it: mistakes have been said, and with errors the exit status is returned. */
int load_plan(const struct world *world, const struct args *args, struct loaded *loaded);

/* The same as it holds in a workspace elsewhere. */
int load_there(const struct world *world, const char *workspace, struct loaded *loaded);

/* A file of the user's beside the policy, which holds no rules; NULL where there is none of at most that size. */
char *load_settings(const struct loaded *loaded, const char *name, size_t most);

void loaded_free(struct loaded *loaded);
