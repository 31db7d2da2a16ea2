/* `bawn sessions`: lists sessions with their state. */
#include <string.h>

#include "base/json.h"
#include "cli/choose.h"
#include "cli/commands.h"
#include "cli/say.h"
#include "report/sessions.h"
#include "session/upkeep.h"

static void add_json(struct json *json, const struct listed *listed)
{
    json_open(json, NULL, '{');
    json_str(json, "name", listed->name);
    json_str(json, "workspace", listed_workspace(listed));
    json_str(json, "mode", listed_mode(listed));
    json_str(json, "state", listed_state(listed));
    json_int(json, "began", listed_began(listed).tv_sec);
    if (listed->has_record && listed->record.ended.tv_sec)
        json_int(json, "ended", listed->record.ended.tv_sec);
    json_int(json, "files", (int64_t)listed_files(listed));
    if (listed->disk)
        json_int(json, "disk", (int64_t)listed->disk);
    if (listed->has_record && *listed->record.of)
        json_str(json, "of", listed->record.of);
    json_str(json, "command", listed->glance.command);
    json_str(json, "status", listed->glance.status);
    if (listed->is_running)
        json_int(json, "idle", listed_idle(listed));
    if (listed->glance.refusal) {
        json_str(json, "last_refusal", listed->glance.refusal);
        json_str(json, "last_refusal_event", listed->glance.refusal_event);
    }
    json_close(json, '}');
}

static void add_line(struct buf *out, const struct style *style, struct arena *arena,
                     const struct listed *listed, bool with_workspace)
{
    bool waits = listed->has_record && listed->record.state == STATE_WAITING;
    style_add_column(style, out,
                     listed->is_running ? COLOUR_GREEN
                     : waits            ? COLOUR_YELLOW
                                        : COLOUR_BOLD,
                     listed->name, 22);
    uint64_t files = listed_files(listed);
    buf_printf(out, "  %-10s %-9s%5llu file%s  %s", listed_state(listed), listed_mode(listed),
               (unsigned long long)files, files == 1 ? " " : "s", age_text(arena, listed_began(listed)));
    if (listed->has_record && *listed->record.of)
        buf_printf(out, ", of %s", listed->record.of);
    if (listed->is_running && listed->glance.last.tv_sec)
        buf_printf(out, ", last active %s", age_text(arena, listed->glance.last));
    if (with_workspace) {
        buf_printf(out, ", %s on disk  ", size_text(arena, listed->disk));
        style_add_path(style, out, COLOUR_DIM, listed_workspace(listed));
    }
    buf_add_char(out, '\n');
    if (listed->glance.refusal) {
        buf_printf(out, "%24s", "");
        style_add(style, out, COLOUR_DIM, event_label(listed->glance.refusal_event));
        buf_printf(out, ": %s\n", listed->glance.refusal); /* already printable */
    }
}

/* What the states mean, of those that are listed. */
static void add_states(struct buf *out, const struct style *style, const listed_list *sessions, bool all)
{
    static const struct {
        const char *state, *meaning;
    } states[] = {
        {"running", "the command has not ended"},
        {"waiting", "its changes wait for `bawn review`, `apply` or `discard`"},
        {"done", "its changes are in the workspace; `bawn undo` takes them back"},
        {"undone", "its changes were taken back; `bawn redo` brings them back"},
        {"discarded", "its changes were thrown away"},
        {"replacing", "an apply or undo was interrupted; the next command finishes it"},
        {"killed", "bawn was killed before the run ended"},
        {"unrepaired", "it was killed and not repaired; `bawn sessions --repair` tries again"},
        {"ended", "it changed nothing"},
        {"pruned", "its snapshot was removed; it can no longer be undone"},
    };
    for (size_t i = 0; i < array_len(states); i++) {
        bool is_listed = false;
        vec_each (const struct listed, listed, sessions)
            is_listed |=
                (all || !listed_left_nothing(listed)) && strcmp(listed_state(listed), states[i].state) == 0;
        if (!is_listed)
            continue;
        buf_add_str(out, "  ");
        style_add_column(style, out, COLOUR_DIM, states[i].state, 11);
        style_add(style, out, COLOUR_DIM, states[i].meaning);
        buf_add_char(out, '\n');
    }
}

/* The runs that are not listed: there is nothing to apply or undo. */
static void add_hidden(struct buf *out, size_t unchanged, size_t pruned)
{
    if (pruned)
        buf_printf(out, "%zu older run%s can no longer be undone; --all lists %s.\n", pruned,
                   pruned == 1 ? "" : "s", pruned == 1 ? "it" : "them");
    if (unchanged)
        buf_printf(out, "%zu run%s changed nothing; --all lists %s.\n", unchanged, unchanged == 1 ? "" : "s",
                   unchanged == 1 ? "it" : "them");
}

static int list(const struct world *world, const struct args *args, struct choice *choice)
{
    struct arena *arena = choice->loaded.policy.arena;
    struct style style = style_for_out(world, choice->loaded.request.home);
    bool all = args->flags & FLAG(ALL);
    auto_vec listed_list sessions = {0};
    struct sessions_wanted wanted = {.arena = arena,
                                     .state = choice->state,
                                     .home = choice->loaded.request.home,
                                     .workspace = all ? NULL : choice->workspace,
                                     .loaded = &choice->records,
                                     .with_disk = all};
    sessions_find(&wanted, choice->sessions_fd, &sessions);
    auto_buf struct buf out = {0};
    struct json json = {.out = &out};
    if (args->flags & FLAG(JSON))
        json_open(&json, NULL, '[');
    size_t unchanged = 0, pruned = 0;
    for (size_t i = 0; i < sessions.count; i++) {
        if (args->flags & FLAG(JSON))
            add_json(&json, &sessions.at[i]);
        else if (!all && listed_left_nothing(&sessions.at[i]))
            (*(listed_is_pruned(&sessions.at[i]) ? &pruned : &unchanged))++;
        else
            add_line(&out, &style, arena, &sessions.at[i], all);
    }
    if (world->out_is_terminal && !(args->flags & FLAG(JSON)))
        add_states(&out, &style, &sessions, all);
    if (!(args->flags & FLAG(JSON)))
        add_hidden(&out, unchanged, pruned);
    if (args->flags & FLAG(JSON)) {
        json_close(&json, ']');
        buf_add_char(&out, '\n');
    } else if (sessions.count == 0) {
        buf_add_str(&out, "No session has run here.\n");
    }
    put(world->out, &out);
    return EXIT_FINE;
}

static int repair(const struct world *world)
{
    size_t count;
    if (!repair_set_aside(&world->caller, &count))
        return EXIT_REFUSED;
    if (count)
        fprintf(world->out, "Repaired %zu session%s.\n", count, count == 1 ? "" : "s");
    else
        fputs("No session needs repair.\n", world->out);
    return EXIT_FINE;
}

int cmd_sessions(const struct world *world, const struct args *args)
{
    return (args->flags & FLAG(REPAIR)) ? repair(world) : choose_here_then(world, args, list);
}
