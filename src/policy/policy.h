/*
 * The policy that applies here: the rules of all layers, put in their place on this machine and ready to be asked.
 *
 *   compose.c  reads every layer's text and follows `use`
 *   certificates.c  adds the caller's own certificate authorities
 *   place.c    turns what was written into absolute places: ~, $XDG…, $GIT, workspaces, symbolic links
 *   decide.c   says which rule decides a path, a host, a variable or a limit, and which it beat
 *
 * Files are read, nothing is written or run.
 */
#pragma once

#include "git/repo.h"
#include "kernel/fsview.h"
#include "policy/diag.h"
#include "policy/rule.h"

/* One rule of the command line, in the order in which they were given. */
struct argument {
    enum verb verb; /* VERB_NONE: `text` is a file of rules (--policy) */
    const char *text;
};

/* What is asked for, and by whom. All paths are absolute; `home` and `directory` hold no links. */
struct policy_request {
    struct fsview *fs;
    const char *home;
    const char *home_spelled;        /* as $HOME has it */
    const char *directory;           /* the caller's current one */
    const char *starts[START_COUNT]; /* HOME to RUNTIME; NULL where there is none */
    const char *const *command;      /* as it was typed, ended by NULL; NULL where there is none */
    const char *agent;               /* whose profile holds, whatever the command is: --agent, or NULL */
    const char *extra_policy;        /* BAWN_POLICY, or NULL */
    bool read_only;                  /* nothing of the host may be written, whatever the rules say */
    bool full_access;                /* everything of the host may be written that the caller may write */
    uint64_t memory;                 /* of this machine, in bytes: what a share is a share of */
    bool fresh_home;                 /* the private home is thrown away at the end */
    const char
        *workspace_remedy; /* what helps where there can be no workspace; NULL: --workspace does, too */
    const char *const *environment; /* the caller's, as NAME=VALUE, ended by NULL */
    const struct argument *arguments;
    size_t argument_count;
    bool (*is_trusted)(void *context, const char *workspace, const char *text, size_t size);
    void *trust_context;
};

struct workspace {
    const char *path; /* without links */
    const char *slug;
    const char *chosen_by; /* "--workspace", "current directory", … for messages */
    struct git_repo git;
    const struct source *own_policy; /* its .bawn, or NULL */
    bool is_trusted;
};

/* Every character but letters and digits becomes '-', as agents name their folders for a project. */
const char *workspace_slug(struct arena *arena, const char *path);

/* A path rule at a place of this machine. One rule may have several places. */
struct placed {
    const struct rule *rule;
    const char *path;    /* without links; a pattern where has_wildcard */
    const char *spelled; /* as the rule said it, made absolute */
    bool has_wildcard;
    const struct fs_place *found; /* NULL for a pattern */
    struct placed *next_here;     /* another one in the same chain of an index */
    const struct placed *next_of_rule;
};

/* A rule on hosts, in the chain of those with the same name, or of all addresses. */
struct host_rule {
    const struct rule *rule;
    struct host_rule *next;
};

/* Of agent_word: none. */
#define AGENT_UNSEEN SIZE_MAX

/* A file of certificates that a variable of the caller's names, and that no other rule shows. */
struct certificates {
    const char *variable, *path;
    const char *problem; /* why it is not shown, or NULL */
};

struct policy {
    struct arena *arena;
    struct policy_request request;
    VEC(struct workspace) workspaces;
    VEC(const struct source *) sources; /* in the order in which they were read */
    rule_list rules;
    fs_names profiles_in_use; /* not through a repository */
    const char *agent;        /* the profile that the command (or --agent) chose, or NULL */
    size_t agent_word;        /* which of the command's words is the agent */
    VEC(struct placed *) places;
    struct map by_path;      /* path → struct placed chain, of literal paths */
    struct map by_name;      /* last name → struct placed chain, of patterns where that is a plain one */
    struct map by_directory; /* fixed directory → struct placed chain, of the other patterns */
    struct map by_host;      /* "example.com", "*.example.com" → struct host_rule chain */
    struct host_rule *by_address;
    VEC(struct certificates) certificates;
    VEC(const struct rule *) env_rules, other_rules; /* those of limits and of the network's mode */
};

/* Does the rule count at all: not `unless` in vain, not a grant of a repository that is not trusted? */
bool policy_rule_counts(const struct policy *policy, const struct rule *rule);

/* A rule of a verb that only grants, from a repository that is not trusted. */
bool policy_rule_awaits_trust(const struct rule *rule);

/* Reads all layers. Mistakes are collected in diags; with errors in them the policy must not be acted upon. */
void policy_compose(const struct policy_request *request, struct arena *arena, struct policy *ret_policy,
                    struct diags *diags);
void policy_free(struct policy *policy);
