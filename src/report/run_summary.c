/* The summary at the end of a run: lines for a terminal. */
#include <inttypes.h>
#include <string.h>

#include "base/path.h"
#include "base/text.h"
#include "report/messages.h"
#include "report/run_summary_parts.h"

enum { MOST_SHOWN = 8, LABEL_COLUMNS = 10, PATH_COLUMNS = 48, WORTH_TELLING_SECONDS = 60 };

/* --- files in the private home -------------------------------------------------------------------------------------- */

/* Drops the files that the launcher made to mount something on: the command did not make them. */
static void drop_places(const struct plan *plan, struct home_files *left)
{
    size_t kept = 0;
    for (size_t i = 0; i < left->list.count; i++) {
        const char *path = path_join(left->arena, plan->policy->request.home, left->list.at[i].path + 1);
        bool is_place = false;
        for (size_t j = 0; j < plan->operations.count && !is_place; j++)
            is_place = text_equal(plan->operations.at[j].path, path);
        if (!is_place)
            left->list.at[kept++] = left->list.at[i];
    }
    left->list.count = kept;
}

void home_files_find_new(const struct plan *plan, const struct home *home, struct home_files *ret_left)
{
    *ret_left = (struct home_files){.arena = plan->policy->arena, .since = home->began};
    home_files_find(home->fd, ret_left);
    drop_places(plan, ret_left);
}

void home_files_add(struct buf *out, const struct style *style, const struct home_files *left, size_t most,
                    size_t indent)
{
    for (size_t i = 0; i < left->list.count && i < most; i++) {
        const struct home_file *file = &left->list.at[i];
        buf_printf(out, "%*s", (int)indent, "");
        style_add_column(style, out, COLOUR_BOLD, arena_printf(left->arena, "~%s", file->path), PATH_COLUMNS);
        buf_printf(out, "%12s", size_text(left->arena, file->size));
        buf_add_char(out, '\n');
    }
    size_t more = left->list.count > most ? left->list.count - most : 0;
    if (more || left->is_cut)
        buf_printf(out, "%*sand %s%zu more\n", (int)indent, "", left->is_cut ? "at least " : "", more);
}

/* The path in quotes, so that bawn and not the shell reads the ~. NULL if quotes do not make it safe to type. */
static const char *typed_path(struct arena *arena, const char *path)
{
    if (strchr(path, '\''))
        return NULL;
    for (const char *at = path; *at; at++) {
        if ((unsigned char)*at < ' ' || (unsigned char)*at >= 0x7f)
            return NULL;
    }
    return arena_printf(arena, "'~%s'", path);
}

/* --- lines for a terminal -------------------------------------------------------------------------------------------- */

struct lines {
    const struct run_summary *summary;
    struct style style;
    struct arena *arena;
    struct buf *out;
};

/* Begins a line with its label, or below the label of the line before. */
static void begin_line(struct lines *lines, enum colour colour, const char *label)
{
    buf_add_str(lines->out, "  ");
    style_add_column(&lines->style, lines->out, *label ? colour : COLOUR_PLAIN, label, LABEL_COLUMNS);
}

static void add(struct lines *lines, enum colour colour, const char *text)
{
    style_add(&lines->style, lines->out, colour, text);
}

static void add_files(struct lines *lines)
{
    const struct changed *changed = lines->summary->changed;
    if (changed->mode == RECORD_DISCARD) {
        begin_line(lines, COLOUR_BOLD, "files");
        buf_add_str(lines->out, "what it wrote in the workspace was discarded\n");
    }
    if (!changed->count)
        return;
    bool waits = changed->mode == RECORD_REVIEW;
    begin_line(lines, COLOUR_BOLD, "files");
    buf_printf(lines->out, "%" PRIu64 " %s", changed->count - changed->in_repository,
               waits ? "waiting for review" : "changed");
    if (changed->in_repository)
        buf_printf(lines->out, " and %zu git file%s", changed->in_repository,
                   changed->in_repository == 1 ? "" : "s");
    if (changed->risky) {
        buf_add_str(lines->out, ", ");
        add(lines, COLOUR_YELLOW,
            arena_printf(lines->arena, "%zu could run on your machine", changed->risky));
    }
    buf_add_char(lines->out, '\n');
    size_t shown = 0;
    for (; shown < changed->files.count && shown < MOST_SHOWN; shown++) {
        const struct changed_file *file = &changed->files.at[shown];
        begin_line(lines, COLOUR_PLAIN, "");
        buf_printf(lines->out, "%c ", file->letter);
        add(lines, file->reason ? COLOUR_YELLOW : COLOUR_PLAIN, file->path);
        if (file->reason)
            add(lines, COLOUR_DIM, arena_printf(lines->arena, "  %s", file->reason));
        buf_add_char(lines->out, '\n');
    }
    uint64_t more = changed->count - changed->in_repository - shown;
    if (more && shown) {
        begin_line(lines, COLOUR_PLAIN, "");
        buf_printf(lines->out, "and %" PRIu64 " more\n", more);
    }
}

static void add_used(struct lines *lines)
{
    const used_list *used = lines->summary->used;
    if (!used->count)
        return;
    begin_line(lines, COLOUR_BOLD, "reached");
    for (size_t i = 0; i < used->count && i < MOST_SHOWN; i++) {
        buf_add_str(lines->out, i ? ", " : "");
        add(lines, COLOUR_PLAIN, used->at[i].host);
        uint64_t moved = used->at[i].sent + used->at[i].received;
        if (moved)
            add(lines, COLOUR_DIM, arena_printf(lines->arena, " (%s)", size_text(lines->arena, moved)));
    }
    if (used->count > MOST_SHOWN)
        buf_printf(lines->out, " and %zu more", used->count - MOST_SHOWN);
    buf_add_char(lines->out, '\n');
}

static void add_host(struct lines *lines, enum colour colour, const char *label,
                     const struct refused_host *host)
{
    begin_line(lines, colour, label);
    add(lines, COLOUR_PLAIN, summary_refused(lines->arena, host));
    add(lines, COLOUR_DIM, arena_printf(lines->arena, " %s", host->sentence));
    buf_add_char(lines->out, '\n');
}

/* Hosts that a rule allows, and that could not be reached. */
static void add_unreachable(struct lines *lines)
{
    const refused_list *unreachable = lines->summary->unreachable;
    for (size_t i = 0; i < unreachable->count && i < MOST_SHOWN; i++)
        add_host(lines, COLOUR_YELLOW, i ? "" : "failed", &unreachable->at[i]);
}

static void add_refused(struct lines *lines)
{
    const struct run_summary *summary = lines->summary;
    for (size_t i = 0; i < summary->refused->count && i < MOST_SHOWN; i++)
        add_host(lines, COLOUR_RED, i ? "" : "refused", &summary->refused->at[i]);
    if (summary->refused_in_all > MOST_SHOWN) {
        begin_line(lines, COLOUR_PLAIN, "");
        buf_printf(lines->out, "and %zu more\n", summary->refused_in_all - MOST_SHOWN);
    }
}

static void add_tripwires(struct lines *lines)
{
    const fired_list *fired = lines->summary->fired;
    for (size_t i = 0; i < fired->count && i < MOST_SHOWN; i++) {
        begin_line(lines, COLOUR_RED, i ? "" : "tripwire");
        /* The sentence is printable already, and has ~ for the home. */
        buf_add_str(lines->out, opened_decoy_text(lines->arena, lines->style.home, &fired->at[i]));
        buf_add_str(lines->out, i ? "\n" : "; it is a decoy without secrets\n");
    }
}

static void add_misused(struct lines *lines)
{
    const misused_list *misused = lines->summary->misused;
    for (size_t i = 0; i < misused->count && i < MOST_SHOWN; i++) {
        begin_line(lines, COLOUR_RED, i ? "" : "secret");
        buf_printf(lines->out, "the placeholder of %s was sent to ", misused->at[i].name);
        add(lines, COLOUR_PLAIN, misused->at[i].host);
        buf_add_str(lines->out, ", which it is not for\n");
    }
}

static void add_leaks(struct lines *lines)
{
    const leaked_list *leaked = lines->summary->leaked;
    for (size_t i = 0; i < leaked->count && i < MOST_SHOWN; i++) {
        begin_line(lines, COLOUR_RED, i ? "" : "leak");
        add(lines, COLOUR_PLAIN, leaked->at[i].what);
        buf_printf(lines->out, leaked->at[i].is_stopped ? " was in a request to " : " was sent to ");
        add(lines, COLOUR_PLAIN, leaked->at[i].host);
        buf_add_str(lines->out, leaked->at[i].is_stopped ? ", which was stopped\n" : "\n");
    }
}

static void add_refused_keys(struct lines *lines)
{
    const refused_key_list *refused = lines->summary->refused_keys;
    for (size_t i = 0; i < refused->count && i < MOST_SHOWN; i++) {
        begin_line(lines, COLOUR_RED, i ? "" : "ssh key");
        buf_printf(lines->out, "%s was not used: %s\n", refused->at[i].key, refused->at[i].why);
    }
}

static void add_walls(struct lines *lines)
{
    const struct plan *plan = lines->summary->plan;
    for (size_t i = 0; i < plan->given_up.count; i++) {
        const struct given_up *given_up = &plan->given_up.at[i];
        begin_line(lines, COLOUR_YELLOW, i ? "" : "given up");
        buf_printf(lines->out, "%s by %s%s: %s\n", wall_name(given_up->wall), given_up->by,
                   given_up->if_needed ? ", if this machine lacks it" : "", wall_loss(given_up->wall));
    }
}

static void add_home(struct lines *lines)
{
    const struct home_files *left = lines->summary->left;
    if (!left->list.count)
        return;
    begin_line(lines, COLOUR_BOLD, "home");
    buf_add_str(lines->out, "new in the private home:\n");
    home_files_add(lines->out, &lines->style, left, MOST_SHOWN, LABEL_COLUMNS + 2);
}

static void add_next(struct lines *lines, bool *is_first, const char *command, const char *what)
{
    begin_line(lines, COLOUR_BOLD, *is_first ? "next" : "");
    add(lines, COLOUR_GREEN, command);
    if (what)
        add(lines, COLOUR_DIM, arena_printf(lines->arena, "  %s", what));
    buf_add_char(lines->out, '\n');
    *is_first = false;
}

/* The commands that a person is likely to type next. */
static void add_commands(struct lines *lines)
{
    const struct run_summary *summary = lines->summary;
    const struct changed *changed = summary->changed;
    bool is_first = true;
    if (changed->count) {
        bool waits = changed->mode == RECORD_REVIEW;
        add_next(lines, &is_first, arena_printf(lines->arena, "bawn diff %s", summary->session), NULL);
        add_next(lines, &is_first,
                 arena_printf(lines->arena, waits ? "bawn review %s" : "bawn undo %s", summary->session),
                 waits ? "applies or discards each file" : "takes the changes back");
    }
    struct summary_offer offers[SUMMARY_MOST_OFFERED];
    for (size_t i = 0, count = summary_offers(summary, offers); i < count; i++)
        add_next(lines, &is_first, offers[i].command, offers[i].what);
    for (size_t i = 0; i < summary->servers->count; i++)
        add_next(lines, &is_first, arena_printf(lines->arena, "bawn --publish %u", summary->servers->at[i]),
                 i ? NULL : "shows the server inside on this machine, next time");
    if (summary->held)
        add_next(lines, &is_first, arena_printf(lines->arena, "bawn held %s", summary->session), NULL);
    if (summary->left->list.count) {
        const char *typed = typed_path(lines->arena, summary->left->list.at[0].path);
        add_next(lines, &is_first, arena_printf(lines->arena, "bawn home fetch %s", typed ? typed : "PATH"),
                 "copies it here");
    }
    if (summary->session && (summary->refused_in_all || summary_count_alarms(summary)))
        add_next(lines, &is_first, arena_printf(lines->arena, "bawn log %s --denied", summary->session),
                 NULL);
}

/* A short run that changed and was refused nothing is not worth a line. */
static bool is_worth_telling(const struct run_summary *summary)
{
    return summary->changed->count || summary->changed->mode == RECORD_DISCARD || summary->refused_in_all ||
           summary->unreachable->count || summary->servers->count || summary_count_alarms(summary) ||
           summary->left->list.count || summary->milliseconds / 1000 >= WORTH_TELLING_SECONDS;
}

void run_summary_add_text(const struct run_summary *summary, const struct style *style, struct buf *out)
{
    if (!is_worth_telling(summary))
        return;
    struct lines lines = {summary, *style, summary->plan->policy->arena, out};
    lines.style.home = summary->plan->policy->request.home;
    add(&lines, COLOUR_BOLD, "bawn:");
    buf_printf(out, " %s ended after %s%s\n", summary->session ? summary->session : "the run",
               summary_elapsed(summary),
               summary->status ? arena_printf(lines.arena, " with status %d", summary->status) : "");
    add_files(&lines);
    add_used(&lines);
    add_unreachable(&lines);
    add_refused(&lines);
    add_tripwires(&lines);
    add_misused(&lines);
    add_refused_keys(&lines);
    add_leaks(&lines);
    add_walls(&lines);
    add_home(&lines);
    add_commands(&lines);
}
