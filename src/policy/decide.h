/*
 * Which rule decides. The most specific path wins, at the same path the later layer, in the same layer the later line;
 * locks, seals, the user's own `hide` and repositories that are not trusted change that as docs/POLICY.md says.
 */
#pragma once

#include "base/names.h"
#include "policy/policy.h"

/* What may be done with a path, least first: a repository that is not trusted counts only where it gives less. */
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
    X(LOSS_EARLIER_LINE, "stands earlier in the same layer")                                                 \
    X(LOSS_LOCKED, "is shut out by the administrator's lock")                                                \
    X(LOSS_SEALED, "is shut out by a seal, which no profile and no repository opens")                        \
    X(LOSS_HIDDEN, "is shut out by the user's own hide")                                                     \
    X(LOSS_UNTRUSTED, "would widen, and the repository is not trusted")                                      \
    X(LOSS_PROFILE_TREE, "does not reach into a tree that a profile grants")                                 \
    X(LOSS_FROZEN, "is beaten by the freeze around it")                                                      \
    X(LOSS_NOT_WRITABLE, "holds only inside a writable tree")

enum loss { LOSSES(ID_OF) };

const char *loss_text(enum loss value);

struct candidate {
    const struct rule *rule;
    const struct placed *placed; /* NULL for hosts and variables */
    size_t specificity;          /* for paths the depth at which the rule matches */
    bool is_literal;
    enum loss loss;
};

typedef VEC(struct candidate) candidate_list;

struct path_verdict {
    enum access access;
    const struct placed *decides; /* NULL: no rule reaches here */
    const struct placed *grants;  /* the grant that a freeze or a flag modifies; else the same as `decides` */
    const struct placed
        *flagged_by; /* by what holds, or would if nothing hid the place and no repository that is not
                                        trusted made it read-only: what is new there is settled; NULL: by nothing */
};

/* The path is absolute and without links. `candidates` may be NULL; else every rule that reaches here is added. */
struct path_verdict decide_path(const struct policy *policy, const char *path, candidate_list *candidates);

/* The same, as if one rule were not there; with NULL, as if no grant led here through a link. */
struct path_verdict decide_path_without(const struct policy *policy, const char *path,
                                        const struct rule *left_out);

/* Every rule that reaches the path: those at it, and at each directory above it, deepest first. */
void decide_collect(const struct policy *policy, const char *path, candidate_list *candidates);

/* What the rule would give at its place, if it decided. */
enum access access_of_rule(const struct rule *rule);

struct verdict {
    const struct rule *decides; /* NULL: no rule reaches here */
};

/* Whether a host may be reached at a port: VERB_CONNECT or VERB_REFUSE decides. Does not ask for the mode. */
struct verdict decide_host(const struct policy *policy, const struct host_object *host, uint16_t port,
                           candidate_list *candidates);

/* Whether a variable passes (VERB_ENV) or not (VERB_UNSET). */
struct verdict decide_env(const struct policy *policy, const char *name, candidate_list *candidates);

struct verdict decide_limit(const struct policy *policy, enum limit limit, candidate_list *candidates);
struct verdict decide_net(const struct policy *policy, candidate_list *candidates);

/*
 * The rule that counts a folder on the way to a path, relative to its workspace, among those that builds make; `itself`: or what
 * lies there. NULL where none does.
 */
const struct rule *decide_artifacts(const struct policy *policy, const char *path, bool itself);

/* How much a rule on a host, a variable, a limit or the network gives: to compare two that could decide the same. */
uint64_t amount_given(const struct rule *rule);

struct fate {
    enum loss loss;  /* why it does not decide where it was written for; LOSS_NONE: it does */
    bool gives_less; /* than the rule that decides in its place */
};

/* Does a repository ask for more with this rule than it gets until `bawn trust`? */
bool rule_is_held_back(const struct policy *policy, const struct rule *rule);

struct fate rule_fate(const struct policy *policy, const struct rule *rule);

/* decide.c and decide_path.c share these. */

/* Does a decide over b? */
bool candidate_beats(const struct candidate *a, const struct candidate *b);

/* Why b lost to a. */
enum loss loss_between(const struct candidate *winner, const struct candidate *loser);
