/*
 * Covers a tree with an overlay: what is written goes to the session's folder, and the host's files stay as they are.
 * Nothing of the host that could be written is left in the new root.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "kernel/mounts.h"
#include "launch/inside.h"

/* Temporary names in the new root: an overlay finds its layers by path. */
#define LOWER   ".lower"
#define SESSION ".session"

/*
 * Takes both layers out of the new root; after a failure some of them may be missing. They are moved over the host's /dev, which goes
 * with the host's root. For each unmount the kernel waits until every processor was idle or in user mode: once is enough.
 */
static int let_go(const struct root *root, struct err *err)
{
    static const char *const names[] = {LOWER, SESSION};
    for (size_t i = 0; i < array_len(names); i++) {
        if (mount_move_away(root->fd, names[i], root->host_dev) < 0 ||
            (unlinkat(root->fd, names[i], AT_REMOVEDIR) < 0 && errno != ENOENT))
            return err_sys(err, errno, "cannot tidy up after an overlay");
    }
    return 0;
}

int overlay_forget(struct root *root, struct err *err)
{
    return let_go(root, err);
}

int overlay_cover(struct root *root, const struct shown *shown, struct err *err)
{
    /* Nothing waits for the disk when the overlay goes: the files are read a moment later, and what a power cut in that
     * moment takes away was never promised. */
    static const char *const options[] = {"lowerdir=" LOWER,
                                          "upperdir=" SESSION "/upper",
                                          "workdir=" SESSION "/work",
                                          "userxattr",
                                          "volatile",
                                          NULL};
    if (place_attach(root, shown->tree, "/" LOWER, true, err) < 0 ||
        place_attach(root, shown->overlay, "/" SESSION, true, err) < 0)
        return -1;
    if (fchdir(root->fd) < 0)
        return err_sys(err, errno, "cannot enter the new root");
    int overlay = mount_new("overlay", options, false, false, err);
    if (overlay < 0)
        return err_hint(
            err, "`bawn doctor` shows what this machine supports; without --review the workspace is written "
                 "directly, and `bawn undo` takes changes back");
    /* Where it cannot make a folder of its own in `work`, the kernel mounts the overlay read-only and says nothing. */
    struct statfs status;
    if (let_go(root, err) < 0 || fstatfs(overlay, &status) < 0) {
        close(overlay);
        return *err->message ? -1 : err_sys(err, errno, "cannot look at the overlay");
    }
    if (status.f_flags & ST_RDONLY) {
        close(overlay);
        err_set(err,
                "changes cannot be kept apart from the workspace: the kernel made the overlay read-only");
        return err_hint(
            err, "the file system of bawn's state directory may be full, or out of inodes (`df -i`): make "
                 "room, or set XDG_STATE_HOME to another directory");
    }
    return overlay;
}
