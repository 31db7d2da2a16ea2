/* The whole policy as a person thinks of it: what can be written, read, reached, and which rule says so. */
#include <string.h>

#include "base/path.h"
#include "base/pattern.h"
#include "base/text.h"
#include "policy/decide.h"
#include "report/messages.h"
#include "report/policy_text.h"

struct listing {
    const struct plan *plan;
    struct style style;
    struct buf *out;
    const char *heading;        /* of this section; added before its first line */
    const struct rule *because; /* the rule that the unfinished line is about */
    size_t columns;             /* of the unfinished line; 0: there is none */
};

static void end_line(struct listing *listing)
{
    if (listing->columns)
        buf_add_char(listing->out, '\n');
    listing->columns = 0;
    listing->because = NULL;
}

static void begin(struct listing *listing, const char *heading)
{
    end_line(listing);
    listing->heading = heading;
}

/* Begins a line with its margin: the origin of what follows, or "" if the line before continues. */
static void begin_line(struct listing *listing, const char *origin)
{
    enum { ORIGIN_COLUMNS = 24 };
    end_line(listing);
    if (listing->heading) {
        buf_add_char(listing->out, '\n');
        style_add(&listing->style, listing->out, COLOUR_BOLD, listing->heading);
        buf_add_char(listing->out, '\n');
        listing->heading = NULL;
    }
    buf_add_str(listing->out, "  ");
    listing->columns = style_add_path(&listing->style, listing->out, COLOUR_DIM, origin);
    do
        buf_add_char(listing->out, ' ');
    while (++listing->columns < ORIGIN_COLUMNS);
}

/* Objects of one line of a policy share a line here, as long as they fit. */
static void add_line(struct listing *listing, const char *object, const char *remark,
                     const struct rule *because)
{
    enum { LINE_COLUMNS = 100 };
    struct arena *arena = listing->plan->policy->arena;
    const char *text = style_path(&listing->style, arena, object);
    text = *remark ? arena_printf(arena, "%s %s", text, remark) : text;
    auto_buf struct buf shown = {0};
    size_t columns = style_add(&listing->style, &shown, COLOUR_PLAIN, text);
    const struct rule *before = listing->because;
    bool goes_on = because && before && because->line && because->source == before->source &&
                   because->line == before->line;
    if (!goes_on)
        begin_line(listing, because ? rule_origin(arena, because) : "always");
    else if (listing->columns + 2 + columns > LINE_COLUMNS)
        begin_line(listing, "");
    else
        buf_add_str(listing->out, "  ");
    buf_add(listing->out, buf_text(&shown), shown.size);
    listing->columns += columns + 2;
    listing->because = because;
}

static void add_remark(struct listing *listing, const char *text)
{
    begin_line(listing, "");
    buf_add_str(listing->out, text);
    end_line(listing);
}

const char *operation_shown_path(const struct plan *plan, const struct operation *operation)
{
    struct arena *arena = plan->policy->arena;
    const char *path = operation->path;
    const char *slash = operation->is_directory && path[1] ? "/" : "";
    for (size_t i = 0; i < plan->policy->workspaces.count; i++) {
        const char *root = plan->policy->workspaces.at[i].path;
        bool is_inside = path_is_beneath(path, root) && strcmp(path, root) != 0;
        if (is_inside && plan->policy->workspaces.count == 1)
            return arena_printf(arena, "%s%s", path + strlen(root) + 1, slash);
    }
    return arena_printf(arena, "%s%s", path, slash);
}

static const char *remark_on(const struct listing *listing, const struct operation *operation)
{
    if (operation->is_workspace)
        return "(workspace)";
    if (operation->is_login)
        return "(placeholders for its tokens inside)";
    if (operation->make)
        return "(made if missing)";
    if (operation->missing && operation->kind != OP_FLAG)
        return "(does not exist yet)";
    if (operation->source && strcmp(operation->source, operation->path) != 0)
        return arena_printf(listing->plan->policy->arena, "(from %s)",
                            style_path(&listing->style, listing->plan->policy->arena, operation->source));
    return "";
}

/* Workspaces first, then in the order of the policy's lines. The plan is in the order of paths. */
static int compare_operations(const void *a, const void *b)
{
    const struct operation *left = *(const struct operation *const *)a,
                           *right = *(const struct operation *const *)b;
    if (left->is_workspace != right->is_workspace)
        return left->is_workspace ? -1 : 1;
    const struct rule *first = left->because, *second = right->because;
    return first == second ? (left > right) - (left < right) : first < second ? -1 : 1;
}

static void add_section(struct listing *listing, const char *heading, enum operation_kind kind)
{
    auto_vec VEC(const struct operation *) chosen = {0};
    for (size_t i = 0; i < listing->plan->operations.count; i++) {
        if (listing->plan->operations.at[i].kind == kind)
            vec_push(&chosen, &listing->plan->operations.at[i]);
    }
    if (chosen.count)
        qsort(chosen.at, chosen.count, sizeof(*chosen.at), compare_operations);
    begin(listing, heading);
    for (size_t i = 0; i < chosen.count; i++)
        add_line(listing, operation_shown_path(listing->plan, chosen.at[i]), remark_on(listing, chosen.at[i]),
                 chosen.at[i]->because);
}

bool seal_spares_workspace(const struct policy *policy, const struct placed *placed)
{
    if (placed->rule->verb != VERB_SEAL || !text_equal(placed->rule->unless, "workspace"))
        return false;
    for (size_t i = 0; i < policy->workspaces.count; i++) {
        const char *root = policy->workspaces.at[i].path;
        if (placed->has_wildcard ? pattern_may_match_beneath(placed->path, root)
                                 : path_is_beneath(placed->path, root))
            return true;
    }
    return false;
}

/* Seals and hides: inside visible trees, then all seals. */
static void add_hidden(struct listing *listing)
{
    add_section(listing, "Hidden inside readable directories", OP_HIDE);
    const struct policy *policy = listing->plan->policy;
    begin(listing, "Sealed");
    for (size_t i = 0; i < policy->places.count; i++) {
        const struct placed *placed = policy->places.at[i];
        bool exists = placed->has_wildcard || placed->found->kind != FILE_MISSING;
        if (placed->rule->verb == VERB_SEAL)
            add_line(listing, placed->path,
                     seal_spares_workspace(policy, placed) ? "(except in the workspace)"
                     : exists                              ? ""
                                                           : "(does not exist)",
                     placed->rule);
    }
}

static void add_network(struct listing *listing)
{
    struct arena *arena = listing->plan->policy->arena;
    begin(listing, "Network");
    vec_each (const struct operation, operation, &listing->plan->operations) {
        const char *object = NULL;
        if (operation->kind == OP_NET)
            object = strcmp(operation->value, "off") == 0    ? "off: no host can be reached"
                     : strcmp(operation->value, "open") == 0 ? "open: every host that this machine can reach"
                                                             : "only these hosts:";
        else if (operation->kind == OP_CONNECT)
            object = host_with_port(arena, operation->value, operation->port);
        else if (operation->kind == OP_REFUSE)
            object = arena_printf(arena, "not %s", host_with_port(arena, operation->value, operation->port));
        else if (operation->kind == OP_REQUEST)
            object = arena_printf(arena, "%s, inspected: %s",
                                  host_with_port(arena, operation->value, operation->port), operation->name);
        else if (operation->kind == OP_PUBLISH)
            object = arena_printf(arena, "port %u inside, open at 127.0.0.1:%u", operation->port,
                                  operation->host_port);
        else if (operation->kind == OP_HOST_PORT)
            object = arena_printf(arena, "port %u of this machine's localhost", operation->port);
        if (object)
            add_line(listing, object, "", operation->because);
    }
}

static void add_environment(struct listing *listing)
{
    struct arena *arena = listing->plan->policy->arena;
    size_t passed = 0, present = 0;
    begin(listing, "Environment");
    vec_each (const struct operation, operation, &listing->plan->operations) {
        if (operation->kind == OP_ENV_PASS)
            add_line(listing, operation->name, "", operation->because);
        else if (operation->kind == OP_ENV_SET)
            add_line(listing, arena_printf(arena, "%s=%s", operation->name, operation->value), "",
                     operation->because);
        passed += operation->kind == OP_ENV_PASS;
    }
    for (const char *const *entry = listing->plan->policy->request.environment; *entry; entry++)
        present++;
    add_remark(listing, arena_printf(arena, "and nothing else: %zu of your variables %s outside",
                                     present - passed, present - passed == 1 ? "stays" : "stay"));
}

static void add_secrets(struct listing *listing)
{
    struct arena *arena = listing->plan->policy->arena;
    begin(listing, "Secrets: a placeholder inside, the value outside");
    vec_each (const struct operation, operation, &listing->plan->operations) {
        if (operation->kind != OP_SECRET)
            continue;
        const char *carriers = secret_carriers_text(arena, operation->because->secret);
        add_line(listing,
                 arena_printf(arena, "%s%s, for %s%s%s", operation->is_login ? "login outside: " : "",
                              operation->name, operation->value, *carriers ? ", " : "", carriers),
                 "", operation->because);
    }
}

static void add_leak(struct listing *listing)
{
    const struct operation *leak = operations_find(&listing->plan->operations, OP_LEAK);
    begin(listing, leak && leak->name ? "Leaks: secrets of yours in inspected and plain requests"
                                      : "Leaks: secrets of yours in inspected requests");
    if (leak)
        add_line(listing, leak_remark(leak->value), "", leak->because);
}

static void add_forges(struct listing *listing)
{
    begin(listing, "Repositories on servers: git by ssh, or by https with a token, with your keys outside");
    vec_each (const struct operation, operation, &listing->plan->operations) {
        if (operation->kind == OP_FORGE)
            add_line(listing, operation->name, operation->value, operation->because);
    }
}

static void add_ssh_keys(struct listing *listing)
{
    begin(listing, "Keys of your ssh agent: programs log in at these hosts, and sign nothing else");
    vec_each (const struct operation, operation, &listing->plan->operations) {
        if (operation->kind == OP_SSH_KEY)
            add_line(listing, operation->name, operation->value, operation->because);
    }
}

static const char *means_remark(enum limit_means means)
{
    switch (means) {
    case HELD_BY_CGROUP:
        return "(enforced by a control group)";
    case HELD_BY_OOM_SCORE:
        return "(not enforced here; if memory runs out, the kernel kills the sandbox first)";
    case HELD_BY_RLIMIT:
        return "(enforced by limits on each process)";
    case HELD_BY_SUPERVISOR:
    case HELD_BY_JUDGE:
        return "(enforced by bawn)";
    case HELD_BY_HELPER:
        return "(enforced by the network helper)";
    case HELD_BY_NOTHING:
        break;
    }
    return "";
}

static void add_limits(struct listing *listing)
{
    struct arena *arena = listing->plan->policy->arena;
    begin(listing, "Limits");
    vec_each (const struct operation, operation, &listing->plan->operations) {
        if (operation->kind == OP_LIMIT)
            add_line(listing,
                     arena_printf(arena, "%s %s", operation->name,
                                  limit_text(arena, operation->because->limit.limit, operation->amount)),
                     means_remark(operation->held_by), operation->because);
    }
}

/* Operations that have a word and no path. */
static void add_words(struct listing *listing, const char *heading, enum operation_kind kind)
{
    begin(listing, heading);
    vec_each (const struct operation, operation, &listing->plan->operations) {
        if (operation->kind == kind)
            add_line(listing, operation->value ? operation->value : operation->name, "", operation->because);
    }
}

static void add_notes(struct listing *listing)
{
    end_line(listing);
    for (size_t i = 0; i < listing->plan->notes.count; i++) {
        buf_add_str(listing->out, i == 0 ? "\n" : "");
        style_add(&listing->style, listing->out, COLOUR_YELLOW, "note:");
        buf_add_char(listing->out, ' ');
        style_add(&listing->style, listing->out, COLOUR_PLAIN, listing->plan->notes.at[i].text);
        buf_add_str(listing->out, ".\n");
    }
}

static void add_title(struct listing *listing)
{
    const struct policy *policy = listing->plan->policy;
    style_add(&listing->style, listing->out, COLOUR_BOLD,
              policy->request.command ? *policy->request.command : "Any command");
    buf_add_str(listing->out, " in ");
    style_add_path(&listing->style, listing->out, COLOUR_BOLD, policy_first_named(policy));
    buf_add_str(listing->out, ", by");
    for (size_t i = 0; i < policy->profiles_in_use.count; i++) {
        buf_add_str(listing->out, i ? ", " : " ");
        style_add(&listing->style, listing->out, COLOUR_PLAIN, policy->profiles_in_use.at[i]);
    }
    buf_add_char(listing->out, '\n');
}

void policy_add_listing(const struct plan *plan, const struct style *style, struct buf *out)
{
    struct listing listing = {.plan = plan, .style = *style, .out = out};
    add_title(&listing);
    add_section(&listing, "Can write", OP_BIND_WRITE);
    add_section(&listing, "Frozen inside", OP_FREEZE);
    add_section(&listing, "Flagged inside: you decide about changes at the end", OP_FLAG);
    add_words(&listing, "Build directories: new programs there are not reported", OP_ARTIFACTS);
    add_words(&listing, "The machine must have", OP_REQUIRE);
    add_section(&listing, "Can read", OP_BIND_READ);
    add_section(&listing, "Copied into the private home", OP_COPY);
    add_section(&listing, "Caches: yours are readable, changes stay in the sandbox", OP_SEED);
    add_section(&listing, "Copied into the private home without secrets (sifted)", OP_SIFT);
    add_section(&listing, "Kept the same inside and outside", OP_SYNC);
    add_section(&listing, "Sockets", OP_SOCKET);
    add_words(&listing, "Guarded commands: a question or a refusal when they are executed, not a wall",
              OP_GUARD);
    add_words(&listing, "Arguments that bawn adds", OP_ARGUMENT);
    add_hidden(&listing);
    add_network(&listing);
    add_environment(&listing);
    add_secrets(&listing);
    add_leak(&listing);
    add_forges(&listing);
    add_ssh_keys(&listing);
    add_limits(&listing);
    add_notes(&listing);
}
