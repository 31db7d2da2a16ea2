/*
 * The policy on one screen: 25 rows of 80 columns, whatever the policy. Every section has rows of its own; rows that one does not need
 * go to the notes, then to those that have more to list. What does not fit is counted.
 */
#include <string.h>

#include "base/path.h"
#include "base/text.h"
#include "policy/decide.h"
#include "report/messages.h"
#include "report/policy_text.h"

enum {
    SCREEN_ROWS = 25,
    SCREEN_COLUMNS = 80,
    LABEL_COLUMNS = 10,
    TEXT_COLUMNS = SCREEN_COLUMNS - LABEL_COLUMNS,
    MORE_COLUMNS = 16, /* "  and 12345 more" */
    ITEM_COLUMNS = TEXT_COLUMNS - MORE_COLUMNS,
    NOTE_ROWS = 5, /* with the row that counts further notes */
};

struct section {
    const char *label;
    /* cppcheck-suppress unusedStructMember; vec_push uses it */
    VEC(const char *) items; /* printable */
    size_t least;            /* rows that it gets if it needs them */
    size_t rows;             /* rows that it has */
    bool grows;              /* it takes further rows if there are some */
    bool has_commas;         /* between its items, which are phrases */
};

enum section_name {
    WRITE,
    FROZEN,
    FLAGGED,
    READ,
    COPIED,
    SOCKETS,
    HIDDEN,
    NETWORK,
    VARIABLES,
    KEPT,
    LEAKS,
    FORGES,
    KEYS,
    LIMITED,
    SECTIONS
};

/* All that `least` says, NOTE_ROWS and the rows of the head and the foot are SCREEN_ROWS together. */
struct screen {
    const struct plan *plan;
    struct style style;
    struct arena *arena;
    struct buf *out;
    struct section sections[SECTIONS];
};

static size_t columns_of(const char *printable)
{
    size_t columns = 0;
    for (; *printable; printable++)
        columns += ((unsigned char)*printable & 0xc0) != 0x80;
    return columns;
}

/* The first byte after so many columns. */
static const char *skip_columns(const char *printable, size_t columns)
{
    for (; *printable; printable++) {
        bool is_start = ((unsigned char)*printable & 0xc0) != 0x80;
        if (is_start && columns-- == 0)
            break;
    }
    return printable;
}

/* Printable, and its middle left out if it has more than `most` columns. */
static const char *fit(struct arena *arena, const char *text, size_t most)
{
    static const char gap[] = "...";
    auto_buf struct buf printable = {0};
    text_add_printable(&printable, text, strlen(text));
    const char *shown = arena_str(arena, buf_text(&printable));
    size_t columns = columns_of(shown), half = (most - strlen(gap)) / 2;
    if (columns <= most)
        return shown;
    const char *head_end = skip_columns(shown, half), *tail = skip_columns(shown, columns - half);
    return arena_printf(arena, "%.*s%s%s", (int)(head_end - shown), shown, gap, tail);
}

static void add_item(struct screen *screen, enum section_name name, const char *text)
{
    vec_push(&screen->sections[name].items, text);
}

static void add_path(struct screen *screen, enum section_name name, const char *path, const char *remark)
{
    const char *shown = style_path(&screen->style, screen->arena, path);
    shown = fit(screen->arena, shown, ITEM_COLUMNS - strlen(remark));
    add_item(screen, name, arena_printf(screen->arena, "%s%s", shown, remark));
}

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

/* Is the rule of `base` or of a toolchain? What those show is counted and not listed. */
static bool is_usual(const struct rule *rule)
{
    if (!rule || !rule->source->is_profile)
        return false;
    const char *file = path_name(rule->source->name);
    static const char folder[] = "toolchain/";
    size_t before = (size_t)(file - rule->source->name);
    return rule->source->layer == LAYER_BASE ||
           (before >= strlen(folder) && memcmp(file - strlen(folder), folder, strlen(folder)) == 0);
}

static const char *remark_on(const struct operation *operation)
{
    return operation->is_workspace      ? " (workspace)"
           : operation->kind == OP_SIFT ? " (without secrets)"
           : operation->is_login        ? " (login outside)"
           : operation->kind == OP_SYNC ? " (both ways)"
           : operation->kind == OP_SEED ? " (cache)"
                                        : "";
}

/* Lists the operations of a kind: the workspaces alone, or the others. Returns how many usual ones were left out. */
static size_t add_operations(struct screen *screen, enum section_name name, enum operation_kind kind,
                             bool workspaces)
{
    size_t usual = 0;
    vec_each (const struct operation, operation, &screen->plan->operations) {
        if (operation->kind != kind || operation->is_workspace != workspaces)
            continue;
        if (kind == OP_BIND_READ && !workspaces && is_usual(operation->because))
            usual++;
        else
            add_path(screen, name, operation_shown_path(screen->plan, operation), remark_on(operation));
    }
    return usual;
}

static void collect_files(struct screen *screen)
{
    if (operations_find(&screen->plan->operations, OP_HOST))
        add_item(screen, WRITE, "every file that you can write (--full-access)");
    add_operations(screen, WRITE, OP_BIND_WRITE, true);
    add_operations(screen, WRITE, OP_BIND_WRITE, false);
    add_operations(screen, FROZEN, OP_FREEZE, false);
    add_operations(screen, READ, OP_BIND_READ, true);
    size_t usual = add_operations(screen, READ, OP_BIND_READ, false);
    if (usual)
        add_item(
            screen, READ,
            arena_printf(screen->arena, "%zu path%s of the system and of toolchains", usual, plural(usual)));
    static const enum operation_kind copies[] = {OP_SYNC, OP_COPY, OP_SIFT, OP_SEED};
    for (size_t i = 0; i < array_len(copies); i++)
        add_operations(screen, COPIED, copies[i], false);
    add_operations(screen, SOCKETS, OP_SOCKET, false);
}

static size_t count_operations(const struct screen *screen, enum operation_kind kind)
{
    size_t count = 0;
    vec_each (const struct operation, operation, &screen->plan->operations)
        count += operation->kind == kind;
    return count;
}

static void collect_flagged(struct screen *screen)
{
    size_t flagged = count_operations(screen, OP_FLAG);
    if (flagged)
        add_item(screen, FLAGGED,
                 arena_printf(screen->arena, "%zu path%s: you decide about changes at the end", flagged,
                              plural(flagged)));
}

/* Seals that do not apply in the workspace: the first by name, then how many more. */
static void add_spared(struct screen *screen)
{
    const struct policy *policy = screen->plan->policy;
    const char *first = NULL;
    size_t more = 0;
    for (size_t i = 0; i < policy->places.count; i++) {
        const struct placed *placed = policy->places.at[i];
        if (!seal_spares_workspace(policy, placed))
            continue;
        more += first != NULL;
        first = first ? first : placed->path;
    }
    if (first)
        add_path(screen, HIDDEN, first,
                 more ? arena_printf(screen->arena, " and %zu more, except in the workspace", more)
                      : " except in the workspace");
}

static void collect_hidden(struct screen *screen)
{
    const struct policy *policy = screen->plan->policy;
    bool all = operations_find(&screen->plan->operations, OP_HOST);
    size_t hidden = count_operations(screen, OP_HIDE), sealed = 0;
    add_item(screen, HIDDEN, all ? "no file of this machine" : "all other files of this machine");
    if (hidden)
        add_item(screen, HIDDEN,
                 arena_printf(screen->arena, "%zu path%s in readable directories", hidden, plural(hidden)));
    for (size_t i = 0; i < policy->places.count; i++) {
        const struct placed *placed = policy->places.at[i];
        sealed += placed->rule->verb == VERB_SEAL && !placed->has_wildcard &&
                  placed->found->kind != FILE_MISSING &&
                  decide_path(policy, placed->path, NULL).access == ACCESS_NONE;
    }
    if (sealed && !all)
        add_item(screen, HIDDEN, arena_printf(screen->arena, "%zu sealed place%s", sealed, plural(sealed)));
    if (!all)
        add_spared(screen);
}

static void add_host(struct screen *screen, const struct operation *operation)
{
    struct arena *arena = screen->arena;
    const char *host = operation->kind == OP_PUBLISH || operation->kind == OP_HOST_PORT ? ""
                       : operation->port == 443                                         ? operation->value
                                                : host_with_port(arena, operation->value, operation->port);
    const char *text = NULL;
    if (operation->kind == OP_CONNECT)
        text = host;
    else if (operation->kind == OP_REFUSE)
        text = arena_printf(arena, "not %s", host);
    else if (operation->kind == OP_PUBLISH)
        text =
            arena_printf(arena, "port %u inside is 127.0.0.1:%u here", operation->port, operation->host_port);
    else if (operation->kind == OP_HOST_PORT)
        text = arena_printf(arena, "localhost:%u of this machine", operation->port);
    if (text)
        add_item(screen, NETWORK, fit(arena, text, ITEM_COLUMNS));
}

static void add_hosts(struct screen *screen, enum operation_kind kind)
{
    vec_each (const struct operation, operation, &screen->plan->operations) {
        if (operation->kind == kind)
            add_host(screen, operation);
    }
}

static bool is_same_host(const struct operation *a, const struct operation *b)
{
    return a->kind == b->kind && a->port == b->port && strcmp(a->value, b->value) == 0;
}

/* Each host at which TLS ends at the vault because rules judge its requests, once. */
static void add_inspected(struct screen *screen)
{
    const struct operations *all = &screen->plan->operations;
    for (size_t i = 0; i < all->count; i++) {
        const struct operation *operation = &all->at[i];
        bool is_first = operation->kind == OP_REQUEST;
        size_t rules = 0;
        for (size_t j = 0; is_first && j < all->count; j++) {
            bool is_same = is_same_host(&all->at[j], operation);
            is_first &= !is_same || j >= i;
            rules += is_same;
        }
        if (is_first)
            add_item(screen, NETWORK,
                     fit(screen->arena,
                         arena_printf(screen->arena, "%s inspected, %zu rule%s on requests",
                                      host_with_port(screen->arena, operation->value,
                                                     operation->port == PORT_HTTPS ? 0 : operation->port),
                                      rules, plural(rules)),
                         ITEM_COLUMNS));
    }
}

static void collect_network(struct screen *screen)
{
    const char *net = operations_net(&screen->plan->operations);
    add_hosts(screen, OP_HOST_PORT);
    add_hosts(screen, OP_PUBLISH);
    add_inspected(screen);
    size_t hosts = plan_count_hosts(screen->plan);
    if (strcmp(net, "open") == 0)
        add_item(screen, NETWORK, "every host that this machine can reach");
    else if (strcmp(net, "off") == 0 || !hosts)
        add_item(screen, NETWORK, "no host");
    else
        add_item(screen, NETWORK, arena_printf(screen->arena, "%zu host%s:", hosts, plural(hosts)));
    add_hosts(screen, OP_CONNECT);
    add_hosts(screen, OP_REFUSE);
}

static void collect_rest(struct screen *screen)
{
    struct arena *arena = screen->arena;
    size_t passed = count_operations(screen, OP_ENV_PASS), present = 0;
    for (const char *const *entry = screen->plan->policy->request.environment; *entry; entry++)
        present++;
    add_item(screen, VARIABLES,
             arena_printf(arena, "%zu of your %zu variable%s, and %zu that the policy sets", passed, present,
                          plural(present), count_operations(screen, OP_ENV_SET)));
    vec_each (const struct operation, operation, &screen->plan->operations) {
        const char *carriers =
            operation->kind == OP_SECRET ? secret_carriers_text(arena, operation->because->secret) : "";
        if (operation->kind == OP_SECRET)
            add_item(screen, KEPT,
                     fit(arena,
                         operation->is_login ? arena_printf(arena, "%s: login outside", operation->name)
                                             : arena_printf(arena, "%s: outside, for %s%s%s", operation->name,
                                                            operation->value, *carriers ? " " : "", carriers),
                         ITEM_COLUMNS));
        if (operation->kind == OP_LEAK)
            add_item(screen, LEAKS,
                     arena_printf(arena, "secrets of yours in %s requests: %s",
                                  operation->name ? "inspected and plain" : "inspected",
                                  leak_remark(operation->value)));
        if (operation->kind == OP_FORGE)
            add_item(
                screen, FORGES,
                fit(arena, arena_printf(arena, "%s: %s", operation->name, operation->value), ITEM_COLUMNS));
        if (operation->kind == OP_SSH_KEY)
            add_item(
                screen, KEYS,
                fit(arena, arena_printf(arena, "%s: %s", operation->name, operation->value), ITEM_COLUMNS));
        if (operation->kind != OP_LIMIT)
            continue;
        bool is_soft = operation->held_by == HELD_BY_OOM_SCORE;
        add_item(screen, LIMITED,
                 arena_printf(arena, "%s %s%s", operation->name,
                              limit_text(arena, operation->because->limit.limit, operation->amount),
                              is_soft ? " (not enforced here)" : ""));
    }
}

/* Adds the section in at most so many rows. Returns how many it took. */
static size_t lay(const struct screen *screen, const struct section *section, size_t most, struct buf *out)
{
    if (!section->items.count)
        return 0;
    size_t rows = 1, column = 0;
    style_add_column(&screen->style, out, COLOUR_BOLD, section->label, LABEL_COLUMNS);
    for (size_t i = 0; i < section->items.count; i++) {
        size_t after = section->items.count - i - 1, columns = columns_of(section->items.at[i]);
        size_t kept_free = after && rows == most ? MORE_COLUMNS : 0;
        bool fits = column == 0 || column + 2 + columns + kept_free <= TEXT_COLUMNS;
        if (!fits && rows == most) {
            buf_printf(out, "  and %zu more", after + 1);
            break;
        }
        if (!fits)
            buf_printf(out, "%s\n%*s", section->has_commas ? "," : "", LABEL_COLUMNS, "");
        else if (column)
            buf_add_str(out, section->has_commas ? ", " : "  ");
        buf_add_str(out, section->items.at[i]);
        rows += !fits;
        column = fits && column ? column + 2 + columns : columns;
    }
    buf_add_char(out, '\n');
    return rows;
}

static size_t note_rows(const struct note *note)
{
    auto_buf struct buf printable = {0};
    size_t columns = strlen("note: .") + text_add_printable(&printable, note->text, strlen(note->text));
    return (columns + SCREEN_COLUMNS - 1) / SCREEN_COLUMNS;
}

static void add_notes(const struct screen *screen, size_t rows)
{
    size_t more = 0, needed = 0;
    vec_each (const struct note, note, &screen->plan->notes)
        needed += note_rows(note);
    rows -= needed > rows; /* for the count */
    if (screen->plan->notes.count)
        buf_add_char(screen->out, '\n');
    vec_each (const struct note, note, &screen->plan->notes) {
        size_t takes = note_rows(note);
        if (takes > rows) {
            more++;
            continue;
        }
        rows -= takes;
        style_add(&screen->style, screen->out, COLOUR_YELLOW, "note:");
        buf_add_char(screen->out, ' ');
        style_add(&screen->style, screen->out, COLOUR_PLAIN, note->text);
        buf_add_str(screen->out, ".\n");
    }
    if (more)
        buf_printf(screen->out, "note: and %zu more note%s (bawn show --all)\n", more, plural(more));
}

/* "claude in ~/my-app, by base, agent/claude": two rows at most. */
static size_t add_title(const struct screen *screen)
{
    enum { COMMAND_COLUMNS = 30, MOST = 2 * SCREEN_COLUMNS - 20 };
    const struct policy *policy = screen->plan->policy;
    const char *command = policy->request.command ? *policy->request.command : "Any command";
    const char *path = style_path(&screen->style, screen->arena, policy_first_named(policy));
    size_t columns =
        style_add(&screen->style, screen->out, COLOUR_BOLD, fit(screen->arena, command, COMMAND_COLUMNS)) +
        strlen(" in , by");
    buf_add_str(screen->out, " in ");
    columns += style_add(&screen->style, screen->out, COLOUR_BOLD, fit(screen->arena, path, ITEM_COLUMNS));
    buf_add_str(screen->out, ", by");
    for (size_t i = 0; i < policy->profiles_in_use.count; i++) {
        const char *profile = fit(screen->arena, policy->profiles_in_use.at[i], COMMAND_COLUMNS);
        if (columns + strlen(", ") + columns_of(profile) > MOST) {
            buf_printf(screen->out, " and %zu more", policy->profiles_in_use.count - i);
            break;
        }
        buf_printf(screen->out, "%s%s", i ? ", " : " ", profile);
        columns += columns_of(profile) + strlen(", ");
    }
    buf_add_str(screen->out, "\n\n");
    return columns > SCREEN_COLUMNS ? 3 : 2;
}

/* Gives the sections their rows. Returns how many are for the notes. */
static size_t allot(struct screen *screen, size_t rows)
{
    size_t needed[SECTIONS], notes = 0;
    vec_each (const struct note, note, &screen->plan->notes)
        notes += note_rows(note);
    size_t for_notes = notes < NOTE_ROWS ? notes : NOTE_ROWS;
    rows -= for_notes;
    for (size_t i = 0; i < SECTIONS; i++) {
        auto_buf struct buf measured = {0};
        struct section *section = &screen->sections[i];
        needed[i] = lay(screen, section, SIZE_MAX, &measured);
        section->rows = needed[i] < section->least ? needed[i] : section->least;
        rows -= section->rows;
    }
    size_t more = notes - for_notes < rows ? notes - for_notes : rows;
    for_notes += more;
    rows -= more;
    for (size_t i = 0; i < SECTIONS; i++) {
        struct section *section = &screen->sections[i];
        more = section->grows ? needed[i] - section->rows : 0;
        more = more < rows ? more : rows;
        section->rows += more;
        rows -= more;
    }
    return for_notes;
}

void policy_add_screen(const struct plan *plan, const struct style *style, struct buf *out)
{
    enum { FOOT_ROWS = 2 };
    struct screen screen = {
        .plan = plan,
        .style = *style,
        .arena = plan->policy->arena,
        .out = out,
        .sections = {[WRITE] = {.label = "write", .least = 2, .grows = true},
                     [FROZEN] = {.label = "frozen", .least = 1},
                     [FLAGGED] = {.label = "flagged", .least = 1},
                     [READ] = {.label = "read", .least = 2, .grows = true},
                     [COPIED] = {.label = "copied", .least = 1},
                     [SOCKETS] = {.label = "sockets", .least = 1},
                     [HIDDEN] = {.label = "hidden", .least = 2, .has_commas = true},
                     [NETWORK] = {.label = "network", .least = 2, .grows = true},
                     [VARIABLES] = {.label = "variables", .least = 1},
                     [KEPT] = {.label = "secrets", .least = 1},
                     [LEAKS] = {.label = "leaks", .least = 1},
                     [FORGES] = {.label = "forges", .least = 1},
                     [KEYS] = {.label = "ssh keys", .least = 1},
                     [LIMITED] = {.label = "limits", .least = 1}},
    };
    collect_files(&screen);
    collect_flagged(&screen);
    collect_hidden(&screen);
    collect_network(&screen);
    collect_rest(&screen);
    size_t head = add_title(&screen);
    size_t for_notes = allot(&screen, SCREEN_ROWS - head - FOOT_ROWS);
    for (size_t i = 0; i < SECTIONS; i++) {
        lay(&screen, &screen.sections[i], screen.sections[i].rows, out);
        vec_free(&screen.sections[i].items);
    }
    add_notes(&screen, for_notes);
    buf_add_str(out, "`bawn show --all` lists every rule, `bawn why` explains one path or host.\n");
}
