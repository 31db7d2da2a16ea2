/* Makes operations on paths from a policy: one for every place where the access changes. */
#include <string.h>

#include "base/path.h"
#include "base/pattern.h"
#include "base/text.h"
#include "plan/plan.h"
#include "plan/steps.h"
#include "policy/decide.h"
#include "policy/sift.h"

/* Every sandbox has its own, whatever the policy says. */
static const char *const private_places[] = {"/dev", "/dev/shm", "/proc", "/run", "/tmp", "/var/tmp"};

/* With full access only the processes, and /proc, are the sandbox's own. */
static void add_host(struct plan *plan)
{
    plan_add(plan, (struct operation){.kind = OP_HOST, .path = "/", .is_directory = true});
    plan_add(plan, (struct operation){.kind = OP_PRIVATE, .path = "/proc"});
}

/* Without namespaces the host's own is there: some devices of /dev, and /proc. */
static bool is_shown_in_part(const char *place)
{
    return strcmp(place, "/dev") == 0 || strcmp(place, "/proc") == 0;
}

static void add_fixed(struct plan *plan)
{
    const struct policy_request *request = &plan->policy->request;
    for (size_t i = 0; i < array_len(private_places); i++) {
        if (plan->request.on == ON_NAMESPACES || is_shown_in_part(private_places[i]))
            plan_add(plan, (struct operation){.kind = OP_PRIVATE, .path = private_places[i]});
    }
    const char *agent = plan->policy->agent ? path_name(plan->policy->agent) : "other";
    const char *source = request->fresh_home ? NULL : plan_home(plan->policy, agent);
    /* Such a home has links where one with namespaces has mounts. */
    if (source && plan->request.on == ON_LANDLOCK)
        source = arena_printf(plan->policy->arena, "%s-landlock", source);
    plan_add(plan, (struct operation){.kind = OP_HOME, .path = request->home, .source = source});
}

static int compare_places(const void *a, const void *b)
{
    return path_compare((*(struct placed *const *)a)->path, (*(struct placed *const *)b)->path);
}

static bool is_tree(enum access access)
{
    return access == ACCESS_READ || access == ACCESS_COPY || access == ACCESS_SEED ||
           access == ACCESS_FROZEN || access >= ACCESS_FLAGGED;
}

static bool is_writable(enum access access)
{
    return access == ACCESS_WRITE || access == ACCESS_FLAGGED;
}

/* The operation for a place, given the access there and in its directory. Returns false if none is needed. */
static bool operation_for(const struct policy *policy, const struct placed *placed,
                          const struct path_verdict *here, enum access around,
                          struct operation *ret_operation)
{
    const struct placed *decides = here->decides;
    *ret_operation = (struct operation){0};
    if (!decides)
        return false;
    bool missing = placed->found->kind == FILE_MISSING;
    bool said_directory = decides->rule->path.is_directory;
    struct operation operation = {
        .because = decides->rule,
        .path = placed->path,
        .is_directory = placed->found->kind == FILE_DIRECTORY,
        .missing = missing,
    };
    bool needed = false;
    switch (here->access) {
    case ACCESS_NONE:
        /* A hidden path that could be made inside must not appear either. */
        operation.kind = missing ? OP_FREEZE : OP_HIDE;
        needed = missing ? is_writable(around) : is_tree(around);
        break;
    case ACCESS_READ:
        operation.kind = OP_BIND_READ;
        operation.is_workspace =
            decides->rule->verb == VERB_WORKSPACE ||
            (policy_is_workspace(policy, placed->path) && !policy_in_named(policy, placed->path));
        if (missing)
            operation.kind = OP_FREEZE;
        needed = missing ? is_writable(around) : around != ACCESS_READ || operation.is_workspace;
        break;
    case ACCESS_WRITE:
        operation.kind = OP_BIND_WRITE;
        operation.is_workspace = decides->rule->verb == VERB_WORKSPACE;
        operation.make = missing && said_directory && strcmp(decides->path, placed->path) == 0;
        operation.is_directory |= operation.make;
        needed = operation.make || (!missing && (around != ACCESS_WRITE || operation.is_workspace));
        break;
    case ACCESS_FROZEN:
    case ACCESS_FLAGGED:
        operation.kind = here->access == ACCESS_FROZEN ? OP_FREEZE : OP_FLAG;
        operation.is_directory |= said_directory;
        needed = around != here->access;
        break;
    case ACCESS_SEED:
        operation.kind = OP_SEED;
        needed = operation.is_directory && around != ACCESS_SEED;
        break;
    case ACCESS_COPY:
    case ACCESS_SIFT:
    case ACCESS_SYNC:
        operation.kind = here->access == ACCESS_COPY   ? OP_COPY
                         : here->access == ACCESS_SIFT ? OP_SIFT
                                                       : OP_SYNC;
        operation.path = decides->spelled;
        operation.source = placed->path;
        if (here->access == ACCESS_SIFT)
            operation.elsewhere = sifted_destination(operation.path, policy->request.home);
        needed = around != here->access && (!missing || here->access == ACCESS_SYNC);
        break;
    case ACCESS_SOCKET:
        operation.kind = OP_SOCKET;
        needed = !missing;
        break;
    }
    *ret_operation = operation;
    return needed;
}

/* Adds the symlinks on the way to a granted place, if their directory is not visible. */
static void add_links(struct plan *plan, const struct rule *because, const struct fs_link *links,
                      struct map *known)
{
    for (const struct fs_link *link = links; link; link = link->next) {
        void **slot = map_at(known, link->path, strlen(link->path));
        const char *directory = path_parent(plan->policy->arena, link->path);
        if (*slot || is_tree(decide_path(plan->policy, directory, NULL).access))
            continue;
        *slot = (void *)link;
        plan_add(plan, (struct operation){
                           .kind = OP_LINK, .because = because, .path = link->path, .source = link->target});
    }
}

typedef VEC(struct placed *) place_list;

/* A rule for a missing path matters if it makes the path, or if the path could be made inside. */
static bool matters_when_missing(const struct placed *placed, const place_list *trees)
{
    enum verb verb = placed->rule->verb;
    if (verb == VERB_WRITE || verb == VERB_SYNC || verb == VERB_FREEZE || verb == VERB_FLAG)
        return true;
    for (size_t i = 0; i < trees->count; i++) {
        if (path_is_beneath(placed->path, trees->at[i]->path))
            return true;
    }
    return false;
}

/* The verdict in a directory, remembered: thousands of places lie in a few hundred directories. */
static const struct path_verdict *verdict_in(const struct policy *policy, const char *directory,
                                             struct map *known)
{
    void **slot = map_at(known, directory, strlen(directory));
    if (!*slot) {
        struct path_verdict *verdict = arena_new(policy->arena, struct path_verdict);
        *verdict = decide_path(policy, directory, NULL);
        *slot = verdict;
    }
    return *slot;
}

/* The access around a place, as far as it decides the access there. Files that only root may read are given by another rule. */
static enum access access_around(const struct plan *plan, const struct placed *placed,
                                 const struct path_verdict *here, struct map *known)
{
    if (!placed->path[1])
        return ACCESS_NONE;
    const char *directory = path_parent(plan->policy->arena, placed->path);
    const struct path_verdict *around = verdict_in(plan->policy, directory, known);
    bool gives_more = here->access == ACCESS_READ && around->access == ACCESS_READ &&
                      plan_is_public(plan, around->decides->rule, directory) &&
                      !plan_is_public(plan, here->decides->rule, placed->path);
    return gives_more ? ACCESS_NONE : around->access;
}

/* Collects the places that may need an operation, sorted so that a directory comes before its entries. */
static void collect_points(const struct policy *policy, place_list *ret_points)
{
    auto_vec place_list trees = {0};
    for (size_t i = 0; i < policy->places.count; i++) {
        enum verb verb = policy->places.at[i]->rule->verb;
        if (verb == VERB_WORKSPACE || verb == VERB_WRITE)
            vec_push(&trees, policy->places.at[i]);
    }
    for (size_t i = 0; i < policy->places.count; i++) {
        struct placed *placed = policy->places.at[i];
        if (!placed->has_wildcard &&
            (placed->found->kind != FILE_MISSING || matters_when_missing(placed, &trees)))
            vec_push(ret_points, placed);
    }
    if (ret_points->count)
        qsort(ret_points->at, ret_points->count, sizeof(*ret_points->at), compare_places);
}

/* Would a pattern decide here without a literal rule? */
static bool beats_a_pattern(const candidate_list *candidates)
{
    for (size_t i = 0; i < candidates->count; i++) {
        if (!candidates->at[i].is_literal && candidates->at[i].loss != LOSS_NONE)
            return true;
    }
    return false;
}

/* Adds operations for literal paths. */
static void add_places(struct plan *plan)
{
    const struct policy *policy = plan->policy;
    auto_vec place_list points = {0};
    collect_points(policy, &points);
    struct map known_links = {0}, known_directories = {0};
    const struct fs_place *home = NULL;
    struct err ignored;
    if (fs_resolve(policy->request.fs, policy->request.home_spelled, &home, &ignored) == 0)
        add_links(plan, NULL, home->links, &known_links);
    for (size_t i = 0; i < points.count; i++) {
        const struct placed *placed = points.at[i];
        bool is_first = i == 0 || strcmp(points.at[i - 1]->path, placed->path) != 0;
        if (!is_first && !placed->found->links)
            continue;
        auto_vec candidate_list candidates = {0};
        struct path_verdict here = decide_path(policy, placed->path, &candidates);
        bool beats_pattern = beats_a_pattern(&candidates);
        if (here.decides == placed &&
            (here.access == ACCESS_READ || here.access == ACCESS_SEED || here.access >= ACCESS_SOCKET))
            add_links(plan, placed->rule, placed->found->links, &known_links);
        enum access around = access_around(plan, placed, &here, &known_directories);
        struct operation operation;
        if (!is_first)
            continue;
        /* A tree that is frozen or flagged as a whole must be shown first. */
        bool modified =
            here.decides != here.grants && here.grants && strcmp(here.grants->path, placed->path) == 0;
        if (modified) {
            struct path_verdict plain = {ACCESS_WRITE, here.grants, here.grants};
            if (operation_for(plan->policy, placed, &plain, around, &operation))
                plan_add(plan, operation);
        }
        /* An exception from a pattern is named in the plan. */
        bool excepted = beats_pattern && here.decides && strcmp(here.decides->path, placed->path) == 0;
        if (operation_for(plan->policy, placed, &here, modified ? ACCESS_WRITE : around, &operation) ||
            excepted)
            plan_add(plan, operation);
    }
    map_free(&known_links);
    map_free(&known_directories);
}

/* A tree that is visible inside. */
struct visible {
    const char *path;
    bool is_writable, is_workspace, is_of_profile;
};

typedef VEC(struct visible) visible_list;

static void collect_visible(const struct plan *plan, visible_list *ret_visible)
{
    vec_each (const struct operation, operation, &plan->operations) {
        bool writes = operation->kind == OP_BIND_WRITE;
        if (operation_shows(operation) || operation->kind == OP_COPY)
            vec_push(ret_visible,
                     (struct visible){operation->kind == OP_COPY ? operation->source : operation->path,
                                      writes, operation->is_workspace,
                                      operation->kind != OP_COPY && operation->is_of_profile});
    }
}

/* Can the pattern match a visible path (for a flag, a writable one)? */
static bool reaches(const struct placed *placed, const visible_list *visible)
{
    bool is_flag = placed->rule->verb == VERB_FLAG;
    bool spares_workspaces = text_equal(placed->rule->unless, "workspace");
    bool spares_profiles = !is_flag && placed->rule->source->is_profile && pattern_is_deep(placed->path);
    vec_each (const struct visible, tree, visible) {
        if ((is_flag && !tree->is_writable) || (spares_profiles && tree->is_of_profile) ||
            (spares_workspaces && tree->is_workspace))
            continue;
        if (pattern_may_match_beneath(placed->path, tree->path))
            return true;
    }
    return false;
}

static void add_patterns(struct plan *plan)
{
    auto_vec visible_list visible = {0};
    collect_visible(plan, &visible);
    for (size_t i = 0; i < plan->policy->places.count; i++) {
        const struct placed *placed = plan->policy->places.at[i];
        if (!placed->has_wildcard || !reaches(placed, &visible))
            continue;
        plan_add(plan, (struct operation){
                           .kind = placed->rule->verb == VERB_FLAG ? OP_FLAG : OP_HIDE,
                           .because = placed->rule,
                           .path = placed->path,
                           .is_pattern = true,
                           .is_directory = placed->rule->path.is_directory,
                           .spares_workspaces = text_equal(placed->rule->unless, "workspace"),
                       });
    }
}

/* Does the plan show, hide or make something at the path, above it or below it? */
static bool is_concerned(const struct plan *plan, const char *path)
{
    vec_each (const struct operation, operation, &plan->operations) {
        if (operation->path && !operation->is_pattern &&
            (path_is_beneath(operation->path, path) || path_is_beneath(path, operation->path)))
            return true;
    }
    return decide_path(plan->policy, path, NULL).decides != NULL;
}

/*
 * Landlock cannot be told later what may be written. So that a person can give that, too, each directory at the top of the machine of which
 * nothing is shown is there with a rule, empty.
 */
static void add_askable(struct plan *plan)
{
    enum { MOST_AT_TOP = 64 };
    static const char *const of_system[] = {"boot", "etc", "sys", "usr"}; /* a command need not write there */
    struct fsview *fs = plan->policy->request.fs;
    fs_names names = {0};
    fs_list(fs, "/", MOST_AT_TOP, &names);
    for (size_t i = 0; i < names.count; i++) {
        const char *path = path_join(plan->policy->arena, "/", names.at[i]);
        if (fs_kind(fs, path) == FILE_DIRECTORY &&
            !text_is_among(names.at[i], of_system, array_len(of_system)) && !is_concerned(plan, path))
            plan_add(plan, (struct operation){.kind = OP_ASKABLE, .path = path, .is_directory = true});
    }
    vec_free(&names);
}

void plan_make(const struct policy *policy, const struct plan_request *request, struct plan *ret_plan)
{
    *ret_plan = (struct plan){
        .policy = policy,
        .request = *request,
        .operations = {.degraded = request->degraded, .is_root = request->is_root, .on = request->on}};
    if (policy->request.full_access) {
        add_host(ret_plan);
    } else {
        add_fixed(ret_plan);
        add_places(ret_plan);
        if (request->on == ON_NAMESPACES)
            plan_add_decoys(ret_plan);
        add_patterns(ret_plan);
        if (request->asks && request->on == ON_NAMESPACES)
            add_askable(ret_plan);
    }
    plan_add_network(ret_plan);
    plan_add_environment(ret_plan);
    plan_add_secrets(ret_plan);
    plan_add_leak(ret_plan);
    plan_add_forges(ret_plan);
    plan_add_ssh_keys(ret_plan);
    plan_add_limits(ret_plan);
    plan_add_artifacts(ret_plan);
    plan_add_requirements(ret_plan);
    plan_add_guards(ret_plan);
    plan_add_arguments(ret_plan);
    plan_add_given_up(ret_plan);
    plan_add_notes(ret_plan);
}
