/*
 * The policy of a run: the rules of all layers, with their places on this machine.
 *
 *   compose.c       reads the text of every layer and follows `use`
 *   agent_folder.c  finds the folder that CLAUDE_CONFIG_DIR names
 *   certificates.c  adds certificate files that the caller's variables name
 *   place.c         makes absolute paths: ~, $XDG…, $GIT, workspaces, symlinks
 *   decide.c        finds the rule that decides a path, a host, a variable or a limit, and the rules it beat
 *
 * Reads files; writes and runs nothing.
 */
#pragma once

#include "git/repo.h"
#include "kernel/fsview.h"
#include "policy/diag.h"
#include "policy/rule.h"

/* One rule of the command line, in the order given. */
struct argument {
    enum verb verb; /* VERB_NONE: `text` is a file of rules (--policy) */
    const char *text;
};

/* The request. All paths are absolute; `home` and `directory` have no symlinks. */
struct policy_request {
    struct fsview *fs;
    const char *home;
    const char *home_spelled;        /* as in $HOME */
    const char *directory;           /* the caller's current directory */
    const char *starts[START_COUNT]; /* HOME to RUNTIME; NULL: not set */
    const char *const *command;      /* as typed, ended by NULL; NULL: no command */
    const char *agent;            /* use this agent's profile, whatever the command is (--agent); or NULL */
    const char *extra_policy;     /* BAWN_POLICY, or NULL */
    bool read_only;               /* no rule makes a path of the host writable */
    bool full_access;             /* everything that the caller may write is writable */
    uint64_t memory;              /* of this machine, in bytes, to compute shares */
    bool fresh_home;              /* the private home is removed at the end */
    bool is_exact;                /* a workspace is what is named, without the repository around it */
    const char *workspace_remedy; /* the hint if there can be no workspace; NULL: the default */
    const char
        *unlinked; /* a workspace that was found without symlinks: a link on the way is an error; or NULL */
    const char *const *environment;               /* of the caller, NAME=VALUE, ended by NULL */
    const char *(*own_path)(struct arena *arena); /* of bawn itself; NULL: not known */
    const char *no_vault; /* why secrets cannot stay outside on this machine; NULL: they can */
    const struct argument *arguments;
    size_t argument_count;
    bool (*is_trusted)(void *context, const char *workspace, const char *text, size_t size);
    void *trust_context;
};

/*
 * A project. Where --workspace names directories inside a repository, the workspace is the repository, and they are its
 * parts: the command may write the parts and the repository's git directory, and read the rest.
 */
struct workspace {
    const char *path;      /* without symlinks */
    fs_names parts;        /* none: all of it is writable */
    const char *slug;      /* of the first part, or of the workspace */
    const char *chosen_by; /* "--workspace", "current directory", … for messages */
    struct git_repo git;
    const struct source *own_policy; /* its .bawn, or NULL */
    bool is_trusted;
};

/* The file that the host would run for the command, as a shell where it starts would find it; NULL: none. */
struct policy;
const struct fs_place *policy_find_command(struct policy *policy, const char *command);

/* Replaces every character except letters and digits by '-', as agents do to name a project's directory. */
const char *workspace_slug(struct arena *arena, const char *path);

/* A path rule at a place on this machine. One rule may have several places. */
struct placed {
    const struct rule *rule;
    const char *path;    /* without symlinks; a pattern if has_wildcard */
    const char *spelled; /* the rule's path, made absolute */
    bool has_wildcard;
    const struct fs_place *found; /* NULL for a pattern */
    struct placed *next_here;     /* the next one in the same index entry */
    const struct placed *next_of_rule;
};

/* A rule on hosts, in the list of rules with the same name, or of all addresses. */
struct host_rule {
    const struct rule *rule;
    struct host_rule *next;
};

/* agent_word if no word is the agent. */
#define AGENT_UNSEEN SIZE_MAX

/* A certificate file that a variable of the caller names and that no other rule shows. */
struct certificates {
    const char *variable, *path;
    const char *problem; /* the reason why it is not shown, or NULL */
};

struct policy {
    struct arena *arena;
    struct policy_request request;
    VEC(struct workspace) workspaces;
    VEC(const struct source *) sources; /* in the order read */
    rule_list rules;
    rule_list
        without_forge; /* rules on requests whose {forge} stands for no repository here: they grant nothing */
    fs_names profiles_in_use; /* except through a repository */
    const char *agent;        /* chosen by the command or --agent, or NULL */
    size_t agent_word;        /* index of the agent among the command's words */
    VEC(struct placed *) places;
    struct map by_path; /* path → struct placed list, of literal paths */
    struct map by_name; /* last name → struct placed list, of patterns whose last name has no wildcard */
    struct map by_directory; /* fixed directory → struct placed list, of the other patterns */
    struct map by_host;      /* "example.com", "*.example.com" → struct host_rule list */
    struct host_rule *by_address;
    VEC(struct certificates) certificates;
    const char
        *folder_problem; /* why the caller's CLAUDE_CONFIG_DIR is not used; NULL: it is, or is not set */
    struct map *nested;  /* directory → struct git_repo, of repositories that were asked about */
    VEC(const struct rule *) env_rules, secret_rules, other_rules; /* other: limits and the network mode */
};

/* False if an `unless` cancels the rule, or if an untrusted repository grants with it. */
bool policy_rule_counts(const struct policy *policy, const struct rule *rule);

bool policy_is_workspace(const struct policy *policy, const char *path);

/* Does the path lie in a workspace, or is it one? */
bool policy_in_workspace(const struct policy *policy, const char *path);

/* The same for what the user named: without the rest of a repository of which only parts are writable. */
bool policy_in_named(const struct policy *policy, const char *path);

/* What the user named first: a part of a workspace, or a workspace. There must be one. */
const char *policy_first_named(const struct policy *policy);

/* Where the command starts: in the current directory if that is or lies in what the user named, else in the first of these. */
const char *policy_start(const struct policy *policy);

/* Is it a grant from an untrusted repository? */
bool policy_rule_awaits_trust(const struct rule *rule);

/* In bawn's state folder: the paths of the fleets that lie elsewhere, each with a NUL at its end. */
#define FLEETS_ELSEWHERE "bawn/fleets-elsewhere"
enum { FLEETS_ELSEWHERE_LARGEST = 1024 * 1024 };

/* Reads all layers. Mistakes are collected in diags; a policy with errors must not be used. */
void policy_compose(const struct policy_request *request, struct arena *arena, struct policy *ret_policy,
                    struct diags *diags);
void policy_free(struct policy *policy);
