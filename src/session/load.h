/*
 * From a request to a plan: the first step of every verb that needs a policy.
 *
 * `struct loaded` owns the arena, the view of the file system, the policy and the plan. The plan does not change
 * after load_plan.
 */
#pragma once

#include "plan/plan.h"
#include "policy/policy.h"
#include "policy/profile.h"
#include "session/caller.h"

/* A request, as the command line states it. Zero is the ordinary live run behind all walls. */
struct run_request {
    const struct argument *rules; /* --read PATH and the like, in order */
    size_t rule_count;
    const char *const *command;   /* ended by NULL; NULL or empty: no command */
    const char *agent;            /* use this agent's profile; NULL: the one that matches the command */
    bool is_exact;                /* the workspace is what a rule names, without the repository around it */
    const char *workspace_remedy; /* hint if there is no workspace; NULL: name one with --workspace */
    const char *unlinked;         /* a workspace that is reached through no symlink; or NULL */
    wall_set degraded;            /* walls that may be given up */
    const enum foundation *on;    /* NULL: namespaces where they can be had, otherwise Landlock */
    bool read_only, full_access, fresh_home, nested;
    bool review, review_all, discard; /* capture changes aside, of every tree, or throw them away */
    const char *branch;               /* write the worktree of this branch; NULL: none */
    const char *branch_from;          /* it begins at this branch or commit: a new one, NAME or NAME@N */
    uint64_t checkpoint_seconds;      /* 0: no checkpoints */
    bool log_exec;
    bool learns;            /* note what the command wants and does not get … */
    uint64_t learn_seconds; /* … and end it after so long; 0: when it ends */
    bool keep_flagged;      /* new content in flagged files stays, without asking */
    bool asks;              /* connections to hosts that no rule names wait for an answer */
    bool notifies;          /* report a tripwire at once … */
    const char *notify;     /* … with this command; "": on the desktop */
    const char *on_exit;    /* a command for the end, which the caller starts; NULL: none */
    bool (*may_begin)(
        void *context); /* is asked when the plan is made, before anything else begins; or NULL */
    int (*begun)(
        void *context, const char *session,
        struct err *err); /* is told the name of the session; if it fails, the run is refused; or NULL */
    void (*ended)(
        void *context);       /* the command has ended, and takes nothing that another could want; or NULL */
    void *watcher;            /* the context of all three */
    bool wants_changes;       /* the list of changed files will be read: finding it costs time */
    int rate_fd;              /* the table of a rate limit that runs share; 0: none */
    const char *const *verbs; /* bawn's own, for a mistyped one; ended by NULL. NULL: none */
    char *const *typed;       /* bawn's own arguments, ended by NULL */
    const char *trial_state;  /* for `bawn prove`: the folder of its temporary session; NULL: a real run */
    const char
        *trial_tree; /* for `bawn prove`: what is judged at the end; nothing of the user's is touched */
    const char *const *trial_command; /* for `bawn prove`: runs in the sandbox of `command` */
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

/* Finds home and folders, without a policy. Returns 0, or the exit status after saying what is wrong. */
int load_request(const struct caller *caller, struct loaded *loaded);

/* A path that the user typed, absolute. A home that is spelled through a symlink becomes the real one; no other link is resolved. */
const char *load_path(struct arena *arena, const struct policy_request *request, const char *typed);

/* Composes the policy that applies here. Mistakes are collected and not yet said. */
int load_policy(const struct caller *caller, const struct run_request *asked, struct loaded *loaded);

/* Composes the policy and makes the plan. Says mistakes; with an error among them, returns the exit status. */
int load_plan(const struct caller *caller, const struct run_request *asked, struct loaded *loaded);

/* Says the mistakes that load_policy collected. */
void load_say_diags(const struct speaker *speaker, const struct loaded *loaded);

/* The same as load_plan for another workspace. */
int load_there(const struct caller *caller, const char *workspace, struct loaded *loaded);

/* Reads a settings file of the user's, which has no rules. NULL if it is absent or larger than `most`. */
char *load_settings(const struct loaded *loaded, const char *name, size_t most);

/* Finds profiles of the user, the administrator and the program. */
struct profile_finder load_finder(struct loaded *loaded);

/* The folder of the content store. */
const char *load_store(const struct loaded *loaded, struct arena *arena);

void loaded_free(struct loaded *loaded);
#define auto_loaded __attribute__((cleanup(loaded_free)))
