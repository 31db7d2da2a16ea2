/* Lists sessions that left something: what waits, what was changed, what was undone. */
#include "base/json.h"
#include "cli/choose.h"
#include "cli/commands.h"

static void add_json(struct json *json, const struct record *record)
{
    json_open(json, NULL, '{');
    json_str(json, "name", record->name);
    json_str(json, "workspace", record->workspace);
    json_str(json, "mode", record_mode_name(record->mode));
    json_str(json, "state", record_state_name(record->state));
    json_int(json, "began", record->began.tv_sec);
    if (record->ended.tv_sec)
        json_int(json, "ended", record->ended.tv_sec);
    json_int(json, "files", (int64_t)record->changes);
    if (*record->of)
        json_str(json, "of", record->of);
    json_close(json, '}');
}

static void add_line(struct buf *out, const struct style *style, struct arena *arena,
                     const struct record *record, bool with_workspace)
{
    bool waits = record->state == STATE_WAITING;
    size_t columns = style_add(style, out, waits ? COLOUR_YELLOW : COLOUR_BOLD, record->name);
    for (; columns < 22; columns++)
        buf_add_char(out, ' ');
    buf_printf(out, "  %-10s %-8s %5llu file%s  %s", record_state_name(record->state),
               record_mode_name(record->mode), (unsigned long long)record->changes,
               record->changes == 1 ? " " : "s", age_text(arena, record->began));
    if (*record->of)
        buf_printf(out, ", of %s", record->of);
    if (with_workspace) {
        buf_add_str(out, "  ");
        style_add_path(style, out, COLOUR_DIM, record->workspace);
    }
    buf_add_char(out, '\n');
}

static int list(const struct world *world, const struct args *args, struct choice *choice)
{
    struct arena *arena = choice->loaded.policy.arena;
    struct style style = style_for_out(world);
    style.home = choice->loaded.request.home;
    bool all = args->flags & FLAG_ALL;
    struct err err = {0};
    record_list everywhere = {0};
    if (all && choice->sessions_fd >= 0 &&
        record_list_all(choice->sessions_fd, arena, NULL, &everywhere, &err) < 0) {
        say_err(world, &err);
        return EXIT_REFUSED;
    }
    const record_list *records = all ? &everywhere : &choice->records;
    auto_buf struct buf out = {0};
    struct json json = {.out = &out};
    if (args->flags & FLAG_JSON)
        json_open(&json, NULL, '[');
    for (size_t i = records->count; i--;) {
        if (args->flags & FLAG_JSON)
            add_json(&json, &records->at[i]);
        else
            add_line(&out, &style, arena, &records->at[i], all);
    }
    if (args->flags & FLAG_JSON) {
        json_close(&json, ']');
        buf_add_char(&out, '\n');
    } else if (records->count == 0) {
        buf_add_str(&out, "No session has left anything here.\n");
    }
    put(world->out, &out);
    vec_free(&everywhere);
    return EXIT_FINE;
}

int cmd_sessions(const struct world *world, const struct args *args)
{
    struct choice choice;
    int status = choose_begin(world, args, &choice);
    if (status == 0)
        status = list(world, args, &choice);
    choose_end(&choice);
    return status;
}
