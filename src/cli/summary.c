#include "cli/summary.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "cli/left.h"
#include "cli/say.h"
#include "cli/tripped.h"

enum { MOST_SHOWN = 8, LABEL_COLUMNS = 10, WORTH_TELLING_SECONDS = 60 };

const char *summary_time(const struct summary *summary)
{
    uint64_t seconds = summary->milliseconds / 1000;
    struct arena *arena = summary->loaded->policy.arena;
    if (seconds < 10)
        return arena_printf(arena, "%" PRIu64 ".%" PRIu64 " s", seconds, summary->milliseconds % 1000 / 100);
    if (seconds < 60)
        return arena_printf(arena, "%" PRIu64 " s", seconds);
    if (seconds < 3600)
        return arena_printf(arena, "%" PRIu64 " m %" PRIu64 " s", seconds / 60, seconds % 60);
    return arena_printf(arena, "%" PRIu64 " h %" PRIu64 " m", seconds / 3600, seconds % 3600 / 60);
}

/* Where the name alone was asked for, https is the guess. */
const char *refused_object(struct arena *arena, const struct refused_host *refused)
{
    bool is_plain = refused->port == 0 || refused->port == PORT_HTTPS;
    return is_plain ? refused->host : host_with_port(arena, refused->host, refused->port);
}

/* Only a name that is on no list is opened by a rule for that name; other reasons say themselves what would help. */
static bool is_opened_by_name(const struct refused_host *refused)
{
    return *refused->host && strstr(refused->sentence, "is not on the list");
}

void refused_add_objects(struct buf *out, struct arena *arena, const struct network *network)
{
    for (size_t i = 0; network && i < network->refused.count; i++) {
        if (!is_opened_by_name(&network->refused.at[i]))
            continue;
        const char *object = refused_object(arena, &network->refused.at[i]), *problem = NULL, *hint = NULL;
        struct host_object
            host; /* what is asked for inside may be no host at all, but an option to who types it */
        if (host_parse(arena, object, &host, &problem, &hint) < 0)
            continue;
        buf_add_char(out, ' ');
        text_add_printable(out, object, strlen(object));
    }
}

/* --- the page for a terminal --------------------------------------------------------------------------------------- */

struct page {
    const struct summary *summary;
    struct style style;
    struct arena *arena;
    struct buf out;
};

/* A line that begins with its label, or goes on below it. */
static void begin_line(struct page *page, enum colour colour, const char *label)
{
    buf_add_str(&page->out, "  ");
    size_t columns = style_add(&page->style, &page->out, *label ? colour : COLOUR_PLAIN, label);
    for (; columns < LABEL_COLUMNS; columns++)
        buf_add_char(&page->out, ' ');
}

static void add(struct page *page, enum colour colour, const char *text)
{
    style_add(&page->style, &page->out, colour, text);
}

static void add_files(struct page *page)
{
    const struct changed *changed = page->summary->changed;
    if (!changed->count)
        return;
    bool waits = changed->mode == RECORD_REVIEW;
    begin_line(page, COLOUR_BOLD, "files");
    buf_printf(&page->out, "%" PRIu64 " %s", changed->count - changed->in_repository,
               waits ? "wait to be applied or discarded" : "changed");
    if (changed->in_repository)
        buf_printf(&page->out, " and %zu of git's own", changed->in_repository);
    if (changed->risky) {
        buf_add_str(&page->out, ", ");
        add(page, COLOUR_YELLOW,
            arena_printf(page->arena, "%zu would run or be obeyed on the host", changed->risky));
    }
    buf_add_char(&page->out, '\n');
    size_t shown = 0;
    for (; shown < changed->files.count && shown < MOST_SHOWN; shown++) {
        const struct changed_file *file = &changed->files.at[shown];
        begin_line(page, COLOUR_PLAIN, "");
        buf_printf(&page->out, "%c ", file->letter);
        add(page, file->reason ? COLOUR_YELLOW : COLOUR_PLAIN, file->path);
        if (file->reason)
            add(page, COLOUR_DIM, arena_printf(page->arena, "  %s", file->reason));
        buf_add_char(&page->out, '\n');
    }
    uint64_t more = changed->count - changed->in_repository - shown;
    if (more && shown) {
        begin_line(page, COLOUR_PLAIN, "");
        buf_printf(&page->out, "and %" PRIu64 " more\n", more);
    }
}

static void add_used(struct page *page)
{
    const struct network *network = page->summary->network;
    if (!network || !network->used.count)
        return;
    begin_line(page, COLOUR_BOLD, "reached");
    for (size_t i = 0; i < network->used.count && i < MOST_SHOWN; i++) {
        buf_add_str(&page->out, i ? ", " : "");
        add(page, COLOUR_PLAIN, network->used.at[i].host);
        uint64_t moved = network->used.at[i].sent + network->used.at[i].received;
        if (moved)
            add(page, COLOUR_DIM, arena_printf(page->arena, " (%s)", size_text(page->arena, moved)));
    }
    if (network->used.count > MOST_SHOWN)
        buf_printf(&page->out, " and %zu more", network->used.count - MOST_SHOWN);
    buf_add_char(&page->out, '\n');
}

static void add_host(struct page *page, enum colour colour, const char *label,
                     const struct refused_host *host)
{
    begin_line(page, colour, label);
    add(page, COLOUR_PLAIN, refused_object(page->arena, host));
    add(page, COLOUR_DIM, arena_printf(page->arena, " %s", host->sentence));
    buf_add_char(&page->out, '\n');
}

/* What a rule allows, and something else does not. */
static void add_unreachable(struct page *page)
{
    const struct network *network = page->summary->network;
    for (size_t i = 0; network && i < network->unreachable.count && i < MOST_SHOWN; i++)
        add_host(page, COLOUR_YELLOW, i ? "" : "failed", &network->unreachable.at[i]);
}

static void add_refused(struct page *page)
{
    const struct network *network = page->summary->network;
    if (!network)
        return;
    for (size_t i = 0; i < network->refused.count && i < MOST_SHOWN; i++)
        add_host(page, COLOUR_RED, i ? "" : "refused", &network->refused.at[i]);
    if (network->refused_in_all > MOST_SHOWN) {
        begin_line(page, COLOUR_PLAIN, "");
        buf_printf(&page->out, "and %zu more\n", network->refused_in_all - MOST_SHOWN);
    }
}

static void add_tripwires(struct page *page)
{
    const struct tripwires *tripwires = page->summary->tripwires;
    for (size_t i = 0; tripwires && i < tripwires->fired.count && i < MOST_SHOWN; i++) {
        begin_line(page, COLOUR_RED, i ? "" : "tripwire");
        /* Printable already, and the home is ~. */
        buf_add_str(&page->out, tripped_sentence(page->arena, page->style.home, &tripwires->fired.at[i]));
        buf_add_str(&page->out, i ? "\n" : "; it is a decoy and holds no secret\n");
    }
}

static void add_walls(struct page *page)
{
    const struct plan *plan = &page->summary->loaded->plan;
    for (size_t i = 0; i < plan->given_up.count; i++) {
        const struct given_up *given_up = &plan->given_up.at[i];
        begin_line(page, COLOUR_YELLOW, i ? "" : "given up");
        buf_printf(&page->out, "%s by %s%s: %s\n", wall_name(given_up->wall), given_up->by,
                   given_up->if_needed ? ", if this machine cannot raise it" : "", wall_loss(given_up->wall));
    }
}

static void add_home(struct page *page)
{
    const struct left *left = page->summary->left;
    if (!left || !left->files.count)
        return;
    begin_line(page, COLOUR_BOLD, "home");
    buf_add_str(&page->out, "new in the private home:\n");
    add_left(&page->out, &page->style, left, MOST_SHOWN, LABEL_COLUMNS + 2);
}

static void add_next(struct page *page, bool *is_first, const char *command, const char *what)
{
    begin_line(page, COLOUR_BOLD, *is_first ? "next" : "");
    add(page, COLOUR_GREEN, command);
    if (what)
        add(page, COLOUR_DIM, arena_printf(page->arena, "  %s", what));
    buf_add_char(&page->out, '\n');
    *is_first = false;
}

/* The commands that a person is likely to type now. */
static void add_commands(struct page *page)
{
    const struct summary *summary = page->summary;
    const struct changed *changed = summary->changed;
    bool is_first = true;
    if (changed->count) {
        bool waits = changed->mode == RECORD_REVIEW;
        add_next(page, &is_first, arena_printf(page->arena, "bawn diff %s", summary->session), NULL);
        add_next(page, &is_first,
                 arena_printf(page->arena, waits ? "bawn apply %s" : "bawn undo %s", summary->session),
                 waits ? "or bawn discard" : "takes it back");
    }
    auto_buf struct buf objects = {0};
    refused_add_objects(&objects, page->arena, summary->network);
    if (objects.size)
        add_next(page, &is_first, arena_printf(page->arena, "bawn allow --always%s", buf_text(&objects)),
                 "from now on");
    if (summary->settlement.held)
        add_next(page, &is_first, arena_printf(page->arena, "bawn held %s", summary->session), NULL);
    if (summary->left && summary->left->files.count) {
        const char *typed = left_typed(page->arena, summary->left->files.at[0].path);
        add_next(page, &is_first, arena_printf(page->arena, "bawn home fetch %s", typed ? typed : "PATH"),
                 "copies one here");
    }
    if (summary->session && ((summary->network && summary->network->refused_in_all) ||
                             (summary->tripwires && summary->tripwires->fired.count)))
        add_next(page, &is_first, arena_printf(page->arena, "bawn log %s --denied", summary->session), NULL);
}

static bool is_worth_telling(const struct summary *summary)
{
    const struct network *network = summary->network;
    return summary->changed->count || (network && (network->refused_in_all || network->unreachable.count)) ||
           (summary->tripwires && summary->tripwires->fired.count) ||
           (summary->left && summary->left->files.count) ||
           summary->milliseconds / 1000 >= WORTH_TELLING_SECONDS;
}

static void say_page(const struct summary *summary)
{
    struct page page = {
        .summary = summary, .style = style_for_err(summary->world), .arena = summary->loaded->policy.arena};
    page.style.home = summary->loaded->request.home;
    add(&page, COLOUR_BOLD, "bawn:");
    buf_printf(&page.out, " %s ended after %s%s\n", summary->session ? summary->session : "the run",
               summary_time(summary),
               summary->status ? arena_printf(page.arena, " with status %d", summary->status) : "");
    add_files(&page);
    add_used(&page);
    add_unreachable(&page);
    add_refused(&page);
    add_tripwires(&page);
    add_walls(&page);
    add_home(&page);
    add_commands(&page);
    put(summary->world->err, &page.out);
    buf_free(&page.out);
}

/* --- to whom -------------------------------------------------------------------------------------------------------- */

static bool is_in_ci(const struct world *world)
{
    const char *ci = caller_variable(&world->caller, "CI");
    return ci && *ci && strcmp(ci, "false") != 0 && strcmp(ci, "0") != 0;
}

static const char *step_summary(const struct world *world)
{
    const char *path = caller_variable(&world->caller, "GITHUB_STEP_SUMMARY");
    return path && *path == '/' ? path : NULL;
}

bool summary_is_wanted(const struct world *world, const struct args *args)
{
    return args->flags & FLAG_JSON || step_summary(world) ||
           (!(args->flags & FLAG_QUIET) && (world->err_is_terminal || is_in_ci(world)));
}

/* Whoever made the file made it for this; a link in its place was put there by somebody else. */
static void write_step_summary(const struct summary *summary, const char *path)
{
    auto_fd int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    auto_buf struct buf out = {0};
    summary_add_markdown(summary, &out);
    if (fd < 0 || write(fd, out.bytes, out.size) != (ssize_t)out.size)
        say_problem(
            summary->world,
            arena_printf(summary->loaded->policy.arena, "cannot write the step's summary to %s", path), NULL);
}

void summary_tell(const struct summary *summary)
{
    const struct world *world = summary->world;
    auto_buf struct buf out = {0};
    if (step_summary(world))
        write_step_summary(summary, step_summary(world));
    if (summary->args->flags & FLAG_JSON)
        summary_add_json(summary, &out);
    else if (summary->args->flags & FLAG_QUIET)
        return;
    else if (world->err_is_terminal && is_worth_telling(summary))
        say_page(summary);
    else if (!world->err_is_terminal && is_in_ci(world))
        summary_add_line(summary, &out);
    put(world->err, &out);
}
