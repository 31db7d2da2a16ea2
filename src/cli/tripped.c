#include "cli/tripped.h"

#include "base/style.h"

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
