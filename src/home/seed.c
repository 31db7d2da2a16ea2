#include "home/home.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"
#include "workspace/layers.h"

#define SEEDS_NAME "seeds"

static int open_seeds(int folder_fd)
{
    if (mkdirat(folder_fd, SEEDS_NAME, 0700) < 0 && errno != EEXIST)
        return -1;
    return open_directory_at(folder_fd, SEEDS_NAME);
}

/* An upper layer serves one overlay at a time. A second run starts with empty layers. */
static int take_seeds(const struct session *session, struct home *home, struct err *err)
{
    home->seeds_fd = open_seeds(home->state_fd);
    if (home->seeds_fd >= 0 && flock(home->seeds_fd, LOCK_EX | LOCK_NB) < 0) {
        close(home->seeds_fd);
        home->seeds_fd = open_seeds(session->folder_fd);
        home->has_own_seeds = home->seeds_fd >= 0;
    }
    return home->seeds_fd < 0 ? err_sys(err, errno, "cannot make a directory for changes of caches") : 0;
}

/* Makes the upper layer of a seed. Returns NULL, or the reason why it cannot. */
static const char *make_layer(int layer_fd, const char *covered)
{
    struct err ignored;
    struct stat status;
    /* The kernel refuses a work folder that an interrupted run left. */
    if (remove_tree(layer_fd, "work", &ignored) < 0)
        return "files of an earlier run there cannot be removed";
    bool is_kept = fstatat(layer_fd, "upper", &status, AT_SYMLINK_NOFOLLOW) == 0;
    const char *unfit = NULL;
    if (!is_kept)
        unfit = layers_make_in(layer_fd);
    else if (mkdirat(layer_fd, "work", 0700) < 0)
        unfit = strerrordesc_np(errno);
    if (!unfit && (stat(covered, &status) < 0 || fchmodat(layer_fd, "upper", status.st_mode & 0777, 0) < 0))
        unfit = strerrordesc_np(errno);
    return unfit;
}

/* Does the rule come from the user, or from a profile that the user asked for? Otherwise a missing seed is not reported. */
static bool was_asked_for(const struct operation *operation)
{
    return operation->because->source->asked_by >= LAYER_ADMIN;
}

/* Sets *ret_layer to the layer of one seed; NULL if it cannot be made and nobody asked for it. */
static int begin_one(struct arena *arena, const struct operation *operation, const char *seeds, int seeds_fd,
                     const char **ret_layer, struct err *err)
{
    char hash[SHA256_HEX_SIZE];
    sha256_hex(operation->path, strlen(operation->path), hash);
    const char *name = arena_printf(arena, "%.16s", hash);
    if (mkdirat(seeds_fd, name, 0700) < 0 && errno != EEXIST)
        return err_sys(err, errno, "cannot make room in %s", seeds);
    auto_fd int layer_fd = open_directory_at(seeds_fd, name);
    if (layer_fd < 0)
        return err_sys(err, errno, "cannot open %s/%s", seeds, name);
    const char *unfit = make_layer(layer_fd, operation->path);
    if (unfit && was_asked_for(operation))
        return err_set(err,
                       "%s is not shown inside, because the file system of %s does not support overlays: %s",
                       operation->path, seeds, unfit);
    *ret_layer = unfit ? NULL : arena_printf(arena, "%s/%s", seeds, name);
    return 0;
}

int seed_begin(struct arena *arena, const struct plan *plan, struct amendments *amendments,
               const struct session *session, struct home *home, struct err *err)
{
    int result = 0;
    for (size_t i = 0; i < plan->operations.count; i++) {
        const struct operation *operation = &plan->operations.at[i];
        const char *layer = NULL;
        if (operation->kind != OP_SEED || home->state_fd < 0)
            continue;
        if (home->seeds_fd < 0 && take_seeds(session, home, err) < 0)
            return -1;
        const char *seeds = home->has_own_seeds ? arena_printf(arena, "%s/" SEEDS_NAME, session->folder)
                                                : arena_printf(arena, "%s.state/" SEEDS_NAME, home->path);
        if (begin_one(arena, operation, seeds, home->seeds_fd, &layer, err) < 0)
            result = -1;
        else if (layer)
            amend_layer(amendments, i, layer);
    }
    return result;
}

int seed_remove(const struct session *session, struct err *err)
{
    return remove_tree(session->folder_fd, SEEDS_NAME, err);
}
