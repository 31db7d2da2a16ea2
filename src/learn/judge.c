#include <inttypes.h>
#include <string.h>

#include "base/path.h"
#include "base/text.h"
#include "learn/parts.h"
#include "plan/plan.h"
#include "policy/decide.h"
#include "policy/parse.h"

static bool never(struct proposal *proposal, const char *why)
{
    proposal->class = PROPOSAL_NEVER;
    proposal->line = NULL;
    proposal->gives = why;
    return true;
}

/* --- the line ----------------------------------------------------------------------------------------------------- */

static const char *spell_path(const struct policy *policy, struct arena *arena, const struct proposal *path)
{
    const char *const homes[] = {policy->request.home, policy->request.home_spelled};
    const char *start = "", *rest = path->object;
    for (size_t i = 0; i < array_len(homes) && !*start; i++) {
        if (homes[i] && homes[i][1] && path_is_inside(path->object, homes[i])) {
            start = "~";
            rest = path->object + strlen(homes[i]);
        }
    }
    return arena_printf(arena, "%s%s%s", start, word_quote(arena, rest, false),
                        path->is_directory ? "/" : "");
}

void proposal_spell(const struct policy *policy, struct arena *arena, struct proposal *proposal)
{
    const char *object = verb_object(proposal->verb) == OBJECT_PATH ? spell_path(policy, arena, proposal)
                         : proposal->verb == VERB_CONNECT           ? proposal->object
                         : proposal->verb == VERB_LIMIT             ? proposal->object
                                                        : word_quote(arena, proposal->object, false);
    proposal->line = arena_printf(arena, "%s %s", verb_word(proposal->verb), object);
    struct source source = {.name = "learnt",
                            .text = proposal->line,
                            .size = strlen(proposal->line),
                            .layer = LAYER_USER,
                            .asked_by = LAYER_USER};
    struct diags diags = {.arena = arena};
    auto_vec rule_list rules = {0};
    parse_source(arena, &source, &rules, &diags);
    if (diags.errors || rules.count != 1)
        never(proposal, "a policy cannot name it");
    diags_free(&diags);
}

/* --- paths -------------------------------------------------------------------------------------------------------- */

/* Why a path must not be proposed. */
struct problem {
    const char *why; /* NULL: there is none */
    bool is_yours;   /* a line of the user's own policy gives it anyway */
};

/* "sealed by base.bawn:12" for a rule that refuses the path. */
static struct problem refusal_of(struct arena *arena, const struct path_verdict *verdict)
{
    const struct rule *rule = verdict->decides ? verdict->decides->rule : NULL;
    const char *how = !rule                       ? NULL
                      : rule->verb == VERB_SEAL   ? "sealed"
                      : rule->verb == VERB_HIDE   ? "hidden"
                      : rule->verb == VERB_FREEZE ? "frozen"
                      : rule->locked              ? "locked"
                                                  : NULL;
    return (struct problem){how ? arena_printf(arena, "%s by %s", how, rule_origin(arena, rule)) : NULL,
                            how && rule->verb == VERB_SEAL && !rule->locked};
}

/* A link that the command can replace, on the way to a place; NULL: none. */
static const char *changeable_link(const struct policy *policy, const struct fs_place *place)
{
    for (const struct fs_link *link = place->links; link; link = link->next) {
        enum access access = decide_path(policy, link->path, NULL).access;
        if (access == ACCESS_WRITE || access == ACCESS_FLAGGED)
            return link->path;
    }
    return NULL;
}

/* Why a whole directory is too much, or NULL. */
static const char *too_much(const struct policy *policy, const char *path)
{
    const struct policy_request *request = &policy->request;
    if (path_depth(path) < 2)
        return "a whole top-level directory: grant what is needed in it";
    if (path_is_beneath(request->home, path))
        return "it contains your home directory: grant what is needed in it";
    for (size_t i = 0; i < policy->workspaces.count; i++) {
        if (path_is_inside(policy->workspaces.at[i].path, path))
            return "it contains the workspace, and whatever lies beside it";
    }
    for (enum path_start start = START_CONFIG; start <= START_RUNTIME; start++) {
        if (request->starts[start] && path_is_beneath(request->starts[start], path))
            return "all programs keep their files there: grant what is needed in it";
    }
    return NULL;
}

/* Why nobody should let a command write there, by the path as it is spelled, each link on the way and where it really is; or NULL. */
static const char *runs_outside(struct judge *judge, const char *spelled, const struct fs_place *place)
{
    bool is_directory = place->kind == FILE_DIRECTORY;
    const char *why = judge_used_outside(judge, place->real, is_directory);
    if (!why)
        why = judge_used_outside(judge, spelled, is_directory);
    for (const struct fs_link *link = place->links; link && !why; link = link->next)
        why = judge_used_outside(judge, link->path, is_directory);
    return !why && is_directory ? judge_used_within(judge, place->real) : why;
}

static struct problem problem_with(struct judge *judge, enum verb verb, const char *spelled,
                                   const struct fs_place *place)
{
    const struct policy *policy = judge->policy;
    const struct path_verdict verdict = decide_path(policy, place->real, NULL);
    struct problem problem = refusal_of(judge->arena, &verdict);
    const char *link = changeable_link(policy, place);
    const char *whole = place->kind == FILE_DIRECTORY ? too_much(policy, place->real) : NULL;
    if (link)
        return (struct problem){
            .why = arena_printf(judge->arena, "leads to %s through a symlink that the command can change: %s",
                                place->real, link)};
    if (problem.why || whole)
        return problem.why ? problem : (struct problem){.why = whole};
    problem = (struct problem){judge_unused_seal(judge, place->real), true};
    if (!problem.why && verb == VERB_WRITE)
        problem.why = runs_outside(judge, spelled, place);
    return problem;
}

bool judge_may_propose(struct judge *judge, enum verb verb, const char *path)
{
    const struct fs_place *place = NULL;
    struct err ignored;
    return fs_resolve(judge->policy->request.fs, path, &place, &ignored) == 0 &&
           place->kind == FILE_DIRECTORY && !problem_with(judge, verb, path, place).why;
}

/* SQLite makes files beside the one that it writes; a file that describes a module is of no use without the module. */
static bool needs_directory(const struct proposal *proposal)
{
    static const char *const databases[] = {".db", ".db3", ".sqlite", ".sqlite3"};
    static const char *const modules[] = {"go.mod", "Cargo.toml", "package.json", "pyproject.toml"};
    const char *name = path_name(proposal->object);
    for (size_t i = 0; proposal->verb == VERB_WRITE && i < array_len(databases); i++) {
        if (text_ends_with(name, databases[i]))
            return true;
    }
    return proposal->verb == VERB_READ && text_is_among(name, modules, array_len(modules));
}

/* The C library looks for these in every program, and needs none of them. */
static bool is_of_libc(const char *path)
{
    static const char *const paths[] = {"/usr/share/locale/locale.alias", "/etc/ld.so.preload",
                                        "/var/run/nscd/socket", "/run/nscd/socket"};
    return text_is_among(path, paths, array_len(paths));
}

/* Is the want fulfilled by what the policy gives? */
static bool is_given(const struct policy *policy, enum verb verb, const struct fs_place *place)
{
    enum access access = decide_path(policy, place->real, NULL).access;
    if (verb == VERB_WRITE)
        return access == ACCESS_WRITE || access == ACCESS_FLAGGED || policy->request.read_only;
    if (verb == VERB_SOCKET)
        return access == ACCESS_SOCKET;
    return access > ACCESS_SIFT;
}

/*
 * The place that a rule would have to name: of a path to be made, the directory that exists. ret_wanted is
 * the path itself, without the links on the way to that.
 */
static bool find_place(const struct judge *judge, struct proposal *proposal,
                       const struct fs_place **ret_place, const char **ret_wanted)
{
    const struct fs_place *place = NULL;
    struct err ignored;
    const char *path = proposal->object;
    do {
        if (fs_resolve(judge->policy->request.fs, path, &place, &ignored) < 0 || place->kind == FILE_UNKNOWN)
            return false;
        if (place->kind != FILE_MISSING)
            break;
        path = path_parent(judge->arena, path);
    } while (proposal->verb == VERB_WRITE && path[1]);
    if (place->kind == FILE_MISSING)
        return false;
    *ret_wanted = path_moved(judge->arena, proposal->object, path, place->real);
    proposal->object = path;
    proposal->is_directory = place->kind == FILE_DIRECTORY;
    *ret_place = place;
    return true;
}

/* A database or a module is proposed with its directory, if that can be proposed. */
static void take_directory(struct judge *judge, struct proposal *proposal, const struct fs_place **place)
{
    const char *parent = path_parent(judge->arena, proposal->object);
    const struct fs_place *whole = NULL;
    struct err ignored;
    if (proposal->is_directory || !needs_directory(proposal) ||
        !judge_may_propose(judge, proposal->verb, parent) ||
        fs_resolve(judge->policy->request.fs, parent, &whole, &ignored) < 0)
        return;
    proposal->object = parent;
    proposal->is_directory = true;
    *place = whole;
}

/* Lists the path, with what a person writes who wants it anyway. */
static bool refuse(const struct judge *judge, struct proposal *proposal, struct problem problem)
{
    if (problem.is_yours)
        proposal_spell(judge->policy, judge->arena, proposal);
    proposal->by_hand = problem.is_yours ? proposal->line : NULL;
    return never(proposal, problem.why);
}

static bool judge_path(struct judge *judge, const struct want *want, struct proposal *proposal)
{
    const struct fs_place *place = NULL;
    const char *wanted = NULL;
    proposal->verb = want->kind >= WANT_WRITE ? VERB_WRITE : VERB_READ;
    if (want->kind == WANT_DECOY)
        return never(proposal, "a decoy stands in its place");
    if (*want->object != '/' || is_of_libc(want->object))
        return false;
    proposal->object = path_clean(judge->arena, "/", want->object);
    struct proposal asked = *proposal;
    if (!find_place(judge, proposal, &place, &wanted))
        return false;
    if (place->kind == FILE_SOCKET)
        proposal->verb = VERB_SOCKET;
    else if (want->kind == WANT_SOCKET)
        return false;
    if (is_given(judge->policy, proposal->verb, place))
        return false;
    struct problem problem = {.is_yours = true};
    if (proposal->verb == VERB_WRITE && strcmp(wanted, place->real) != 0)
        problem.why = judge_used_outside(judge, wanted, false);
    if (problem.why) {
        *proposal = asked;
    } else {
        take_directory(judge, proposal, &place);
        problem = problem_with(judge, proposal->verb, proposal->object, place);
    }
    if (problem.why)
        return refuse(judge, proposal, problem);
    if (want->kind == WANT_LOOK && want->ending != WANT_FAILED)
        proposal->class = PROPOSAL_PROBE;
    proposal_spell(judge->policy, judge->arena, proposal);
    return true;
}

/* --- hosts and limits ------------------------------------------------------------------------------------------------ */

static bool judge_host(const struct policy *policy, struct arena *arena, const struct want *want,
                       struct proposal *proposal)
{
    struct host_object host;
    const char *problem = NULL, *hint = NULL;
    uint16_t port = want->port ? want->port : PORT_HTTPS;
    proposal->verb = VERB_CONNECT;
    proposal->object = host_with_port(arena, want->object, want->port == PORT_HTTPS ? 0 : want->port);
    if (host_parse_target(arena, proposal->object, &host, &problem, &hint) < 0)
        return never(proposal, "not a name or an address that a rule can have");
    const struct rule *decides = decide_host(policy, &host, port, NULL).decides;
    if (decides && decides->verb == VERB_CONNECT)
        return false;
    if (decides)
        return never(proposal, arena_printf(arena, "refused by %s", rule_origin(arena, decides)));
    problem = host_problem_with_grant(arena, &host, &hint);
    if (decide_host_lock(policy, &host))
        problem = "an administrator's lock keeps it shut";
    if (problem)
        return never(proposal, problem);
    proposal->gives =
        arena_printf(arena, "the command can send what it can read to %s%s", want->object,
                     want->port ? "" : "; the name was refused before a port was known, 443 is assumed");
    proposal_spell(policy, arena, proposal);
    return true;
}

static bool judge_limit(const struct policy *policy, struct arena *arena, const struct want *want,
                        struct proposal *proposal)
{
    enum limit limit = 0;
    while (limit < LIMIT_COUNT && strcmp(limit_name(limit), want->object) != 0)
        limit++;
    const struct rule *rule = limit < LIMIT_COUNT ? decide_limit(policy, limit, NULL).decides : NULL;
    if (!rule || rule->limit.most == 0 || rule->limit.most >= UINT64_MAX / 2)
        return false;
    proposal->verb = VERB_LIMIT;
    if (rule->locked)
        return never(proposal, arena_printf(arena, "locked by %s", rule_origin(arena, rule)));
    proposal->object =
        arena_printf(arena, "%s=%s", limit_name(limit), limit_text(arena, limit, rule->limit.most * 2));
    proposal->gives = "twice as much of this machine as now";
    proposal_spell(policy, arena, proposal);
    return true;
}

static bool judge_variable(const struct policy *policy, struct arena *arena, const struct want *want,
                           struct proposal *proposal)
{
    const struct rule *decides = decide_env(policy, want->object, NULL).decides;
    proposal->verb = VERB_ENV;
    if (decides && decides->verb == VERB_ENV)
        return false;
    if (decides)
        return never(proposal, arena_printf(arena, "unset by %s", rule_origin(arena, decides)));
    if (secret_is_name(want->object, strlen(want->object)))
        return never(proposal,
                     "its name says that it is a secret: pass it yourself if it must be, with --env");
    proposal->class = PROPOSAL_WENT_ON; /* that it is named does not say that it is needed */
    proposal->gives = "a file that was opened names it; every program inside can read its value";
    proposal_spell(policy, arena, proposal);
    return true;
}

bool judge_want(struct judge *judge, const struct want *want, struct proposal *ret_proposal)
{
    const struct policy *policy = judge->policy;
    struct arena *arena = judge->arena;
    *ret_proposal = (struct proposal){
        .class = want->ending == WANT_WENT_ON ? PROPOSAL_WENT_ON : PROPOSAL_NEEDED,
        .object = arena_str(arena, want->object),
        .program = arena_str(arena, want->program),
        .ending = want->ending,
        .times = want->times,
        .wanted = 1,
        .is_look = want->kind == WANT_LOOK,
    };
    switch (want->kind) {
    case WANT_HOST:
        return judge_host(policy, arena, want, ret_proposal);
    case WANT_LIMIT:
        return judge_limit(policy, arena, want, ret_proposal);
    case WANT_VARIABLE:
        return judge_variable(policy, arena, want, ret_proposal);
    default:
        return judge_path(judge, want, ret_proposal);
    }
}
