#include "kernel/process.h"

#include <limits.h>
#include <unistd.h>

#include "base/path.h"

const char *libexec_find(struct arena *arena, const char *name)
{
    not_zeroed char self[PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", self, sizeof(self));
    if (size <= 0 || (size_t)size >= sizeof(self))
        return NULL;
    const char *folder = path_parent(arena, arena_copy(arena, self, (size_t)size));
    const char *const candidates[] = {
        path_join(arena, folder, name),
        path_clean(arena, folder, arena_printf(arena, "../libexec/%s", name)),
        path_join(arena, BAWN_LIBEXEC, name),
    };
    for (size_t i = 0; i < array_len(candidates); i++) {
        if (access(candidates[i], X_OK) == 0)
            return candidates[i];
    }
    return NULL;
}
