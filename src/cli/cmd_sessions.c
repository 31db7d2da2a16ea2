/* `bawn sessions`: lists sessions with their state. */
#include <dirent.h>
#include <string.h>

#include "base/fd.h"
#include "base/json.h"
#include "cli/choose.h"
#include "cli/commands.h"
#include "cli/say.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"
#include "report/event.h"
#include "session/upkeep.h"
#include "workspace/layers.h"

struct listed {
    const char *name;
    bool is_running;
    bool is_unrepaired; /* its bawn was killed, and the repair failed */
    bool has_record;    /* it has changes to apply or undo */
    struct record record;
    struct glance glance;
    uint64_t disk; /* bytes; only with --all */
};

typedef VEC(struct listed) listed_list;

static struct timespec began(const struct listed *listed)
{
    return listed->has_record ? listed->record.began : listed->glance.began;
}

static void sort_latest_first(listed_list *sessions)
{
    VEC(struct session_age) ages = {0};
    listed_list sorted = {0};
    for (size_t i = 0; i < sessions->count; i++)
        vec_push(&ages, (struct session_age){sessions->at[i].name, began(&sessions->at[i]), i});
    sessions_sort(ages.at, ages.count);
    for (size_t i = ages.count; i--;)
        vec_push(&sorted, sessions->at[ages.at[i].index]);
    vec_free(&ages);
    vec_free(sessions);
    *sessions = sorted;
}

static const char *workspace_of(const struct listed *listed)
{
    return listed->has_record ? listed->record.workspace : listed->glance.workspace;
}

/*
 * A run that ended and changed nothing: there is nothing to apply or undo. One that was refused something or opened a decoy is worth a
 * look, and a review whose changes were discarded had some.
 */
static bool left_nothing(const struct listed *listed)
{
    const struct record *record = &listed->record;
    bool was_discarded =
        listed->has_record && record->mode == RECORD_REVIEW && record->state == STATE_DISCARDED;
    return !listed->is_running && !listed->is_unrepaired && !listed->glance.was_killed &&
           !listed->glance.refusal && !was_discarded &&
           (!listed->has_record || (record->changes == 0 && record_is_over(record)));
}

static void collect(const struct choice *choice, bool all, listed_list *ret_listed)
{
    struct arena *arena = choice->loaded.policy.arena;
    auto_dir DIR *folder = choice->sessions_fd < 0 ? NULL : directories_list(choice->sessions_fd);
    for (const struct dirent *entry; folder && (entry = readdir(folder));) {
        struct listed listed = {.name = arena_str(arena, entry->d_name)};
        struct err ignored;
        if (*entry->d_name == '.')
            continue;
        auto_fd int fd = session_open(choice->sessions_fd, entry->d_name);
        listed.has_record = fd >= 0 && record_load(fd, arena, &listed.record, &ignored) > 0;
        bool has_journal = fd >= 0 && glance_at(fd, arena, choice->loaded.request.home, &listed.glance);
        const char *workspace = workspace_of(&listed);
        if ((!has_journal && !listed.has_record) || !workspace ||
            (!all && strcmp(workspace, choice->workspace) != 0))
            continue;
        listed.disk = all ? layers_disk_use(fd) : 0;
        listed.is_running = record_is_busy(choice->sessions_fd, entry->d_name);
        listed.is_unrepaired = session_is_set_aside(arena, choice->state, entry->d_name);
        vec_push(ret_listed, listed);
    }
    sort_latest_first(ret_listed);
}

static const char *state_of(const struct listed *listed)
{
    if (listed->is_running)
        return "running";
    if (listed->is_unrepaired)
        return "unrepaired";
    if (listed->has_record)
        return record_state_name(listed->record.state);
    return listed->glance.was_killed ? "killed" : "ended";
}

static const char *mode_of(const struct listed *listed)
{
    if (listed->has_record)
        return record_mode_name(listed->record.mode);
    return listed->glance.mode ? listed->glance.mode : "live";
}

/* Time since the last record in its journal. */
static int64_t idle_seconds(const struct listed *listed)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return listed->glance.last.tv_sec && now.tv_sec > listed->glance.last.tv_sec
               ? now.tv_sec - listed->glance.last.tv_sec
               : 0;
}

static void add_json(struct json *json, const struct listed *listed)
{
    json_open(json, NULL, '{');
    json_str(json, "name", listed->name);
    json_str(json, "workspace", workspace_of(listed));
    json_str(json, "mode", mode_of(listed));
    json_str(json, "state", state_of(listed));
    json_int(json, "began", began(listed).tv_sec);
    if (listed->has_record && listed->record.ended.tv_sec)
        json_int(json, "ended", listed->record.ended.tv_sec);
    json_int(json, "files", listed->has_record ? (int64_t)listed->record.changes : 0);
    if (listed->disk)
        json_int(json, "disk", (int64_t)listed->disk);
    if (listed->has_record && *listed->record.of)
        json_str(json, "of", listed->record.of);
    json_str(json, "command", listed->glance.command);
    json_str(json, "status", listed->glance.status);
    if (listed->is_running)
        json_int(json, "idle", idle_seconds(listed));
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
    uint64_t files = listed->has_record ? listed->record.changes : 0;
    buf_printf(out, "  %-10s %-8s %5llu file%s  %s", state_of(listed), mode_of(listed),
               (unsigned long long)files, files == 1 ? " " : "s", age_text(arena, began(listed)));
    if (listed->has_record && *listed->record.of)
        buf_printf(out, ", of %s", listed->record.of);
    if (listed->is_running && listed->glance.last.tv_sec)
        buf_printf(out, ", last active %s", age_text(arena, listed->glance.last));
    if (with_workspace) {
        buf_printf(out, ", %s on disk  ", size_text(arena, listed->disk));
        style_add_path(style, out, COLOUR_DIM, workspace_of(listed));
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
    };
    for (size_t i = 0; i < array_len(states); i++) {
        bool is_listed = false;
        vec_each (const struct listed, listed, sessions)
            is_listed |= (all || !left_nothing(listed)) && strcmp(state_of(listed), states[i].state) == 0;
        if (!is_listed)
            continue;
        buf_add_str(out, "  ");
        style_add_column(style, out, COLOUR_DIM, states[i].state, 11);
        style_add(style, out, COLOUR_DIM, states[i].meaning);
        buf_add_char(out, '\n');
    }
}

static int list(const struct world *world, const struct args *args, struct choice *choice)
{
    struct arena *arena = choice->loaded.policy.arena;
    struct style style = style_for_out(world, choice->loaded.request.home);
    bool all = args->flags & FLAG(ALL);
    auto_vec listed_list sessions = {0};
    collect(choice, all, &sessions);
    auto_buf struct buf out = {0};
    struct json json = {.out = &out};
    if (args->flags & FLAG(JSON))
        json_open(&json, NULL, '[');
    size_t hidden = 0;
    for (size_t i = 0; i < sessions.count; i++) {
        if (args->flags & FLAG(JSON))
            add_json(&json, &sessions.at[i]);
        else if (!all && left_nothing(&sessions.at[i]))
            hidden++;
        else
            add_line(&out, &style, arena, &sessions.at[i], all);
    }
    if (world->out_is_terminal && !(args->flags & FLAG(JSON)))
        add_states(&out, &style, &sessions, all);
    if (hidden && !(args->flags & FLAG(JSON)))
        buf_printf(&out, "%zu run%s changed nothing; --all lists %s.\n", hidden, hidden == 1 ? "" : "s",
                   hidden == 1 ? "it" : "them");
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
