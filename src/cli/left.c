#include "cli/left.h"

#include <inttypes.h>
#include <string.h>

#include "base/path.h"
#include "base/text.h"

enum { PATH_COLUMNS = 48 };

void add_left(struct buf *out, const struct style *style, const struct left *left, size_t most, size_t indent)
{
    for (size_t i = 0; i < left->files.count && i < most; i++) {
        const struct left_file *file = &left->files.at[i];
        buf_printf(out, "%*s", (int)indent, "");
        size_t columns = style_add(style, out, COLOUR_BOLD, arena_printf(left->arena, "~%s", file->path));
        for (; columns < PATH_COLUMNS; columns++)
            buf_add_char(out, ' ');
        buf_printf(out, "%12s", size_text(left->arena, file->size));
        buf_add_char(out, '\n');
    }
    size_t more = left->files.count > most ? left->files.count - most : 0;
    if (more || left->is_cut)
        buf_printf(out, "%*sand %s%zu more\n", (int)indent, "", left->is_cut ? "at least " : "", more);
}

const char *left_typed(struct arena *arena, const char *path)
{
    if (strchr(path, '\''))
        return NULL;
    for (const char *at = path; *at; at++) {
        if ((unsigned char)*at < ' ' || (unsigned char)*at >= 0x7f)
            return NULL;
    }
    return arena_printf(arena, "'~%s'", path);
}
