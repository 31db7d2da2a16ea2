/*
 * Decides which rule applies. The most specific path wins; at the same path the later layer; in the same layer the later line.
 * Locks, seals, the user's own `hide` and untrusted repositories change that: see docs/POLICY.md.
 */
#pragma once

#include "base/names.h"
#include "policy/policy.h"

struct asked_request; /* policy/request.h */

/* What may be done with a path, least first. An untrusted repository counts only if it gives less. */
#define ACCESSES(X)                                                                                          \
    X(ACCESS_NONE, "hidden")                                                                                 \
    X(ACCESS_SIFT, "sift")                                                                                   \
    X(ACCESS_READ, "read")                                                                                   \
    X(ACCESS_FROZEN, "frozen")                                                                               \
    X(ACCESS_COPY, "copy")                                                                                   \
    X(ACCESS_SEED, "seed")                                                                                   \
    X(ACCESS_SYNC, "sync")                                                                                   \
    X(ACCESS_SOCKET, "socket")                                                                               \
    X(ACCESS_FLAGGED, "flagged")                                                                             \
    X(ACCESS_WRITE, "write")

enum access { ACCESSES(ID_OF) };

const char *access_name(enum access value);

/* Why a rule did not decide. */
#define LOSSES(X)                                                                                            \
    X(LOSS_NONE, "")                                                                                         \
    X(LOSS_LESS_SPECIFIC, "is less specific")                                                                \
    X(LOSS_EARLIER_LAYER, "comes from a weaker layer")                                                       \
    X(LOSS_EARLIER_LINE, "is earlier in the same layer")                                                     \
    X(LOSS_LOCKED, "is overridden by the administrator's lock")                                              \
    X(LOSS_SEALED, "is overridden by a seal, which no profile or repository opens")                          \
    X(LOSS_HIDDEN, "is overridden by the user's own hide")                                                   \
    X(LOSS_UNTRUSTED, "would grant access, and the repository is not trusted")                               \
    X(LOSS_PROFILE_TREE, "does not apply in a directory that a profile grants")                              \
    X(LOSS_FROZEN, "is overridden by the freeze around it")                                                  \
    X(LOSS_NOT_WRITABLE, "applies only in a writable directory")                                             \
    X(LOSS_REFUSED, "is overridden by a `refuse` for this request")                                          \
    X(LOSS_NARROWED, "is narrowed by a later layer's `connect` with a path")

enum loss { LOSSES(ID_OF) };

const char *loss_text(enum loss value);

struct candidate {
    const struct rule *rule;
    const struct placed *placed; /* NULL for hosts and variables */
    size_t specificity;          /* for paths: the depth at which the rule matches */
    bool is_literal;
    enum loss loss;
};

typedef VEC(struct candidate) candidate_list;

struct path_verdict {
    enum access access;
    const struct placed *decides; /* NULL: no rule matches */
    const struct placed *grants;  /* the grant that a freeze or a flag modifies; else `decides` */
    /* The flag that applies, or would without a hide or an untrusted repository's `read`: new content is asked about. */
    const struct placed *flagged_by;
};

/* The path is absolute, without symlinks. Every rule that matches is added to `candidates`, which may be NULL. */
struct path_verdict decide_path(const struct policy *policy, const char *path, candidate_list *candidates);

/*
 * nested.c: what leads to the path in a repository that lies in a workspace and has no rules of its own: ".git/hooks/pre-commit of lib".
 * NULL where nothing does. Only what lies in that repository's own work tree is known.
 */
const char *decide_nested_cause(const struct policy *policy, const char *path);

/* Decides as if one rule did not exist; with NULL, as if no grant led here through a symlink. */
struct path_verdict decide_path_without(const struct policy *policy, const char *path,
                                        const struct rule *left_out);

/* Collects every rule that matches the path or a directory above it, deepest first. */
void decide_collect(const struct policy *policy, const char *path, candidate_list *candidates);

/* The access that the rule gives if it decides. */
enum access access_of_rule(const struct rule *rule);

struct verdict {
    const struct rule *decides; /* NULL: no rule matches */
};

/* May a host be reached at a port? VERB_CONNECT or VERB_REFUSE decides. Ignores the network mode. */
struct verdict decide_host(const struct policy *policy, const struct host_object *host, uint16_t port,
                           candidate_list *candidates);

/* Every rule about the host at the port, those on requests too. */
void decide_collect_hosts(const struct policy *policy, const struct host_object *host, uint16_t port,
                          candidate_list *candidates);

/* --- decide_request.c --- */

/*
 * May the request be made? Only where decide_judges_requests says that rules decide about each one. VERB_CONNECT or VERB_REFUSE decides;
 * NULL: no rule allows it.
 */
struct verdict decide_request(const struct policy *policy, const struct host_object *host, uint16_t port,
                              const struct asked_request *request, candidate_list *candidates);

/* Has a rule on requests something to say about the host at the port? Then TLS ends at the vault, and each request is judged. */
bool decide_judges_requests(const struct policy *policy, const struct host_object *host, uint16_t port);

/* The administrator's lock that keeps the host shut at its port, or NULL. */
const struct rule *decide_host_lock(const struct policy *policy, const struct host_object *host);

/* Does a variable pass (VERB_ENV) or not (VERB_UNSET)? */
struct verdict decide_env(const struct policy *policy, const char *name, candidate_list *candidates);

/* The rule of the latest layer about a setting; NULL: there is none. */
const struct rule *decide_setting(const struct policy *policy, enum verb verb);

/* Is a setting on? The rule of the latest layer says so; without one it is as `otherwise` says. */
bool decide_switch(const struct policy *policy, enum verb verb, bool otherwise);

struct verdict decide_limit(const struct policy *policy, enum limit limit, candidate_list *candidates);
/* The rule that keeps the variable's value outside; NULL: none does, or `secrets inside` lets it in. */
const struct rule *decide_secret(const struct policy *policy, const char *name);

/* Does the rule about a forge apply? Where the administrator has locked one for the same repository, only the administrator's do. */
bool decide_forge_counts(const struct policy *policy, const struct rule *rule);

/* Does the rule about a key apply? A key can be written in two ways, so one locked rule of the administrator's ends all rules of others. */
bool decide_ssh_key_counts(const struct policy *policy, const struct rule *rule);

/* The login file of the rule, without symlinks; NULL: there is none, it lacks the rule's entry, or the rule is for a variable. */
const char *secret_login_file(const struct policy *policy, const struct secret_object *secret);

/* The file of the host's that has the secret, without symlinks; NULL: its source is no file. */
const char *secret_source_file(const struct policy *policy, const struct secret_object *secret);

/* "in query key in body": the places in a request that the rule names; "": none, which means the usual headers. */
const char *secret_carriers_text(struct arena *arena, const struct secret_object *secret);

/* Why a rule for a secret does not hold here, so that the value passes as `env` says; NULL: it holds, or `secrets inside` was asked for. */
const char *decide_secret_yields(const struct policy *policy, const struct rule *rule);

struct verdict decide_net(const struct policy *policy, candidate_list *candidates);

/*
 * The rule that makes a directory on the way to `path` a build directory; with `itself`, also the last name. `path` is relative
 * to its workspace. NULL: none.
 */
const struct rule *decide_artifacts(const struct policy *policy, const char *path, bool itself);

/* How much a rule on a host, a variable, a limit or the network gives, to compare two rules on the same object. */
uint64_t amount_given(const struct rule *rule);

struct fate {
    enum loss loss;  /* why it does not decide; LOSS_NONE: it does */
    bool gives_less; /* less than the rule that decides instead */
};

/* Does an untrusted repository ask for more with this rule than it gets before `bawn trust`? */
bool rule_is_held_back(const struct policy *policy, const struct rule *rule);

struct fate rule_fate(const struct policy *policy, const struct rule *rule);

/* Shared by decide.c and decide_path.c. */

/* Does a decide over b? */
bool candidate_beats(const struct candidate *a, const struct candidate *b);

/* Why b lost to a. */
enum loss loss_between(const struct candidate *winner, const struct candidate *loser);
