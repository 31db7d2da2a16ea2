/* The policy as a person thinks of it: what can be written, read, reached. */
#include <string.h>

#include "base/path.h"
#include "cli/brief.h"
#include "cli/commands.h"
#include "cli/load.h"
#include "cli/rules.h"
#include "policy/decide.h"

struct page {
    const struct loaded *loaded;
    struct style style;
    struct buf out;
    const char *heading; /* printed before the first line of its section */
    size_t lines;        /* in this section */
};

static void begin(struct page *page, const char *heading)
{
    page->heading = heading;
    page->lines = 0;
}

static void add_line(struct page *page, const char *object, const char *remark, const struct rule *because)
{
    enum { OBJECT_COLUMNS = 52 };
    if (page->lines++ == 0) {
        buf_add_char(&page->out, '\n');
        style_add(&page->style, &page->out, COLOUR_BOLD, page->heading);
        buf_add_char(&page->out, '\n');
    }
    buf_add_str(&page->out, "  ");
    size_t columns = style_add_path(&page->style, &page->out, COLOUR_PLAIN, object);
    if (*remark) {
        buf_add_char(&page->out, ' ');
        columns += 1 + style_add(&page->style, &page->out, COLOUR_DIM, remark);
    }
    for (; columns < OBJECT_COLUMNS; columns++)
        buf_add_char(&page->out, ' ');
    buf_add_str(&page->out, "  ");
    const char *origin = because ? rule_origin(page->loaded->policy.arena, because) : "always";
    style_add_path(&page->style, &page->out, COLOUR_DIM, origin);
    buf_add_char(&page->out, '\n');
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
    if (operation->missing)
        return "(not there yet)";
    if (operation->source && strcmp(operation->source, operation->path) != 0)
        return arena_printf(page->loaded->policy.arena, "(from %s)",
                            style_path(&page->style, page->loaded->policy.arena, operation->source));
    return "";
}

static void add_section(struct page *page, const char *heading, enum operation_kind kind)
{
    begin(page, heading);
    for (size_t i = 0; i < page->loaded->plan.operations.count; i++) {
        const struct operation *operation = &page->loaded->plan.operations.at[i];
        if (operation->kind == kind)
            add_line(page, shown_path(page, operation), remark_on(page, operation), operation->because);
    }
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
        buf_printf(&page->out, "  and %zu places that do not exist here (--all lists them)\n", absent);
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
            object = arena_printf(arena, "%s:%u", operation->value, operation->port);
        else if (operation->kind == OP_REFUSE)
            object = arena_printf(arena, "not %s%s", operation->value,
                                  operation->port ? arena_printf(arena, ":%u", operation->port) : "");
        else if (operation->kind == OP_PUBLISH)
            object = arena_printf(arena, "port %u inside, seen at 127.0.0.1:%u", operation->port, operation->host_port);
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
            add_line(page, arena_printf(arena, "%s=%s", operation->name, operation->value), "", operation->because);
        passed += operation->kind == OP_ENV_PASS;
    }
    for (const char *const *entry = page->loaded->request.environment; *entry; entry++)
        present++;
    buf_printf(&page->out, "  and nothing else: %zu of your variables stay outside\n", present - passed);
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
                     "", operation->because);
    }
}

static void add_notes(struct page *page)
{
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
    style_add(&page->style, &page->out, COLOUR_BOLD, policy->request.command ? policy->request.command : "Any command");
    buf_add_str(&page->out, " in ");
    style_add_path(&page->style, &page->out, COLOUR_BOLD, policy->workspaces.at[0].path);
    buf_add_str(&page->out, ", by");
    for (size_t i = 0; i < policy->profiles_in_use.count; i++)
        buf_printf(&page->out, "%s %s", i ? "," : "", policy->profiles_in_use.at[i]);
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
    add_section(&page, "Can read", OP_BIND_READ);
    add_section(&page, "Copied into the private home", OP_COPY);
    add_section(&page, "Kept the same inside and outside", OP_SYNC);
    add_section(&page, "Sockets", OP_SOCKET);
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
    struct loaded loaded = {0};
    int status = load_plan(world, args, &loaded);
    if (status == 0) {
        auto_buf struct buf out = {0};
        if (args->flags & FLAG_BRIEF)
            brief_add(&loaded, &out);
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
