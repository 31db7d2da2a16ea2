#include <string.h>

#include "base/path.h"
#include "hold/past.h"
#include "kernel/unix_sockets.h"

/* Has a process bound a relative path that ends in this name? */
static bool is_bound(const char *list, const char *name)
{
    for (const char *bound; (bound = unix_sockets_next(&list));) {
        const char *slash = strrchr(bound, '/');
        if (*bound != '/' && strcmp(slash ? slash + 1 : bound, name) == 0)
            return true;
    }
    return false;
}

static int hide_those_of(const struct past *past, struct amendments *amendments, struct arena *arena,
                         struct err *err)
{
    const char *list;
    if (!past->tree || !past->tree->sockets.count)
        return 0;
    if (unix_sockets_read(arena, &list, err) < 0)
        return -1;
    for (size_t i = 0; i < past->tree->sockets.count; i++) {
        const char *path = path_join(arena, past->workspace, past->tree->sockets.at[i]);
        if (is_bound(list, path_name(path)))
            amend_hide(amendments, path);
    }
    return 0;
}

int sockets_hide(struct amendments *amendments, struct arena *arena, const struct past *past, struct err *err)
{
    int result = 0;
    for (; past && result == 0; past = past->next)
        result = hide_those_of(past, amendments, arena, err);
    return result;
}
