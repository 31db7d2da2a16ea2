#include "trust/trust.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/hash.h"
#include "base/path.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"

enum { PIN_LARGEST = 8192 };

static const char *pin_path(struct arena *arena, const char *data_directory, const char *workspace)
{
    char name[SHA256_HEX_SIZE];
    sha256_hex(workspace, strlen(workspace), name);
    return arena_printf(arena, "%s/bawn/trust/%s", data_directory, name);
}

/* The pin names the workspace too, so that a person who looks into the folder sees what it is about. */
static const char *pin_text(struct arena *arena, const char *workspace, const char *text, size_t size)
{
    char hash[SHA256_HEX_SIZE];
    sha256_hex(text, size, hash);
    return arena_printf(arena, "sha256 %s\nworkspace %s\n", hash, workspace);
}

bool trust_holds(struct fsview *fs, const char *data_directory, const char *workspace, const char *text,
                 size_t size)
{
    const struct fs_place *place = NULL;
    struct err ignored;
    char *pinned = NULL;
    size_t pinned_size = 0;
    if (fs_resolve(fs, pin_path(fs->arena, data_directory, workspace), &place, &ignored) < 0 ||
        fs_read(fs, place->real, PIN_LARGEST, &pinned, &pinned_size, &ignored) <= 0)
        return false;
    return strcmp(pinned, pin_text(fs->arena, workspace, text, size)) == 0;
}

int trust_pin(struct fsview *fs, const char *data_directory, const char *workspace, const char *text,
              size_t size, struct err *err)
{
    const struct fs_place *place = NULL;
    if (fs_resolve(fs, pin_path(fs->arena, data_directory, workspace), &place, err) < 0)
        return -1;
    auto_fd int folder_fd = directories_make_beneath(fs->root_fd, path_parent(fs->arena, place->real) + 1);
    if (folder_fd < 0)
        return err_sys(err, errno, "cannot make the folder for %s", place->real);
    const char *path = place->real + 1, *pin = pin_text(fs->arena, workspace, text, size);
    const struct new_file file = {.temporary = arena_printf(fs->arena, "%s.new", path),
                                  .bytes = pin,
                                  .size = strlen(pin),
                                  .mode = 0600,
                                  .waits_for_disk = true};
    return replace_file(fs->root_fd, path, &file) < 0 ? err_sys(err, errno, "cannot write %s", place->real)
                                                      : 0;
}

int trust_revoke(struct fsview *fs, const char *data_directory, const char *workspace, struct err *err)
{
    const struct fs_place *place = NULL;
    if (fs_resolve(fs, pin_path(fs->arena, data_directory, workspace), &place, err) < 0)
        return -1;
    if (unlinkat(fs->root_fd, place->real + 1, 0) == 0)
        return 1;
    return errno == ENOENT || errno == ENOTDIR ? 0 : err_sys(err, errno, "cannot remove %s", place->real);
}
