/*
 * From a request to a plan: what every verb that speaks of a policy begins with.
 *
 * `struct loaded` owns all of it: the arena, the view of the file system, the policy, the plan. The plan does not change after
 * load_plan.
 */
#pragma once

#include "plan/plan.h"
#include "policy/policy.h"
#include "session/caller.h"

/* What is asked for, taken from the command line. Zero is the ordinary live run, behind all walls. */
struct run_request {
    const struct argument *rules; /* --read PATH and the like, in their order */
    size_t rule_count;
    const char *const *command; /* ended by NULL; NULL or empty: none */
    const char *agent; /* whose profile is used, whatever the command is called; NULL: the command says it */
    const char
        *workspace_remedy; /* what to do where there is no workspace; NULL: name one with --workspace */
    wall_set degraded;     /* walls that may be given up */
    bool read_only, full_access, fresh_home, nested;
    bool review, review_all, discard; /* what is written is kept aside, of every tree, or thrown away */
    const char *branch;               /* the branch whose worktree is written; NULL: none */
    uint64_t checkpoint_seconds;      /* 0: no checkpoints are taken */
    bool log_exec;
    bool keep_flagged;  /* new content in flagged files is kept without asking */
    bool notifies;      /* a tripwire is told at once … */
    const char *notify; /* … by this command of the user's; "": by the desktop */
    bool wants_changes; /* somebody will read which files were changed: looking costs */
    char *const *typed; /* bawn's own arguments, ended by NULL */
    const char *
        trial_state; /* a trial of the walls: the folder of its session, of which nothing is kept. NULL: a run */
    const char *const *trial_command; /* what is run then, in the sandbox of `command` */
};

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
int load_request(const struct caller *caller, struct loaded *loaded);

/* The policy as it applies here. Mistakes are collected and not yet said. */
int load_policy(const struct caller *caller, const struct run_request *request, struct loaded *loaded);

/* All of it. Mistakes have been said, and with errors the exit status is returned. */
int load_plan(const struct caller *caller, const struct run_request *request, struct loaded *loaded);

/* The same as it holds in a workspace elsewhere. */
int load_there(const struct caller *caller, const char *workspace, struct loaded *loaded);

/* A file of the user's beside the policy, which holds no rules; NULL where there is none of at most that size. */
char *load_settings(const struct loaded *loaded, const char *name, size_t most);

/* The folder of the content store. */
const char *load_store(const struct loaded *loaded, struct arena *arena);

void loaded_free(struct loaded *loaded);
