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

/* The places that the launcher made for what it shows are no files of the command's. */
static void drop_places(const struct loaded *loaded, struct left *left)
{
    size_t kept = 0;
    for (size_t i = 0; i < left->files.count; i++) {
        const char *path = path_join(left->arena, loaded->request.home, left->files.at[i].path + 1);
        bool is_place = false;
        for (size_t j = 0; j < loaded->plan.operations.count && !is_place; j++)
            is_place = text_equal(loaded->plan.operations.at[j].path, path);
        if (!is_place)
            left->files.at[kept++] = left->files.at[i];
    }
    left->files.count = kept;
}

void find_left(const struct loaded *loaded, const struct home *home, struct left *ret_left)
{
    *ret_left = (struct left){.arena = loaded->policy.arena, .since = home->began};
    left_find(home->fd, ret_left);
    drop_places(loaded, ret_left);
}
