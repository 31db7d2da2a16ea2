/*
 * Where the folders of a fleet are.
 *
 * What bawn obeys lies in its state folder. The user's --out is known by a hash of its path, so nothing in that folder says which fleet it
 * belongs to: a copy of the folder, or one that a sandbox made, is no fleet.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "base/path.h"
#include "fleet/folder.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"

const char *fleets_folder(struct arena *arena, const char *state)
{
    return directories_resolve(arena, arena_printf(arena, "%s/bawn/fleets", state));
}

const char *fleet_own_folder(struct arena *arena, const char *state, const char *path)
{
    char digest[SHA256_HEX_SIZE];
    const char *fleets = fleets_folder(arena, state), *parent = path_parent(arena, path);
    if (strcmp(parent, fleets) == 0)
        return path;
    if (strcmp(parent, arena_printf(arena, "%s/bawn/fleets", state)) == 0)
        return path_join(arena, fleets, path_name(path));
    sha256_hex(path, strlen(path), digest);
    return arena_printf(arena, "%s/@%s", fleets, digest);
}

bool fleet_is_apart(const struct fleet *fleet)
{
    return strcmp(fleet->path, fleet->own) != 0;
}

int fleet_make_directory(const char *path, struct err *err)
{
    auto_fd int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int fd = root_fd < 0 ? -1 : directories_make_beneath(root_fd, path + 1);
    if (fd >= 0)
        return fd;
    if (errno != ELOOP && errno != ENOTDIR)
        return err_sys(err, errno, "cannot make %s", path);
    err_set(err, "%s is, or lies behind, a symbolic link or a file, and links are not followed", path);
    return err_hint(err, "name the real path, if the results should go there");
}

int fleet_open_output(const struct fleet *fleet, const char *id, bool makes_it, struct err *err)
{
    auto_arena struct arena arena = {0};
    const char *path = path_join(&arena, fleet->path, id);
    if (!fleet_is_apart(fleet))
        return fleet_open_task(fleet, id, err);
    if (!task_id_is_valid(id))
        return err_set(err, "%s has no task %s", fleet->path, id);
    if (makes_it)
        return fleet_make_directory(path, err);
    int fd = open_absolute(path, O_RDONLY | O_DIRECTORY);
    return fd < 0 ? err_sys(err, errno, "cannot open %s", path) : fd;
}

/*
 * Adds the places that are still there to the first one. Each path ends with a NUL. A folder of results that
 * was removed takes bawn's own folder for it along: nobody could name it any more.
 */
static void keep_places(const struct buf *places, const char *state, struct arena *arena, struct buf *out)
{
    struct err ignored; /* what cannot be removed is left */
    auto_fd int fleets_fd = open_directory_at(AT_FDCWD, fleets_folder(arena, state));
    for (const char *path = buf_text(places); path < places->bytes + places->size; path += strlen(path) + 1) {
        bool is_there = access(path, F_OK) == 0 || errno != ENOENT;
        const char *own = path_name(fleet_own_folder(arena, state, path));
        if (is_there && strcmp(path, buf_text(out)) != 0)
            buf_add(out, path, strlen(path) + 1);
        if (!is_there && fleets_fd >= 0 && remove_tree(fleets_fd, own, &ignored) < 0)
            continue;
    }
}

int fleet_note_place(const struct fleet *fleet, const char *state, struct err *err)
{
    auto_arena struct arena arena = {0};
    auto_buf struct buf before = {0}, now = {0};
    const char *path = arena_printf(&arena, "%s/" FLEETS_ELSEWHERE, state);
    auto_fd int folder_fd = directories_open_made(path_parent(&arena, path), err);
    if (folder_fd < 0)
        return -1;
    auto_fd int fd =
        flock(folder_fd, LOCK_EX) < 0 ? -1 : open_beneath(folder_fd, path_name(path), O_RDONLY, 0);
    if ((fd < 0 && errno != ENOENT) || (fd >= 0 && buf_read(&before, fd, FLEETS_ELSEWHERE_LARGEST) < 0))
        return err_sys(err, errno, "cannot read %s", path);
    buf_add(&now, fleet->path, strlen(fleet->path) + 1);
    keep_places(&before, state, &arena, &now);
    if (now.size >= FLEETS_ELSEWHERE_LARGEST)
        return err_set(err, "%s is full: remove folders of fleets that you do not need", path);
    const struct new_file file = {.temporary = ".new", .bytes = now.bytes, .size = now.size, .mode = 0600};
    return replace_file(folder_fd, path_name(path), &file) < 0 ? err_sys(err, errno, "cannot write %s", path)
                                                               : 0;
}
