/* The policy as a person thinks of it: what can be written, read, reached. */
#include <string.h>

#include "base/path.h"
#include "cli/commands.h"
#include "cli/say.h"
#include "policy/decide.h"
#include "report/messages.h"
#include "session/load.h"

struct page {
    const struct loaded *loaded;
    struct style style;
    struct buf out;
    const char *heading;        /* of this section; printed before its first line */
    const struct rule *because; /* the rule that the unfinished line is about */
    size_t columns;             /* of the unfinished line; 0 where there is none */
};

static void end_line(struct page *page)
{
    if (page->columns)
        buf_add_char(&page->out, '\n');
    page->columns = 0;
    page->because = NULL;
}

static void begin(struct page *page, const char *heading)
{
    end_line(page);
    page->heading = heading;
}

/* Begins a line with its margin: the origin of what follows, or nothing where the line before goes on. */
static void begin_line(struct page *page, const char *origin)
{
    enum { ORIGIN_COLUMNS = 24 };
    end_line(page);
    if (page->heading) {
        buf_add_char(&page->out, '\n');
        style_add(&page->style, &page->out, COLOUR_BOLD, page->heading);
        buf_add_char(&page->out, '\n');
        page->heading = NULL;
    }
    buf_add_str(&page->out, "  ");
    page->columns = style_add_path(&page->style, &page->out, COLOUR_DIM, origin);
    do
        buf_add_char(&page->out, ' ');
    while (++page->columns < ORIGIN_COLUMNS);
}

/* What the same line of a policy says stands on the same line here, as long as it fits. */
static void add_line(struct page *page, const char *object, const char *remark, const struct rule *because)
{
    enum { LINE_COLUMNS = 100 };
    struct arena *arena = page->loaded->policy.arena;
    const char *text = style_path(&page->style, arena, object);
    text = *remark ? arena_printf(arena, "%s %s", text, remark) : text;
    auto_buf struct buf shown = {0};
    size_t columns = style_add(&page->style, &shown, COLOUR_PLAIN, text);
    const struct rule *before = page->because;
    bool goes_on = because && before && because->line && because->source == before->source &&
                   because->line == before->line;
    if (!goes_on)
        begin_line(page, because ? rule_origin(arena, because) : "always");
    else if (page->columns + 2 + columns > LINE_COLUMNS)
        begin_line(page, "");
    else
        buf_add_str(&page->out, "  ");
    buf_add(&page->out, buf_text(&shown), shown.size);
    page->columns += columns + 2;
    page->because = because;
}

static void add_remark(struct page *page, const char *text)
{
    begin_line(page, "");
    buf_add_str(&page->out, text);
    end_line(page);
}

/* "src/" for a path inside the workspace, "~/x" or "/x" elsewhere; a directory ends in '/'. */
static const char *shown_path(const struct page *page, const struct operation *operation)
{
    struct arena *arena = page->loaded->policy.arena;
    const char *path = operation->path;
    const char *slash = operation->is_directory && path[1] ? "/" : "";
    for (size_t i = 0; i < page->loaded->policy.workspaces.count; i++) {
        const char *root = page->loaded->policy.workspaces.at[i].path;
        bool is_inside = path_is_beneath(path, root) && strcmp(path, root) != 0;
        if (is_inside && page->loaded->policy.workspaces.count == 1)
            return arena_printf(arena, "%s%s", path + strlen(root) + 1, slash);
    }
    return arena_printf(arena, "%s%s", path, slash);
}

static const char *remark_on(const struct page *page, const struct operation *operation)
{
    if (operation->is_workspace)
        return "(workspace)";
    if (operation->make)
        return "(made if missing)";
    if (operation->missing && operation->kind != OP_FLAG)
        return "(not there yet)";
    if (operation->source && strcmp(operation->source, operation->path) != 0)
        return arena_printf(page->loaded->policy.arena, "(from %s)",
                            style_path(&page->style, page->loaded->policy.arena, operation->source));
    return "";
}

/* Workspaces first, then in the order of the policy's lines; the plan has them in the order of paths. */
static int compare_operations(const void *a, const void *b)
{
    const struct operation *left = *(const struct operation *const *)a,
                           *right = *(const struct operation *const *)b;
    if (left->is_workspace != right->is_workspace)
        return left->is_workspace ? -1 : 1;
    const struct rule *first = left->because, *second = right->because;
    return first == second ? (left > right) - (left < right) : first < second ? -1 : 1;
}

static void add_section(struct page *page, const char *heading, enum operation_kind kind)
{
    VEC(const struct operation *) chosen = {0};
    for (size_t i = 0; i < page->loaded->plan.operations.count; i++) {
        if (page->loaded->plan.operations.at[i].kind == kind)
            vec_push(&chosen, &page->loaded->plan.operations.at[i]);
    }
    if (chosen.count)
        qsort(chosen.at, chosen.count, sizeof(*chosen.at), compare_operations);
    begin(page, heading);
    for (size_t i = 0; i < chosen.count; i++)
        add_line(page, shown_path(page, chosen.at[i]), remark_on(page, chosen.at[i]), chosen.at[i]->because);
    vec_free(&chosen);
}

/* Seals and hides: what a visible tree would show, then what exists elsewhere, then a count of the rest. */
static void add_hidden(struct page *page, bool all)
{
    add_section(page, "Hidden, though a directory around it is visible", OP_HIDE);
    const struct policy *policy = &page->loaded->policy;
    size_t absent = 0;
    begin(page, all ? "Sealed" : "Sealed, and present on this machine");
    for (size_t i = 0; i < policy->places.count; i++) {
        const struct placed *placed = policy->places.at[i];
        bool exists = placed->has_wildcard || placed->found->kind != FILE_MISSING;
        if (placed->rule->verb != VERB_SEAL)
            continue;
        if (exists || all)
            add_line(page, placed->path, exists ? "" : "(not there)", placed->rule);
        else
            absent++;
    }
    if (absent)
        add_remark(page, arena_printf(policy->arena,
                                      "and %zu places that do not exist here (--all lists them)", absent));
}

static void add_network(struct page *page)
{
    struct arena *arena = page->loaded->policy.arena;
    begin(page, "Network");
    for (size_t i = 0; i < page->loaded->plan.operations.count; i++) {
        const struct operation *operation = &page->loaded->plan.operations.at[i];
        const char *object = NULL;
        if (operation->kind == OP_NET)
            object = strcmp(operation->value, "off") == 0    ? "off: nothing can be reached"
                     : strcmp(operation->value, "open") == 0 ? "open: everything the host can reach"
                                                             : "only these, each by name:";
        else if (operation->kind == OP_CONNECT)
            object = host_with_port(arena, operation->value, operation->port);
        else if (operation->kind == OP_REFUSE)
            object = arena_printf(arena, "not %s", host_with_port(arena, operation->value, operation->port));
        else if (operation->kind == OP_PUBLISH)
            object = arena_printf(arena, "port %u inside, seen at 127.0.0.1:%u", operation->port,
                                  operation->host_port);
        else if (operation->kind == OP_HOST_PORT)
            object = arena_printf(arena, "port %u of this machine's loopback", operation->port);
        if (object)
            add_line(page, object, "", operation->because);
    }
}

static void add_environment(struct page *page)
{
    struct arena *arena = page->loaded->policy.arena;
    size_t passed = 0, present = 0;
    begin(page, "Environment");
    for (size_t i = 0; i < page->loaded->plan.operations.count; i++) {
        const struct operation *operation = &page->loaded->plan.operations.at[i];
        if (operation->kind == OP_ENV_PASS)
            add_line(page, operation->name, "", operation->because);
        else if (operation->kind == OP_ENV_SET)
            add_line(page, arena_printf(arena, "%s=%s", operation->name, operation->value), "",
                     operation->because);
        passed += operation->kind == OP_ENV_PASS;
    }
    for (const char *const *entry = page->loaded->request.environment; *entry; entry++)
        present++;
    add_remark(page, arena_printf(arena, "and nothing else: %zu of your variables %s outside",
                                  present - passed, present - passed == 1 ? "stays" : "stay"));
}

static const char *means_remark(enum limit_means means)
{
    switch (means) {
    case HELD_BY_CGROUP:
        return "(held by a control group)";
    case HELD_BY_OOM_SCORE:
        return "(not held here: the sandbox is the first to go when memory runs out)";
    case HELD_BY_RLIMIT:
        return "(held by the kernel's limits on processes)";
    case HELD_BY_SUPERVISOR:
        return "(held by bawn)";
    case HELD_BY_NOTHING:
        break;
    }
    return "";
}

static void add_limits(struct page *page)
{
    struct arena *arena = page->loaded->policy.arena;
    begin(page, "Limits");
    for (size_t i = 0; i < page->loaded->plan.operations.count; i++) {
        const struct operation *operation = &page->loaded->plan.operations.at[i];
        if (operation->kind == OP_LIMIT)
            add_line(page,
                     arena_printf(arena, "%s %s", operation->name,
                                  limit_text(arena, operation->because->limit.limit, operation->amount)),
                     means_remark(operation->held_by), operation->because);
    }
}

static void add_artifacts(struct page *page)
{
    begin(page, "Folders that builds make: new programs in them are not told of");
    for (size_t i = 0; i < page->loaded->plan.operations.count; i++) {
        const struct operation *operation = &page->loaded->plan.operations.at[i];
        if (operation->kind == OP_ARTIFACTS)
            add_line(page, operation->name, "", operation->because);
    }
}

static void add_arguments(struct page *page)
{
    begin(page, "Words that the agent gets before its own arguments");
    for (size_t i = 0; i < page->loaded->plan.operations.count; i++) {
        const struct operation *operation = &page->loaded->plan.operations.at[i];
        if (operation->kind == OP_ARGUMENT)
            add_line(page, operation->value, "", operation->because);
    }
}

static void add_notes(struct page *page)
{
    end_line(page);
    for (size_t i = 0; i < page->loaded->plan.notes.count; i++) {
        buf_add_str(&page->out, i == 0 ? "\n" : "");
        style_add(&page->style, &page->out, COLOUR_YELLOW, "note:");
        buf_add_char(&page->out, ' ');
        style_add(&page->style, &page->out, COLOUR_PLAIN, page->loaded->plan.notes.at[i].text);
        buf_add_str(&page->out, ".\n");
    }
}

static void add_title(struct page *page)
{
    const struct policy *policy = &page->loaded->policy;
    style_add(&page->style, &page->out, COLOUR_BOLD,
              policy->request.command ? *policy->request.command : "Any command");
    buf_add_str(&page->out, " in ");
    style_add_path(&page->style, &page->out, COLOUR_BOLD, policy->workspaces.at[0].path);
    buf_add_str(&page->out, ", by");
    for (size_t i = 0; i < policy->profiles_in_use.count; i++) {
        buf_add_str(&page->out, i ? ", " : " ");
        style_add(&page->style, &page->out, COLOUR_PLAIN, policy->profiles_in_use.at[i]);
    }
    buf_add_char(&page->out, '\n');
}

static void show_page(const struct world *world, const struct args *args, const struct loaded *loaded)
{
    struct page page = {.loaded = loaded, .style = style_for_out(world)};
    page.style.home = loaded->request.home;
    add_title(&page);
    add_section(&page, "Can write", OP_BIND_WRITE);
    add_section(&page, "Frozen inside that", OP_FREEZE);
    add_section(&page, "Flagged inside that: settled with you at the end", OP_FLAG);
    add_artifacts(&page);
    add_section(&page, "Can read", OP_BIND_READ);
    add_section(&page, "Copied into the private home", OP_COPY);
    add_section(&page, "Yours to read, what is written there is kept beside the private home", OP_SEED);
    add_section(&page, "Sifted into the private home: settings without their secrets", OP_SIFT);
    add_section(&page, "Kept the same inside and outside", OP_SYNC);
    add_section(&page, "Sockets", OP_SOCKET);
    add_arguments(&page);
    add_hidden(&page, args->flags & FLAG_ALL);
    add_network(&page);
    add_environment(&page);
    add_limits(&page);
    add_notes(&page);
    put(world->out, &page.out);
    buf_free(&page.out);
}

int cmd_show(const struct world *world, const struct args *args)
{
    const struct run_request request = args_request(args);
    struct loaded loaded = {0};
    int status = load_plan(&world->caller, &request, &loaded);
    if (status == 0 && args->flags & FLAG_BRIEF && args->flags & (FLAG_PLAN | FLAG_JSON)) {
        say_problem(world, "--brief is a text of its own", "leave --plan and --json out, or --brief");
        status = EXIT_BAD_INPUT;
    } else if (status == 0) {
        auto_buf struct buf out = {0};
        if (args->flags & FLAG_BRIEF)
            briefing_add(&loaded.plan, args->flags & (FLAG_REVIEW | FLAG_DISCARD), &out);
        else if (args->flags & FLAG_JSON)
            plan_add_json(&loaded.plan, args->command, &out);
        else if (args->flags & FLAG_PLAN)
            plan_add_text(&loaded.plan, &out);
        else
            show_page(world, args, &loaded);
        put(world->out, &out);
    }
    loaded_free(&loaded);
    return status;
}
