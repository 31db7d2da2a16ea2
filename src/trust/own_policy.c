#include <stdlib.h>

#include "base/path.h"
#include "kernel/directories.h"
#include "trust/trust.h"

const char *own_policy_target(struct arena *arena, const char *path, struct err *err)
{
    if (directories_make(path_parent(arena, path), err) < 0)
        return NULL;
    auto_free char *real = realpath(path, NULL);
    return real ? arena_str(arena, real) : directories_resolve(arena, path);
}

static int add_line(struct arena *arena, const char *path, mode_t mode, const char *line, struct err *err)
{
    auto_policy_file struct policy_file file = POLICY_FILE_NONE;
    if (policy_file_read(arena, path, mode, &file, err) < 0)
        return -1;
    if (!policy_file_add(&file, line))
        return 0;
    return policy_file_write(arena, &file, err) < 0 ? -1 : 1;
}

int own_policy_add(struct arena *arena, const char *path, const char *line, struct err *err)
{
    const char *target = own_policy_target(arena, path, err);
    return target ? add_line(arena, target, OWN_POLICY_MODE, line, err) : -1;
}

int repository_policy_add(struct arena *arena, const char *path, const char *line, struct err *err)
{
    return add_line(arena, path, REPOSITORY_POLICY_MODE, line, err);
}
