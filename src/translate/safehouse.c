/* Agent Safehouse's configuration of a project: lists of paths with colons between them. */
#include <string.h>

#include "base/path.h"
#include "base/text.h"
#include "translate/import.h"

static void import_paths(struct import *import, const char *key, const char *paths,
                         import_text_function *grant)
{
    const char *path;
    while ((path = path_next_folder(import->arena, &paths))) {
        if (!*path)
            continue;
        import_item(import, "%s %s", key, path);
        grant(import, path);
    }
}

int import_safehouse(struct import *import, struct err *err not_used)
{
    const char *at = import->text;
    while (*at) {
        size_t size = strcspn(at, "\n");
        char *line = arena_copy(import->arena, at, size);
        at += size + (at[size] == '\n');
        line += strspn(line, " \t");
        line[strcspn(line, "\r")] = '\0';
        if (text_starts_with(line, "add-dirs-ro=")) {
            import_paths(import, "add-dirs-ro", line + strlen("add-dirs-ro="), import_read);
        } else if (text_starts_with(line, "add-dirs=")) {
            import_paths(import, "add-dirs", line + strlen("add-dirs="), import_write);
        } else if (*line && *line != '#') {
            import_item(import, "%s", line);
            import_left(import, LOST_OTHER, "bawn has no such setting");
        }
    }
    return 0;
}
