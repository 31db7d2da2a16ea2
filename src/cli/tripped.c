#include "cli/tripped.h"

#include "base/style.h"
#include "cli/hook.h"

const char *tripped_sentence(struct arena *arena, const char *home, const struct fired *fired)
{
    struct style style = {.home = home};
    auto_buf struct buf out = {0};
    style_add_path(&style, &out, COLOUR_PLAIN, fired->path);
    buf_add_str(&out, " was opened");
    if (fired->times > 1)
        buf_printf(&out, " %zu times", fired->times);
    if (fired->process) {
        buf_add_str(&out, " by `");
        style_add(&style, &out, COLOUR_PLAIN, fired->process);
        buf_add_char(&out, '`');
    }
    return arena_str(arena, buf_text(&out));
}

void tripped_notify(void *context, const struct fired *fired)
{
    const struct attendance *attendance = context;
    struct arena *arena = attendance->loaded->policy.arena;
    struct hook hook = {
        .command = attendance->args->notify,
        .text = arena_printf(arena, "tripwire: %s, in %s",
                             tripped_sentence(arena, attendance->loaded->request.home, fired),
                             attendance->session.name),
        .facts = {{"BAWN_EVENT", "tripwire"},
                  {"BAWN_SESSION", attendance->session.name},
                  {"BAWN_PATH", fired->path},
                  {"BAWN_PROCESS", fired->process}},
    };
    hook_start(attendance->world, &hook);
}
