#include "cli/tripped.h"

#include "cli/hook.h"
#include "cli/style.h"

/* "~/.ssh/id_rsa was read, by `cat …`": a sentence without a full stop. */
static const char *tripwire_sentence(const struct attendance *attendance, const struct fired *fired)
{
    struct arena *arena = attendance->loaded->policy.arena;
    struct style style = {.home = attendance->loaded->request.home};
    auto_buf struct buf out = {0};
    buf_add_str(&out, "tripwire: ");
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
    struct hook hook = {
        .command = attendance->args->notify,
        .text = arena_printf(attendance->loaded->policy.arena, "%s, in %s",
                             tripwire_sentence(attendance, fired), attendance->session.name),
        .facts = {{"BAWN_EVENT", "tripwire"},
                  {"BAWN_SESSION", attendance->session.name},
                  {"BAWN_PATH", fired->path},
                  {"BAWN_PROCESS", fired->process}},
    };
    hook_start(attendance->world, &hook);
}

void say_tripped(const struct attendance *attendance)
{
    const struct tripwires *tripwires = &attendance->guard.tripwires;
    for (size_t i = 0; attendance->world->err_is_terminal && i < tripwires->fired.count; i++)
        say_problem(attendance->world, tripwire_sentence(attendance, &tripwires->fired.at[i]),
                    "it is a decoy and holds no secret");
}
