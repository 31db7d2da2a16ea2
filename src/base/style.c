#include "base/style.h"

#include <inttypes.h>
#include <string.h>

#include "base/path.h"
#include "base/text.h"

size_t style_add(const struct style *style, struct buf *buf, enum colour colour, const char *text)
{
    static const char *const codes[] = {
        [COLOUR_BOLD] = "\033[1m",   [COLOUR_DIM] = "\033[2m",     [COLOUR_RED] = "\033[31m",
        [COLOUR_GREEN] = "\033[32m", [COLOUR_YELLOW] = "\033[33m",
    };
    bool coloured = style->colours && colour != COLOUR_PLAIN;
    if (coloured)
        buf_add_str(buf, codes[colour]);
    size_t columns = text_add_printable(buf, text, strlen(text));
    if (coloured)
        buf_add_str(buf, "\033[0m");
    return columns;
}

void style_add_column(const struct style *style, struct buf *buf, enum colour colour, const char *text,
                      size_t width)
{
    for (size_t columns = style_add(style, buf, colour, text); columns < width; columns++)
        buf_add_char(buf, ' ');
}

const char *style_path(const struct style *style, struct arena *arena, const char *path)
{
    bool in_home = style->home && style->home[1] && *path == '/' && path_is_beneath(path, style->home);
    return in_home ? arena_printf(arena, "~%s", path + strlen(style->home)) : path;
}

size_t style_add_path(const struct style *style, struct buf *buf, enum colour colour, const char *path)
{
    auto_arena struct arena arena = {0};
    return style_add(style, buf, colour, style_path(style, &arena, path));
}

const char *size_text(struct arena *arena, uint64_t size)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB"};
    size_t unit = 0;
    for (; size >= 10240 && unit + 1 < array_len(units); unit++)
        size /= 1024;
    return arena_printf(arena, "%" PRIu64 " %s", size, units[unit]);
}
